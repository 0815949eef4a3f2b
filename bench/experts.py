#!/usr/bin/env python3
"""Times a layer of experts on a processor, f32, in turns with dense matmuls of the same FLOPs.

  bench/experts.py [--bin DIR] [--target NAME] [--threads N] [--rounds N]

Each of `--tokens` rows goes to `--top` of `--experts` gated feed-forward networks. The choices are random: spread over
all experts (even), or all rows to as many experts as each chooses (skewed). The dense layer is one such network, with a
row for each choice. Prints medians of all rounds, and the ratios to the dense layer.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SWISH = """%half = heddle.fill 0.5 : f32 : !inner
  %one = heddle.fill 1.0 : f32 : !inner
  %h = arith.mulf %g, %half : !inner
  %t = math.tanh %h : !inner
  %s = arith.addf %t, %one : !inner
  %a = arith.mulf %h, %s : !inner
  %m = arith.mulf %a, %u : !inner"""


def variables(experts, width, inner):
    return f"""!up = tensor<{experts * width}x{inner}xf32>
!down = tensor<{experts * inner}x{width}xf32>
heddle.variable @gate weight : !up {{start = #heddle.start<normal 0.05>}}
heddle.variable @inner weight : !up {{start = #heddle.start<normal 0.05>}}
heddle.variable @outer weight : !down {{start = #heddle.start<normal 0.05>}}
"""


def mixture(a, limit):
    return f"""heddle.size @tokens max {a.tokens}
heddle.size @"tokens*{a.top}" max {a.tokens * a.top} of @tokens times {a.top}
!x = tensor<?x{a.width}xf32, #heddle.dims<"tokens">>
!rows = tensor<?x{a.width}xf32, #heddle.dims<"tokens*{a.top}">>
!inner = tensor<?x{a.inner}xf32, #heddle.dims<"tokens*{a.top}">>
!chosen = tensor<?x{a.top}xi32, #heddle.dims<"tokens">>
!places = tensor<?x1xi32, #heddle.dims<"tokens*{a.top}">>
!starts = tensor<{a.experts + 1}xi32>
{variables(a.experts, a.width, a.inner)}
func.func @layer(%x: !x {{heddle.name = "x"}}, %chosen: !chosen {{heddle.name = "chosen", heddle.limit = {limit} : i64}})
    -> (!x {{heddle.name = "y"}}) {{
  %counts = heddle.count_choices %chosen : !chosen -> tensor<16x{a.experts}xi32>
  %places, %order, %of, %starts = heddle.dispatch %chosen, %counts
    : !chosen, tensor<16x{a.experts}xi32> -> !places, tensor<?xi32, #heddle.dims<"tokens*{a.top}">>, !starts
  %number = heddle.fill {a.top} : i32 : !places
  %token = arith.divui %order, %number : !places
  %rows = heddle.gather %x at %token inverse %places : !x, !places, !chosen -> !rows
  %gate = heddle.read @gate : !up
  %in = heddle.read @inner : !up
  %out = heddle.read @outer : !down
  %g = heddle.grouped_matmul %rows, %gate groups(%starts) : !rows, !up, !starts -> !inner
  %u = heddle.grouped_matmul %rows, %in groups(%starts) : !rows, !up, !starts -> !inner
  {SWISH}
  %o = heddle.grouped_matmul %m, %out groups(%starts) : !inner, !down, !starts -> !rows
  %y = heddle.gather %o at %places inverse %token : !rows, !chosen, !places -> !x
  return %y : !x
}}
"""


def dense(a):
    return f"""heddle.size @tokens max {a.tokens * a.top}
!rows = tensor<?x{a.width}xf32, #heddle.dims<"tokens">>
!inner = tensor<?x{a.inner}xf32, #heddle.dims<"tokens">>
{variables(1, a.width, a.inner)}
func.func @layer(%x: !rows {{heddle.name = "x"}}) -> (!rows {{heddle.name = "y"}}) {{
  %gate = heddle.read @gate : !up
  %in = heddle.read @inner : !up
  %out = heddle.read @outer : !down
  %g = heddle.matmul %x, %gate : !rows, !up -> !inner
  %u = heddle.matmul %x, %in : !rows, !up -> !inner
  {SWISH}
  %o = heddle.matmul %m, %out : !inner, !down -> !rows
  return %o : !rows
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=7, help="timed calls of each layer a round, of which the median counts")
    for name, number in (("tokens", 2048), ("width", 512), ("inner", 1024), ("experts", 8), ("top", 2)):
        parser.add_argument(f"--{name}", type=int, default=number)
    arguments = parser.parse_args()
    texts = {"dense": dense(arguments), "even": mixture(arguments, arguments.experts), "skewed": mixture(arguments, arguments.top)}
    times = {name: [] for name in texts}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            module = Path(folder) / f"{name}.mlir"
            module.write_text(text)
            subprocess.run([arguments.bin / "heddle-compile", module, f"--target={arguments.target}", "-o", f"{folder}/{name}.heddle"],
                           check=True, stdout=subprocess.DEVNULL)
        for _ in range(arguments.rounds):
            for name in texts:
                done = subprocess.run([arguments.bin / "heddle-run", "bench", f"{folder}/{name}.heddle", "--entry", "layer", "--ceilings", "none",
                                       "--repeat", str(arguments.repeat), "--threads", str(arguments.threads), "--json"],
                                      check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                times[name].append(json.loads(done.stdout)["entries"][0]["median_seconds"])
    medians = {name: statistics.median(each) for name, each in times.items()}
    print(f"{arguments.tokens} tokens, {arguments.top} of {arguments.experts} experts, {arguments.threads} threads, {arguments.target}: "
          + ", ".join(f"{name} {1e3 * seconds:.1f} ms ({seconds / medians['dense']:.2f})" for name, seconds in medians.items()))


if __name__ == "__main__":
    main()
