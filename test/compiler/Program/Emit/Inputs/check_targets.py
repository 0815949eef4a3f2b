"""Checks the output of heddle-inspect --json for an artifact with several targets: check_targets.py TARGET..."""

import json
import sys

artifact = json.load(sys.stdin)
targets = {target["name"]: target for target in artifact["targets"]}
assert list(targets) == sys.argv[1:], list(targets)
for name, target in targets.items():
    kernels = target["kernels"]
    assert kernels and target["arena_bytes"] > 0, name
    idle = [kernel["name"] for kernel in kernels if kernel["launches"] == 0]
    assert not idle, f"{name} holds kernels that none of its entries launches: {idle}"
lanes = {name: {kernel["lanes"] for kernel in target["kernels"]} for name, target in targets.items()}
assert lanes["vulkan:software"] == {8} and lanes["vulkan:nvidia"] == {32, 128}, lanes
