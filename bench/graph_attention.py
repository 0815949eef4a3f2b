#!/usr/bin/python3
"""Times attention of a graph's nodes to their neighbours (Velickovic et al. 2018): Heddle on software Vulkan, and
PyTorch with a message per edge, in turns on the same processors.

  bench/graph_attention.py --bin build/bin [--rounds N] [--kind additive|dynamic|dot]

10,000 nodes of 64 numbers with 0 to 40 neighbours each, 200,000 edges, 8 heads of 8 columns. Times the projections and
the attention, and both with the gradients of the projections. Prints a line per round, and the medians. PyTorch's
figure is that of its third call.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parent.parent / "test" / "conformance"))
import graphs

NODES, NEIGHBOURS, INPUTS, HEADS, WIDTH = 10_000, 40, 64, 8, 8


def time_heddle(tools, artifact):
    answer = subprocess.run([f"{tools}/heddle-run", "bench", artifact, "--repeat", "3", "--ceilings", "none", "--json"], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return 1000 * json.loads(answer)["entries"][0]["median_seconds"]


def time_torch(kind, columns, gradients):
    random = np.random.default_rng(1)
    degrees = random.integers(0, NEIGHBOURS + 1, NODES)
    to = torch.tensor(np.repeat(np.arange(NODES), degrees))
    source = torch.tensor(random.integers(0, NODES, degrees.sum()))
    x, slope = torch.randn(NODES, INPUTS), torch.randn(NODES, HEADS * WIDTH)
    weights = {w: torch.randn(INPUTS, HEADS * width).requires_grad_(gradients) for w, width in columns.items()}
    weights["p"] = torch.randn(HEADS * columns["q"]).requires_grad_(gradients)
    for _ in range(3):
        begin = time.perf_counter()
        result = graphs.attend(kind, HEADS, *(x @ weights[w] for w in "qkv"), weights["p"], (to, source))
        if gradients:
            (result * slope).sum().backward()
        took = time.perf_counter() - begin
    return 1000 * took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=sorted(graphs.COMBINE), default="additive")
    arguments = parser.parse_args()
    kind = arguments.kind
    columns = {"q": 1 if kind == "additive" else WIDTH, "k": 1 if kind == "additive" else WIDTH, "v": WIDTH}
    with tempfile.TemporaryDirectory() as folder:
        for gradients in (False, True):
            with open(f"{folder}/graph.mlir", "w") as file:
                file.write(graphs.write_module([(kind, columns["q"], WIDTH, HEADS)], NODES, NEIGHBOURS, INPUTS, gradients))
            subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/graph.mlir", "-o", f"{folder}/graph.heddle"], check=True,
                           stdout=subprocess.DEVNULL)
            rounds = []
            for _ in range(arguments.rounds):
                rounds.append((time_heddle(arguments.bin, f"{folder}/graph.heddle"), time_torch(kind, columns, gradients)))
                print(f"  {rounds[-1][0]:8.1f} ms of Heddle beside {rounds[-1][1]:8.1f} ms of PyTorch", flush=True)
            ours, theirs = (statistics.median(column) for column in zip(*rounds))
            print(f"{kind}, {'forward and backward' if gradients else 'forward'}: {ours:.1f} ms beside {theirs:.1f} ms, "
                  f"{ours / theirs:.2f} of PyTorch's time", flush=True)


if __name__ == "__main__":
    main()
