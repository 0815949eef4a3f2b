"""Compares experts whose weights are packed as int8 and int4 with the same text in f32, whose weights are the unpacked
numbers: logits of texts, and of tokens that are decoded one by one.

    packed_experts.py --bin build/bin [--target=NAME] [--formats int8 int4 ...]"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import calls
from compiled import Report, default_target, relative, rounds_rows
from tensor_files import pack_targets, save_safetensors, without_labels

BOUND, BOUND_OF_ROUNDED = 1e-5, 5e-5
EXPERTS, VOCABULARY = 6, 50
WIDTHS = [(64, 128), (48, 80), (32, 192), (96, 256)]  # of a row, and within an expert: with panels of columns, wide panels, and without
GROUPS = {"int8": None, "int4": 32, "int4:16": 16}
TEXT = """task language
param vocab_size = 50, k = 2
weight table[vocab_size, %(width)d] ~ normal(1)
weight router[%(width)d, %(experts)d] ~ normal(1)
logits(target) {
  x = table[target]
  scores = x @ router
  chosen = top_k(scores, k)
  mixed = experts(x, chosen, softmax(select(scores, chosen)), %(experts)d) { |rows|
    weight gate[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight inner[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight outer[%(experts)d, %(inner)d, %(width)d] ~ normal(0.3)
    (swish(rows @ gate) * (rows @ inner)) @ outer
  }
  past = softmax(causal(pairs(mixed, mixed))) @ mixed      # decoding keeps caches
  (x + past) @ transpose(table)
}
loss(target) { cross_entropy(logits, target.next) }
"""


def quantised(matrix, inputs, form):
    """Returns what a matrix of `inputs` rows for each expert becomes: integers times a scale for each group of inputs of
    an output."""
    bits, group = int(form[3]), np.gcd(GROUPS[form] or inputs, inputs)
    groups = matrix.reshape(-1, group, matrix.shape[1])
    largest = np.take_along_axis(groups, np.abs(groups).argmax(1)[:, None], 1)
    scale = np.abs(largest) / np.float32(127) if bits == 8 else largest / np.float32(-8)
    numbers = np.rint(groups / scale).clip(-127 if bits == 8 else -8, 127 if bits == 8 else 7)
    return (numbers * scale).reshape(matrix.shape).astype(np.float32)


def logits_of(arguments, artifact, folder, weights, texts, ids):
    """Returns the logits of all texts, those of one that is decoded, and those of the first tokens of four."""
    save_safetensors(f"{folder}/weights.safetensors", weights)
    load = ["--variables", f"{folder}/weights.safetensors"]
    i32, decoded = lambda *values: np.asarray(values, np.int32), []
    with calls.Session(arguments.bin, artifact, folder) as session:
        (whole,) = session.call("logits", texts, ["logits"], load)
        for step, token in enumerate(ids):
            (row,) = session.call("decode_step", {
                "token": i32(token), "position": i32(step), "query_starts": i32(0), "query_lengths": i32(1), "cache_rows": i32(step),
                "cache_starts": i32(0), "cache_lengths": i32(step + 1)}, ["logits"])
            decoded.append(row.reshape(-1))
        rows = np.arange(4, dtype=np.int32)
        (several,) = session.call("decode_step", {
            "token": i32(*ids[:4]), "position": 0 * rows, "query_starts": rows, "query_lengths": 0 * rows + 1, "cache_rows": rows,
            "cache_starts": rows, "cache_lengths": 0 * rows + 1}, ["logits"])
    return whole, np.stack(decoded), several


def check(arguments, report, form, width, inner):
    random = np.random.default_rng(width)
    shapes = {"table": (VOCABULARY, width), "router": (width, EXPERTS), "mixed.gate": (EXPERTS * width, inner),
              "mixed.inner": (EXPERTS * width, inner), "mixed.outer": (EXPERTS * inner, width)}
    weights = {name: (0.3 * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    unpacked = {name: quantised(value, len(value) // EXPERTS, form) if name.startswith("mixed") else
                quantised(value.T, width, form).T if name == "table" else quantised(value, width, form) for name, value in weights.items()}
    sequences = [random.integers(0, VOCABULARY, length).tolist() for length in (1, 41, 7)]
    texts = without_labels(pack_targets([([], ids, ids) for ids in sequences], token_scale=False))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.weft").write_text(TEXT % {"experts": EXPERTS, "width": width, "inner": inner})
        made = []
        for name, values in ((form, weights), ("f32", unpacked)):
            artifact = f"{folder}/{name}.heddle"
            subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/model.weft", "-o", artifact, f"--target={arguments.target}",
                            f"--weights={name}", "--entries=inference", "--set", "max_tokens=64", "--set", "max_length=48", "--set", "max_sequences=8",
                            "--set", "logits_entry=true"], check=True, capture_output=True)
            made.append(logits_of(arguments, artifact, folder, values, texts, sequences[1][:12]))
        bound = BOUND_OF_ROUNDED if rounds_rows(arguments.bin, artifact) else BOUND
    for what, found, expected in zip(("texts", "tokens decoded", "tokens of several texts"), *made):
        report.check(f"{form}, {width} x {inner}: {what}", relative(found, expected), bound)
    report.check(f"{form}, {width} x {inner}: tokens decoded and texts", relative(made[0][1], made[0][0][1:13]), bound)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--formats", nargs="*", default=list(GROUPS))
    arguments = parser.parse_args()
    report = Report()
    for form in arguments.formats:
        for width, inner in WIDTHS:
            check(arguments, report, form, width, inner)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
