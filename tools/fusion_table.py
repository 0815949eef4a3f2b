#!/usr/bin/env python3
"""Writes docs/fusion.md: what each fusion pass is worth to a training step of transformer-base.

    tools/fusion_table.py [--bin build/bin] [--tokens 2048] > docs/fusion.md

Everything is counted by the compiler: launches and their memory traffic from the plan that it prints."""

import argparse
import re
import subprocess
import sys

FLAGS = {
    "fuse-projections": "one product for an attention's queries, keys and values, and for their gradients",
    "fuse-cross-entropy": "logits, their loss and the gradients of both a chunk of tokens at a time",
    "fuse-updates": "biases and gains are stored and updated together",
    "fuse-kernels": "prologues, epilogues (bias, ReLU, dropout, residual sum, Adam), bias gradients with their product",
}
SIZES = re.compile(r'heddle.size @(?:"([^"]+)"|([\w.]+)) max (\d+)')
ENTRY = re.compile(r'plan.entry @(\w+) arena (\d+)')
LAUNCH = re.compile(r'plan.launch (barrier )?@(?:"([^"]+)"|([\w.]+)) ')
BYTES = re.compile(r'bytes\[(.*?)\]>\}')
TERM = re.compile(r'<(-?\d+)(?:\[([^\]]*)\])?')


def count(tool, tokens, off):
    """Launches, kernels, barriers, bytes of traffic and of arena of `train_step` with these passes off."""
    command = [f"{tool}/heddle-compile", "models/transformer-base.toml", f"--max-tokens={tokens}", "--compile-to=plan",
               *[f"--{flag}=false" for flag in off]]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    maxima = {quoted or name: int(most) for quoted, name, most in SIZES.findall(text)}
    entry, arena, launches, barriers, traffic, kernels = None, 0, 0, 0, 0, set()
    for line in text.splitlines():
        if match := ENTRY.search(line):
            entry = match[1]
            arena = int(match[2]) if entry == "train_step" else arena
        match = LAUNCH.search(line)
        if entry != "train_step" or not match:
            continue
        launches += 1
        barriers += bool(match[1])
        kernels.add(match[2] or match[3])
        for coefficient, sizes in TERM.findall(BYTES.search(line)[1]):
            product = int(coefficient)
            for size in re.findall(r'"([^"]+)"', sizes):
                product *= maxima[size]
            traffic += product
    return launches, len(kernels), barriers, traffic, arena


def row(name, figures, full):
    launches, kernels, barriers, traffic, arena = figures
    return (f"| {name} | {launches} | {kernels} | {barriers} | {traffic / 1e9:.2f} GB | {traffic / full[3]:.2f} | "
            f"{arena / 2**20:.0f} MiB |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--tokens", type=int, default=2048)
    arguments = parser.parse_args()
    measure = lambda *off: count(arguments.bin, arguments.tokens, off)
    none, full = measure(*FLAGS), measure()
    print(f"""# What fusion is worth

A training step of transformer-base with {arguments.tokens} tokens on each side, as the compiler counts it: launches, how
many kernels they are of, barriers between them, the bytes that kernels read and write (each operand once), and the arena.
Written by `tools/fusion_table.py`; attention is fused in every row, since it compiles in no other way.

| passes | launches | kernels | barriers | memory traffic | of all off | arena |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |""")
    print(row("all off", none, none))
    for flag in FLAGS:
        print(row(f"only `--{flag}`", measure(*[other for other in FLAGS if other != flag]), none))
    for flag in FLAGS:
        print(row(f"all but `--{flag}`", measure(flag), none))
    print(row("all on", full, none))
    print("\nEach is a flag of `heddle-compile` (`--fuse-kernels=false`):\n")
    for flag, text in FLAGS.items():
        print(f"* `{flag}`: {text}.")


if __name__ == "__main__":
    sys.exit(main())
