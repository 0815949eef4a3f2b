"""Compares the number of weights in an artifact (heddle-inspect --json) with bench/torch_cpu.py's model, and checks the
script's reports: same_weights.py INSPECTED TIME MEMORY"""

import json
import math
import sys

inspected, time, memory = (json.load(open(path)) for path in sys.argv[1:])
weights = sum(math.prod(v["shape"]) for v in inspected["variables"] if v["kind"] == "weight")
assert time["parameters"] == weights, (time["parameters"], weights)
assert time["tokens_per_second"] > 0
assert time["blas"] and time["matmul_gflops"] > 0, time
# Weights and both moments persist between steps; during a step there are also the gradients.
assert memory["state_bytes"] >= 3 * 4 * weights, memory
assert memory["peak_bytes"] >= memory["state_bytes"] + 4 * weights, memory
