"""`heddle.attention` and its gradients against PyTorch in float64, for head widths from 8 to 256, one head and several,
and every kind of mask; the sequences of the one batch are of unlike lengths, some without a key that counts.

    attention.py --bin build/bin [--target=NAME] [--precision=NAME] [--longest=N] [--processors=N]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import torch

import calls

# Of a head; heads of queries, and of keys.
WIDTHS = [(8, 3, 3), (24, 1, 1), (16, 6, 2), (16, 10, 2), (8, 4, 2), (64, 2, 2), (64, 3, 1), (128, 1, 1), (256, 2, 1)]
MATRIX_WIDTHS = [(16, 3, 3), (16, 5, 1), (64, 2, 2), (64, 4, 2), (64, 6, 2), (128, 1, 1)]  # of heads on cooperative matrices
LENGTHS = [(1, 1), (7, 7), (33, 33), (70, 70), (1, 70), (33, 7), (5, 0), (70, 1)]  # of each sequence's queries and keys
RADIUS = 9
BOUND = 1e-5
BOUNDS = {"f32": BOUND, "f16": 2e-3, "tf32": 2e-3, "bf16": 1.6e-2}  # f16 and tf32 keep 11 bits of a factor, bf16 8
# Each mask as the body of a region of (%i, %j), and as a function of columns of queries and rows of keys.
CAUSAL = "%late = arith.cmpi sle, %j, %i : i32"
NEAR = f"""%radius = arith.constant {RADIUS} : i32
    %far = arith.subi %i, %j : i32
    %distance = math.absi %far : i32
    %near = arith.cmpi sle, %distance, %radius : i32"""
MASKS = {
    "full": (None, lambda i, j: torch.ones(len(i), j.shape[1], dtype=torch.bool)),
    "causal": (f"{CAUSAL}\n    heddle.yield %late : i1", lambda i, j: j <= i),
    "window": (f"{NEAR}\n    heddle.yield %near : i1", lambda i, j: abs(i - j) <= RADIUS),
    "causal_window": (f"{CAUSAL}\n    {NEAR}\n    %both = arith.andi %late, %near : i1\n    heddle.yield %both : i1",
                      lambda i, j: (j <= i) & (abs(i - j) <= RADIUS)),
}


def write_sizes(rows, sequences, longest):
    return f"""heddle.size @queries max {rows}
