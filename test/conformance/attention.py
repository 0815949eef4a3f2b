"""Compares `heddle.attention` and its gradients with PyTorch in float64, for head widths from 8 to 256, one or several
heads, and every kind of mask. The sequences of the batch have different lengths, some without a key that counts.

    attention.py --bin build/bin [--target=NAME] [--precision=NAME] [--longest=N] [--processors=N] [--in-turn]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import torch

import calls
from attention_text import RADIUS, masks_of, write_model

# Width of a head, number of query heads, number of key heads.
WIDTHS = [(8, 3, 3), (24, 1, 1), (16, 6, 2), (16, 10, 2), (8, 4, 2), (64, 2, 2), (64, 3, 1), (128, 1, 1), (256, 2, 1)]
MATRIX_WIDTHS = [(16, 3, 3), (16, 5, 1), (64, 2, 2), (64, 4, 2), (64, 6, 2), (128, 1, 1)]  # for tensor cores of Vulkan
# Number of queries and of keys of each sequence.
LENGTHS = [(1, 1), (7, 7), (33, 33), (70, 70), (1, 70), (33, 7), (5, 0), (70, 1)]
BOUND = 1e-5
BOUNDS = {"f32": BOUND, "f16": 2e-3, "tf32": 2e-3, "bf16": 1.6e-2}  # f16 and tf32 keep 11 bits of an operand, bf16 8
# Each mask of attention_text.py, as a function of a column of queries and a row of keys.
MASKS = {
    "full": lambda i, j: torch.ones(len(i), j.shape[1], dtype=torch.bool),
    "causal": lambda i, j: j <= i,
    "window": lambda i, j: abs(i - j) <= RADIUS,
    "causal_window": lambda i, j: (j <= i) & (abs(i - j) <= RADIUS),
    "sinks": lambda i, j: j <= i,
}


def attend(query, key, value, counts, heads, sinks=None):
    """Computes one sequence in PyTorch. A query without a key that counts gets zeros. A key head may serve several
    query heads. With `sinks` each head has one more score, whose value is zero."""
    width = query.shape[1] // heads

    def split(x):
        parts = x.reshape(len(x), x.shape[1] // width, width).transpose(0, 1)
        return parts.repeat_interleave(heads // len(parts), 0)

    scores = split(query) @ split(key).transpose(1, 2) / (query.shape[1] // heads) ** 0.5
    some = counts.any(1)
    scores = scores[:, some].masked_fill(~counts[some], float("-inf"))
    if sinks is not None:
        scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:2], 1)], -1)
    weights = torch.softmax(scores, -1)[..., :len(key)]
    result = torch.zeros_like(split(query))
    result[:, some] = weights @ split(value)
    return result.transpose(0, 1).reshape(query.shape)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", choices=BOUNDS, default="f32")
    parser.add_argument("--longest", type=int, help="compile for sequences of up to so many rows; tiles depend on it")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    parser.add_argument("--processors", type=int, help="compile for a GPU of so many: of few, a group's heads share larger tiles")
    parser.add_argument("--in-turn", action="store_true", help="each width with one mask, the masks in turn, instead of with all of them")
    arguments = parser.parse_args()
    tools, bound = arguments.bin, BOUNDS[arguments.precision]
    widths = WIDTHS
    if arguments.target == "vulkan:software":  # Mesa takes minutes for the widest heads if its cache is empty
        widths = WIDTHS[:8] if arguments.precision == "f32" else WIDTHS[:7]
    if arguments.target == "vulkan:software-matrices":  # its other heads run as on vulkan:software
        widths = MATRIX_WIDTHS
    random = np.random.default_rng(5)
    longest = arguments.longest or np.max(LENGTHS)
    more = [(150, 140)] if longest >= 150 else [(longest, longest)] if longest < np.max(LENGTHS) else []
    if longest >= 450 and arguments.target == "cuda:sm_90a":
        more.append((450, 420))  # more tiles than the warpgroups' ring buffers hold
    lengths = np.array([pair for pair in LENGTHS if max(pair) <= longest] + more, np.int32)
    starts = (np.cumsum(lengths, 0) - lengths).astype(np.int32)
    inputs = {f"{side}_{what}": array[:, column].copy() for column, side in enumerate(("query", "key"))
              for what, array in (("starts", starts), ("lengths", lengths))}
    # In these widths, matmul operands are f16, and a query with a single key gets that key's value.
    rounded = [width for width, _, _ in widths if arguments.precision == "f16" and width % 16 == 0 and width <= 128]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/attention.mlir", "w") as file:
            limits = (int(lengths.sum(0).max()), longest)
            file.write(write_model(widths, limits[0], len(lengths), limits[1], arguments.in_turn))
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/attention.mlir", "-o", f"{folder}/attention.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}",
                        *([f"--lanes={arguments.lanes}"] if arguments.lanes else []),
                        *([f"--processors={arguments.processors}"] if arguments.processors else [])],
                       check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(tools, f"{folder}/attention.heddle", folder)
        for width, heads, key_heads in widths:
            for column, names in enumerate((("query", "gradient"), ("key", "value"))):
                for name in names:
                    columns = width * (key_heads if column else heads)
                    inputs[name] = random.standard_normal((lengths[:, column].sum(), columns)).astype(np.float32)
            inputs["query"] *= 2  # makes the weights less uniform
            for mask in masks_of(widths.index((width, heads, key_heads)), arguments.in_turn):
                counts = MASKS[mask]
                inputs.pop("sinks", None)
                if mask == "sinks":
                    inputs["sinks"] = (3 * random.standard_normal(heads)).astype(np.float32)
                outputs = ["result", "grad_query", "grad_key", "grad_value"]
                found = session.call(f"{mask}_{width}x{heads}x{key_heads}", inputs, outputs)
                of_heads = inputs["value"][0].reshape(key_heads, width).repeat(heads // key_heads, 0).ravel()
                nearest = of_heads.astype(np.float16).astype(np.float32)
                # A single key has the weight 1, except for the last bit on CUDA, whose exponential is approximate.
                inexact = 1e-6 if arguments.target.startswith("cuda") else 0
                if width in rounded and mask != "sinks" and not np.allclose(found[0][0], nearest, rtol=inexact, atol=0):
                    failed += 1
                    print(f"FAIL {mask} {heads} x {width}: factors are not rounded to the nearest numbers of f16")
                query, key, value = (torch.tensor(inputs[name].astype(np.float64), requires_grad=True)
                                     for name in ("query", "key", "value"))
                parts = []
                for (q, k), (nq, nk) in zip(starts, lengths):
                    places = counts(torch.arange(nq)[:, None], torch.arange(nk)[None, :])
                    parts.append(attend(query[q:q + nq], key[k:k + nk], value[k:k + nk], places, heads,
                                        torch.tensor(inputs["sinks"].astype(np.float64)) if mask == "sinks" else None))
                result = torch.cat(parts)
                result.backward(torch.tensor(inputs["gradient"].astype(np.float64)))
                errors = []
                for actual, expected in zip(found, (result.detach(), query.grad, key.grad, value.grad)):
                    expected = expected.numpy()
                    error = np.abs(actual.astype(np.float64) - expected).max()
                    errors.append(error / np.abs(expected).max())
                # The score of a query's only key has no gradient: its two terms cancel, however operands are rounded. In tf32
                # the gradients of wide heads' keys are f32, and those of queries are not.
                single = 0 if mask == "sinks" or (arguments.precision == "tf32" and width > 64) else max(
                    max(np.abs(found[1][q:q + nq]).max() / query.grad.abs().max(), np.abs(found[2][k]).max() / key.grad.abs().max())
                    for (q, k), (nq, nk) in zip(starts, lengths) if nk == 1)
                bad = not (max(errors) <= bound and single <= BOUND)  # NaN is bad, too
                failed += bad
                print(f"{'FAIL' if bad else 'ok  '} {mask:<13} {heads}/{key_heads} x {width:<4}",
                      "  ".join(f"{name} {error:.1e}" for name, error in zip([*outputs, "single_key"], [*errors, single])))
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
