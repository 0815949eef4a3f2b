#!/usr/bin/python3
"""Times a training step in Heddle and the same model's step in PyTorch, in turns on the same processors. Prints rates
and their ratio.

  bench/beside_torch.py MODEL.toml [--rounds N] [--repeat N] [--sequences N] [--threads N] [--target NAME] [--precision bf16] [--compile]

Every round times Heddle's step on the processor or on software Vulkan (heddle-run bench, random lengths that fill
max_tokens), then PyTorch's (bench/torch_cpu.py, equal lengths, so that there is no padding), eager and with --compile
also by torch.compile. The machine's speed varies from minute to minute: so only rates of the same round are compared, and
the result is the median of the rounds' ratios.
Prints a line per round, then a JSON object.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch_cpu

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command):
    return json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=7, help="timed steps of each side a round, of which the median counts")
    parser.add_argument("--sequences", type=int, help="of a batch (default: as many as make them 25 tokens long)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of PyTorch, and of Heddle on the processor")
    parser.add_argument("--target", default="native", help="native (default), vulkan:software, or a processor's")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32", help="of the operands of matmuls on both sides (PyTorch: autocast)")
    parser.add_argument("--compile", action="store_true", help="time torch.compile as well; the first round takes it a minute or more")
    arguments = parser.parse_args()
    description = torch_cpu.read_toml(arguments.model)
    sequences = ["--sequences", arguments.sequences] if arguments.sequences else []
    bf16 = ["--bf16"] if arguments.precision == "bf16" else []
    with tempfile.TemporaryDirectory() as folder:
        artifact = Path(folder) / "model.heddle"
        subprocess.run([arguments.bin / "heddle-compile", arguments.model, f"--target={arguments.target}", f"--precision={arguments.precision}",
                        "-o", artifact],
                       check=True, stdout=subprocess.DEVNULL)
        os.environ["HEDDLE_THREADS"] = str(arguments.threads)
        rounds = []
        for number in range(1, arguments.rounds + 1):
            entry = output_of(arguments.bin / "heddle-run", "bench", artifact, "--entry", "train_step", "--repeat",
                              arguments.repeat, "--ceilings", "none", "--json", *sequences)["entries"][0]
            heddle = 2 * description["max_tokens"] / entry["median_seconds"]
            rounds.append({"heddle": heddle})
            said = f"round {number}: Heddle {heddle:.0f} tokens/s"
            for suffix, flags in [("", []), ("_compiled", ["--compile"])][:2 if arguments.compile else 1]:
                torch = output_of(sys.executable, ROOT / "bench/torch_cpu.py", arguments.model, "--threads", arguments.threads,
                                  "--steps", arguments.repeat, *sequences, *bf16, *flags)
                rate = torch["tokens_per_second"]
                rounds[-1].update({f"torch{suffix}": rate, f"ratio{suffix}": heddle / rate, f"matmul_gflops{suffix}": torch["matmul_gflops"]})
                said += f", {'torch.compile' if suffix else 'PyTorch'} {rate:.0f} tokens/s, ratio {heddle / rate:.2f}"
            print(said, file=sys.stderr, flush=True)
    median = {key: statistics.median(item[key] for item in rounds) for key in rounds[0]}
    print(json.dumps({"model": str(arguments.model), "target": arguments.target, "torch": torch["torch"], "blas": torch["blas"],
                      "threads": arguments.threads, "median": median, "rounds": rounds}))


if __name__ == "__main__":
    main()