heddle.size @keys max {rows}
heddle.size @sequences max {sequences}
heddle.size @query_length max {longest} longest "query_lengths"
heddle.size @key_length max {longest} longest "key_lengths"
!segments = tensor<?xi32, #heddle.dims<"sequences">>
"""


def write_entry(name, mask, width, heads, key_heads, rows, longest):
    """The forward op and the three of its backward pass, as differentiation writes them."""
    matrix = lambda size, columns: f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>'
    q, k, per_head = matrix("queries", width * heads), matrix("keys", width * key_heads), matrix("queries", heads)
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    segment = lambda name, limit: f'%{name}: !segments {{heddle.name = "{name}", heddle.limit = {limit} : i64}}'
    result = lambda name, kind: f'{kind} {{heddle.name = "{name}"}}'
    region = f"mask {{\n  ^bb0(%i: i32, %j: i32):\n    {mask}\n  }}" if mask else ""
    rest = f"""queries(%query_starts, %query_lengths) keys(%key_starts, %key_lengths) {region}
    {{heads = {heads} : i64, scale = {width ** -0.5:.9e} : f32, query_size = "query_length", key_size = "key_length"}}"""
    segments = ", ".join(["!segments"] * 4)
    backward = f"%query, %key, %value gradient %gradient, %lse, %delta {rest}"
    operands = f"({q}, {k}, {k}, {q}, {per_head}, {per_head}, {segments})"
    return f"""func.func @{name}({port("query", q)}, {port("key", k)}, {port("value", k)}, {port("gradient", q)},
    {segment("query_starts", rows + 1)}, {segment("query_lengths", longest + 1)},
    {segment("key_starts", rows + 1)}, {segment("key_lengths", longest + 1)})
    -> ({result("result", q)}, {result("grad_query", q)}, {result("grad_key", k)}, {result("grad_value", k)}) {{
  %y, %lse = heddle.attention %query, %key, %value {rest} : ({q}, {k}, {k}, {segments}) -> ({q}, {per_head})
  %delta = heddle.attention_delta %y, %gradient : {q} -> {per_head}
  %dq = heddle.attention_grad_query {backward} : {operands} -> {q}
  %dk, %dv = heddle.attention_grad_key_value {backward} : {operands} -> ({k}, {k})
  return %y, %dq, %dk, %dv : {q}, {q}, {k}, {k}
}}
"""


def write_model(widths, rows, sequences, longest):
    """All masks with heads of these widths."""
    return write_sizes(rows, sequences, longest) + "".join(
        write_entry(f"{name}_{width}x{heads}x{key_heads}", mask, width, heads, key_heads, rows, longest)
        for width, heads, key_heads in widths for name, (mask, _) in MASKS.items())


def attend(query, key, value, counts, heads):
    """One sequence in PyTorch. A query for which no key counts gets zeros. Heads of keys may be for several of queries."""
    width = query.shape[1] // heads

    def split(x):
        parts = x.reshape(len(x), x.shape[1] // width, width).transpose(0, 1)
        return parts.repeat_interleave(heads // len(parts), 0)

    scores = split(query) @ split(key).transpose(1, 2) / (query.shape[1] // heads) ** 0.5
    some = counts.any(1)
    weights = torch.softmax(scores[:, some].masked_fill(~counts[some], float("-inf")), -1)
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
    arguments = parser.parse_args()
    tools, bound = arguments.bin, BOUNDS[arguments.precision]
    widths = WIDTHS
    if arguments.target == "vulkan:software":  # for which Mesa takes minutes with the widest heads, if its cache is empty
        widths = WIDTHS[:8] if arguments.precision == "f32" else WIDTHS[:7]
    if arguments.target == "vulkan:software-matrices":  # whose other heads are those of vulkan:software
        widths = MATRIX_WIDTHS
    random = np.random.default_rng(5)
    longest = arguments.longest or np.max(LENGTHS)
    more = [(150, 140)] if longest >= 150 else [(longest, longest)] if longest < np.max(LENGTHS) else []
    lengths = np.array([pair for pair in LENGTHS if max(pair) <= longest] + more, np.int32)
    starts = (np.cumsum(lengths, 0) - lengths).astype(np.int32)
    inputs = {f"{side}_{what}": array[:, column].copy() for column, side in enumerate(("query", "key"))
              for what, array in (("starts", starts), ("lengths", lengths))}
    # Products of these are of factors in f16, and a query of one key has its value.
    rounded = [width for width, _, _ in widths if arguments.precision == "f16" and width % 16 == 0 and width <= 128]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/attention.mlir", "w") as file:
            limits = (int(lengths.sum(0).max()), longest)
            file.write(write_model(widths, limits[0], len(lengths), limits[1]))
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
            inputs["query"] *= 2  # less even weights
            for mask, (_, counts) in MASKS.items():
                outputs = ["result", "grad_query", "grad_key", "grad_value"]
                found = session.call(f"{mask}_{width}x{heads}x{key_heads}", inputs, outputs)
                of_heads = inputs["value"][0].reshape(key_heads, width).repeat(heads // key_heads, 0).ravel()
                nearest = of_heads.astype(np.float16).astype(np.float32)
                # A single key has the weight 1: on CUDA, whose exponential is an approximation, but for its last bit.
                inexact = 1e-6 if arguments.target.startswith("cuda") else 0
                if width in rounded and not np.allclose(found[0][0], nearest, rtol=inexact, atol=0):
                    failed += 1
                    print(f"FAIL {mask} {heads} x {width}: factors are not rounded to the nearest numbers of f16")
                query, key, value = (torch.tensor(inputs[name].astype(np.float64), requires_grad=True)
                                     for name in ("query", "key", "value"))
                parts = []
                for (q, k), (nq, nk) in zip(starts, lengths):
                    places = counts(torch.arange(nq)[:, None], torch.arange(nk)[None, :])
                    parts.append(attend(query[q:q + nq], key[k:k + nk], value[k:k + nk], places, heads))
                result = torch.cat(parts)
                result.backward(torch.tensor(inputs["gradient"].astype(np.float64)))
                errors = []
                for actual, expected in zip(found, (result.detach(), query.grad, key.grad, value.grad)):
                    expected = expected.numpy()
                    error = np.abs(actual.astype(np.float64) - expected).max()
                    errors.append(error / np.abs(expected).max())
                bad = not max(errors) <= bound  # NaN is bad too
                failed += bad
                print(f"{'FAIL' if bad else 'ok  '} {mask:<13} {heads}/{key_heads} x {width:<4}",
                      "  ".join(f"{name} {error:.1e}" for name, error in zip(outputs, errors)))
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
