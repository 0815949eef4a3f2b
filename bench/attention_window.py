"""Times attention over the whole sequence, and attention within a window of fixed width: the first time grows with the
square of the length, the second with the length. One sequence, 8 heads of width 64.

    bench/attention_window.py --bin build/bin"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent / "test" / "conformance"))
import attention_text

WIDTH, HEADS, RADIUS = 64, 8, 64
WINDOW = f"""%radius = arith.constant {RADIUS} : i32
    %before = arith.subi %i, %j : i32
    %after = arith.subi %j, %i : i32
    %a = arith.cmpi sle, %before, %radius : i32
    %b = arith.cmpi sle, %after, %radius : i32
    %near = arith.andi %a, %b : i1
    heddle.yield %near : i1"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    print(f"window of {2 * RADIUS}: median of {arguments.repeat} calls, ms\n{'length':>6} {'mask':<8} forward backward")
    with tempfile.TemporaryDirectory() as folder:
        for length in (512, 1024, 2048):
            inputs = {name: random.standard_normal((length, WIDTH * HEADS)).astype(np.float32)
                      for name in ("query", "key", "value", "gradient")}
            for side in ("query", "key"):
                inputs |= {f"{side}_starts": np.array([0], np.int32), f"{side}_lengths": np.array([length], np.int32)}
            for name, value in inputs.items():
                np.save(f"{folder}/{name}.npy", value)
            with open(f"{folder}/attention.mlir", "w") as file:
                file.write(attention_text.write_sizes(length, 1, length))
                for name, mask in (("full", None), ("window", WINDOW)):
                    file.write(attention_text.write_entry(name, mask, WIDTH, HEADS, HEADS, length, length))
            subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/attention.mlir", "-o", f"{folder}/a.heddle"],
                           check=True, stdout=subprocess.DEVNULL)
            for entry in ("full", "window"):
                times = []
                for _ in range(arguments.repeat):
                    subprocess.run([f"{arguments.bin}/heddle-run", "call", f"{folder}/a.heddle", "--entry", entry,
                                    "--repeat", "2", "--profile", f"{folder}/trace.json",
                                    *(f"--input={name}=@{folder}/{name}.npy" for name in inputs)],
                                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    with open(f"{folder}/trace.json") as file:
                        events = [event for event in json.load(file)["traceEvents"] if "dur" in event]
                    took = lambda name: sum(event["dur"] for event in events if event["name"].startswith(name)) / 1000
                    times.append((took("attention_T"), took("attention_grad")))
                forward, backward = (statistics.median(column) for column in zip(*times))
                print(f"{length:>6} {entry:<8} {forward:7.1f} {backward:8.1f}", flush=True)


if __name__ == "__main__":
    main()
