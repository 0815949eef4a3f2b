#!/usr/bin/env python3
"""Writes docs/fusion.md: what each fusion pass is worth to a model's training step.

    tools/fusion_table.py [--compiler build/bin/heddle-compile] [--model models/transformer-base.toml] [--tokens 2048]

The compiler counts everything; the numbers come from its report."""

import argparse
import json
import pathlib
import subprocess
import tempfile

FLAGS = {
    "fuse-attention": "scores, mask, softmax and dropout in a single kernel with both products, without any of them in memory",
    "fuse-projections": "sibling fusion: a single product for an attention's queries, keys and values, and for their gradients",
    "fuse-cross-entropy": "computes logits, their loss and both gradients a chunk of tokens at a time",
    "fuse-updates": "biases and gains are stored and updated together",
    "fuse-kernels": "prologues, epilogues (bias, ReLU, dropout, residual sum, Adam), bias gradients with their product",
}


def compile_report(arguments, off):
    """Returns the report's record of `train_step` with these passes off."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([arguments.compiler, arguments.model, f"--max-tokens={arguments.tokens}", f"--report={report}", "-o",
                        f"{folder}/model.heddle", *[f"--{flag}=false" for flag in off]],
                       check=True, stdout=subprocess.DEVNULL)
        return next(entry for entry in json.loads(report.read_text()) if entry["entry"] == "train_step")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="build/bin/heddle-compile")
    parser.add_argument("--model", default="models/transformer-base.toml")
    parser.add_argument("--tokens", type=int, default=2048)
    arguments = parser.parse_args()
    rows = [("all off", list(FLAGS))]
    rows += [(f"only `--{flag}`", [other for other in FLAGS if other != flag]) for flag in FLAGS]
    rows += [(f"all but `--{flag}`", [flag]) for flag in FLAGS]
    rows += [("all on", [])]
    print(f"""# What fusion is worth

A training step of {pathlib.Path(arguments.model).stem} with {arguments.tokens} tokens on each side, as the compiler counts it: launches, the
different kernels among them, barriers between launches, the bytes that kernels read and write (each operand once), and the arena.
Written by `tools/fusion_table.py`.

| passes | launches | kernels | barriers | memory traffic | traffic relative to "all off" | arena |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |""")
    unfused = None
    for name, off in rows:
        step = compile_report(arguments, off)
        unfused = unfused or step
        print(f"| {name} | {step['launches']} | {step['kernels']} | {step['barriers']} | {step['bytes'] / 1e9:.2f} GB | "
              f"{step['bytes'] / unfused['bytes']:.2f} | {step['arena_bytes'] / 2**20:.0f} MiB |")
    print("\nEach pass is a flag of `heddle-compile` (`--fuse-kernels=false`):\n")
    for flag, text in FLAGS.items():
        print(f"* `{flag}`: {text}.")
    print("""
Of each compilation, `heddle-compile --report=page.html` shows what was fused into which kernel and, of candidates that were not, which
condition failed. `--remarks-filter=fuse` prints the same, as `heddle-opt` does for one pass:

```sh
build/bin/heddle-compile models/numbers.toml -o out/numbers.heddle --report=out/numbers.html
build/bin/heddle-compile models/numbers.toml -o out/numbers.heddle --remarks-filter-missed=fuse-projections
build/bin/heddle-compile models/numbers.toml --compile-to=derive -o out/numbers.mlir
build/bin/heddle-opt out/numbers.mlir --heddle-fuse-attention --remarks-filter=fuse-attention -o out/fused.mlir
```""")


if __name__ == "__main__":
    main()
