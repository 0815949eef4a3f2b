#!/usr/bin/python3
"""Times a training step of a translator of two LSTMs (models/seq2seq.weft), in Heddle and in PyTorch, in turns.

  bench/recurrence.py [--width N] [--pairs N] [--length N] [--rounds N] [--repeat N] [--threads N]

All sentences have the same length, so that PyTorch needs no padding. PyTorch uses torch.nn.LSTM and Adam. The machine's
speed varies from minute to minute: so only times of the same round are compared, and the result is the median of the
rounds' ratios. --lengths also times Heddle's step for several lengths; the cost per token should be equal. Prints a
line per round, then a JSON object.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

import torch_cpu

ROOT = Path(__file__).resolve().parent.parent
VOCABULARY = 1000


class Seq2seq(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.source = torch.nn.Embedding(VOCABULARY, width)
        self.target = torch.nn.Embedding(VOCABULARY, width)
        self.encoder = torch.nn.LSTM(width, width, batch_first=True)
        self.decoder = torch.nn.LSTM(width, width, batch_first=True)
        self.output = torch.nn.Linear(width, VOCABULARY)

    def forward(self, source, target):
        _, state = self.encoder(self.source(source).flip(1))
        return self.output(self.decoder(self.target(target), state)[0])


def torch_seconds(width, pairs, length, repeat):
    model = Seq2seq(width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    source, target, label = torch.randint(3, VOCABULARY, (3, pairs, length)).unbind()
    times = []
    for step in range(repeat + 2):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(source, target).flatten(0, 1), label.flatten()).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[2:])


def compile_model(arguments, folder, length):
    artifact = f"{folder}/{length}.heddle"
    sizes = {"width": arguments.width, "vocab_size": VOCABULARY, "max_tokens": arguments.pairs * length,
             "max_sequences": arguments.pairs, "max_length": length}
    subprocess.run([arguments.bin / "heddle-compile", ROOT / "models/seq2seq.weft", "-o", artifact,
                    *(word for key, value in sizes.items() for word in ("--set", f"{key}={value}"))],
                   check=True, stdout=subprocess.DEVNULL)
    return artifact


def heddle_seconds(arguments, artifact):
    done = subprocess.run([arguments.bin / "heddle-run", "bench", artifact, "--entry", "train_step",
                           "--repeat", str(arguments.repeat), "--sequences", str(arguments.pairs), "--ceilings", "none",
                           "--json"],
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["entries"][0]["median_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--length", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="*", default=[], help="time Heddle's step for these, too")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=7, help="timed steps of each side a round, of which the median counts")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of PyTorch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    blas = torch_cpu.matmul_record()
    with tempfile.TemporaryDirectory() as folder:
        artifact = compile_model(arguments, folder, arguments.length)
        rounds = []
        for number in range(1, arguments.rounds + 1):
            heddle = heddle_seconds(arguments, artifact)
            other = torch_seconds(arguments.width, arguments.pairs, arguments.length, arguments.repeat)
            rounds.append({"heddle_seconds": heddle, "torch_seconds": other, "ratio": other / heddle})
            print(f"round {number}: Heddle {heddle:.3f} s, PyTorch {other:.3f} s, speed {other / heddle:.2f} of PyTorch's",
                  file=sys.stderr, flush=True)
        by_length = {length: heddle_seconds(arguments, compile_model(arguments, folder, length)) for length in arguments.lengths}
    median = {key: statistics.median(item[key] for item in rounds) for key in rounds[0]}
    print(json.dumps({"width": arguments.width, "pairs": arguments.pairs, "length": arguments.length,
                      "torch": torch.__version__, **blas, "threads": arguments.threads, "median": median,
                      "rounds": rounds, "seconds_by_length": by_length}))


if __name__ == "__main__":
    main()
