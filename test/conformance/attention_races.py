"""Runs attention by wgmma and its gradients under the emulated driver's check for races, on sequences long enough that the ring
buffers of shared memory are filled several times, and compares the results with the reference interpreter: heads of 64 and of
128, grouped queries, every kind of mask, and dropout.

    attention_races.py --bin build/bin [--heads WIDTHxQUERIESxKEYS] [--short]"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

import attention_text
import calls

QUERIES, KEYS = 450, 420
WIDTHS = [(64, 2, 2), (64, 4, 2), (128, 1, 1), (128, 2, 1)]  # width of a head, heads of queries, heads of keys
DROPOUT = 0.25  # all of its numbers are exact in bf16
BOUND = 1.6e-2  # bf16 keeps 8 bits of the probabilities
OUTPUTS = ["result", "grad_query", "grad_key", "grad_value"]


SHORT = {1: 3, 2: 0}  # of two widths, the number of the case in the short run


def cases_of(heads, short):
    """Yields width, heads, heads of keys, mask and dropout."""
    cases = [(mask, dropout) for mask in attention_text.MASKS for dropout in ((0.0,) if mask == "sinks" else (0.0, DROPOUT))]
    for place, shape in enumerate(WIDTHS):
        for number, (mask, dropout) in enumerate(cases):
            if number == SHORT.get(place) if short else heads in ("x".join(map(str, shape)), None):
                yield *shape, mask, dropout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--heads", help="the width of a head, heads of queries, and heads of keys: 128x2x1")
    parser.add_argument("--short", action="store_true", help="some of the cases")
    arguments = parser.parse_args()
    os.environ["HEDDLE_EMULATOR_RACECHECK"] = "1"
    random = np.random.default_rng(3)
    draw = lambda rows, columns: (random.integers(-16, 17, (rows, columns)) / 16).astype(np.float32)  # exact in bf16
    cases = [(f"{mask}_{width}x{heads}x{key_heads}_{int(dropout > 0)}", width, heads, key_heads, mask, dropout)
             for width, heads, key_heads, mask, dropout in cases_of(arguments.heads, arguments.short)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/attention.mlir"
        with open(path, "w") as file:
            file.write(attention_text.write_sizes(QUERIES, 1, QUERIES))
            file.writelines(attention_text.write_entry(name, attention_text.MASKS[mask], width, heads, key_heads, QUERIES, QUERIES, dropout)
                            for name, width, heads, key_heads, mask, dropout in cases)
        subprocess.run([f"{arguments.bin}/heddle-compile", path, "-o", f"{folder}/attention.heddle", "--target=cuda:sm_90a",
                        "--precision=bf16", "--ptxas=none"], check=True, stdout=subprocess.DEVNULL)
        with calls.Session(arguments.bin, f"{folder}/attention.heddle", folder) as session:
            for name, width, heads, key_heads, mask, dropout in cases:
                inputs = {f"{side}_{what}": np.array([number], np.int32)
                          for side, length in (("query", QUERIES), ("key", KEYS)) for what, number in (("starts", 0), ("lengths", length))}
                inputs |= {"query": 4 * draw(QUERIES, width * heads), "gradient": draw(QUERIES, width * heads),
                           "key": draw(KEYS, width * key_heads), "value": draw(KEYS, width * key_heads)}
                if mask == "sinks":
                    inputs["sinks"] = draw(1, heads)[0]
                if dropout:
                    inputs |= {"seed": np.array([5, 7], np.int32), "step": np.array([11], np.int32)}
                found = session.call(name, inputs, OUTPUTS)
                subprocess.run([f"{arguments.bin}/heddle-reference", path, f"--entry={name}",
                                *(f"--input={each}=@{folder}/{each}.npy" for each in inputs),
                                *(f"--output={each}=@{folder}/expected.{each}.npy" for each in OUTPUTS)], check=True, stdout=subprocess.DEVNULL)
                errors = []
                for each, actual in zip(OUTPUTS, found):
                    expected = np.load(f"{folder}/expected.{each}.npy").astype(np.float64)
                    errors.append(np.abs(actual - expected).max() / np.abs(expected).max())
                bad = not max(errors) <= BOUND  # NaN is bad, too
                failed += bad
                print(f"{'FAIL' if bad else 'ok  '} {name:<28}", "  ".join(f"{each} {error:.1e}" for each, error in zip(OUTPUTS, errors)), flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
