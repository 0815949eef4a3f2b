"""Compares `heddle.attention` with one query per sequence, as in decoding, with float64: several widths of heads (one
that four lanes cannot share), no keys to many keys, a window, arithmetic on the scores, and keys in scattered rows. Rows
of the caches that belong to no sequence are NaN. Keys are cut into parts (heddle-split-keys) if nothing knows their index.

    one_query.py --bin build/bin [--target=NAME]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

# Width of a head; numbers of query heads and key heads. A workgroup handles several query heads per key head.
WIDTHS = [(8, 3, 3), (6, 2, 2), (20, 3, 3), (64, 2, 2), (128, 1, 1), (64, 9, 3), (8, 10, 2), (8, 4, 2), (20, 8, 1), (6, 4, 2)]
LENGTHS = [1, 7, 0, 64, 33, 300, 5, 128, 131]  # number of keys of each sequence; the longest has three parts
BOUND = 1e-5
WINDOW = 40  # later keys do not count
SCORE = """score {
  ^bb0(%score: f32, %q: i32, %k: i32, %head: i32):
    %cap = arith.constant 3.0 : f32
    %part = arith.divf %score, %cap : f32
    %soft = math.tanh %part : f32
    %capped = arith.mulf %soft, %cap : f32
    %place = arith.addi %k, %head : i32
    %far = arith.sitofp %place : i32 to f32
    %slope = arith.constant -0.03125 : f32
    %bias = arith.mulf %far, %slope : f32
    %biased = arith.addf %capped, %bias : f32
    heddle.yield %biased : f32
  }"""
CAP = "\n".join(SCORE.splitlines()[:6] + ["    heddle.yield %capped : f32", "  }"])
MASK = f"""mask {{
  ^bb0(%i: i32, %j: i32):
    %d = arith.subi %j, %i : i32
    %w = arith.constant {WINDOW} : i32
    %c = arith.cmpi slt, %d, %w : i32
    heddle.yield %c : i1
  }}"""
# For each kind: whether a list of rows locates the keys, and the regions between scores and softmax.
KINDS = {"plain": (False, ""), "cap": (False, CAP), "sinks": (False, ""), "window": (False, MASK), "score": (False, SCORE), "rows": (True, ""),
         "rows_score": (True, f"{SCORE} {MASK}"), "window_sinks": (False, MASK), "rows_sinks": (True, "")}


def write_entry(kind, width, heads, key_heads, cache):
    by_rows, regions = KINDS[kind]
    query, keys = f'tensor<?x{width * heads}xf32, #heddle.dims<"sequences">>', f"tensor<{cache}x{width * key_heads}xf32>"
    per_head = f'tensor<?x{heads}xf32, #heddle.dims<"sequences">>'
    rows = f'tensor<?x{max(LENGTHS)}xi32, #heddle.dims<"sequences">>'
    port = lambda name, type, more="": f'%{name}: {type} {{heddle.name = "{name}"{more}}}'
    segment = lambda name, limit: port(name, "!segments", f", heddle.limit = {limit} : i64")
    ports = [port("query", query), port("key", keys), port("value", keys), segment("query_starts", len(LENGTHS) + 1),
             segment("query_lengths", 2), segment("key_starts", cache + 1), segment("key_lengths", max(LENGTHS) + 1)]
    if by_rows:
        ports.append(port("key_rows", rows, f", heddle.limit = {cache} : i64"))
    sinks = kind.endswith("sinks")
    if sinks:
        ports.append(port("sinks", f"tensor<{heads}xf32>"))
    operands = [query, keys, keys] + ([rows] if by_rows else []) + ([f"tensor<{heads}xf32>"] if sinks else []) + ["!segments"] * 4
    return f"""func.func @{kind}_{width}x{heads}x{key_heads}({", ".join(ports)}) -> ({query} {{heddle.name = "result"}}) {{
  %y, %lse = heddle.attention %query, %key, %value {"rows(%key_rows)" if by_rows else ""} {"sink(%sinks)" if sinks else ""}
    queries(%query_starts, %query_lengths) keys(%key_starts, %key_lengths) {regions}
    {{heads = {heads} : i64, scale = {width ** -0.5:.9e} : f32, query_size = "", key_size = "key_length"}}
    : ({", ".join(operands)}) -> ({query}, {per_head})
  return %y : {query}
}}
"""


def attend(kind, query, key, value, sinks):
    """Computes one query and head in float64. Without keys the result is zero. `sinks` has a number for each head."""
    if "window" in kind or kind == "rows_score":
        key, value = key[:WINDOW], value[:WINDOW]
    if not len(key):
        return lambda head: np.zeros_like(query)
    scores = key @ query / len(query) ** 0.5

    def result(head):
        s = scores
        if "score" in kind or kind == "cap":
            s = 3 * np.tanh(s / 3)
        if "score" in kind:
            s = s - (np.arange(len(key)) + head) / 32
        if "sinks" in kind:
            s = np.append(s, sinks[head])
        weights = np.exp(s - s.max())
        return weights[:len(value)] / weights.sum() @ value

    return result


def attend_all(kind, inputs, heads, key_heads, sinks, keys):
    """Returns the result of all queries in float64. `keys` has the rows of each query's keys."""
    query, key, value = (inputs[name].astype(np.float64) for name in ("query", "key", "value"))
    width, expected = query.shape[1] // heads, np.zeros_like(query)
    for q, own in enumerate(keys):
        for head in range(heads):
            at = slice(head * width, (head + 1) * width)
            key_head = head * key_heads // heads
            key_at = slice(key_head * width, (key_head + 1) * width)
            expected[q, at] = attend(kind, query[q, at], key[own, key_at], value[own, key_at], sinks.astype(np.float64))(head)
    return expected


def agrees(name, result, expected):
    error = np.abs(result - expected).max() / np.abs(expected).max()
    good = bool(error <= BOUND)  # not if it is NaN
    print(f"{'ok  ' if good else 'FAIL'} {name:<24} {error:.1e}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    arguments = parser.parse_args()
    random = np.random.default_rng(11)
    lengths = np.array(LENGTHS, np.int32)
    cache = int(lengths.sum()) + 9
    starts = (np.cumsum(lengths) - lengths + 3).astype(np.int32)
    inputs = {"query_starts": np.arange(len(lengths), dtype=np.int32), "query_lengths": np.ones(len(lengths), np.int32),
              "key_lengths": lengths}
    rows = np.zeros((len(lengths), max(LENGTHS)), np.int32)
    for s, length in enumerate(lengths):
        rows[s, :length] = random.permutation(cache)[:length]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/attention.mlir", "w") as file:
            file.write(f"heddle.size @sequences max {len(lengths)}\n"
                       f'heddle.size @key_length max {max(LENGTHS)} longest "key_lengths"\n'
                       '!segments = tensor<?xi32, #heddle.dims<"sequences">>\n')
            file.writelines(write_entry(kind, *width, cache) for width in WIDTHS for kind in KINDS)
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/attention.mlir", "-o",
                        f"{folder}/attention.heddle", f"--target={arguments.target}"],
                       check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(arguments.bin, f"{folder}/attention.heddle", folder)
        for width, heads, key_heads in WIDTHS:
            for name, count, of in (("query", len(lengths), heads), ("key", cache, key_heads), ("value", cache, key_heads)):
                inputs[name] = random.standard_normal((count, width * of)).astype(np.float32)
            inputs["query"] *= 2  # makes the weights less uniform
            for kind, (by_rows, _) in KINDS.items():
                inputs["key_starts"] = np.zeros_like(starts) if by_rows else starts
                inputs.pop("key_rows", None)
                inputs.pop("sinks", None)
                sinks = (3 * random.standard_normal(heads)).astype(np.float32)
                if "sinks" in kind:
                    inputs["sinks"] = sinks
                if by_rows:
                    inputs["key_rows"] = rows
                given = dict(inputs)
                if not by_rows:
                    unused = np.ones(cache, bool)
                    unused[starts[0]:starts[-1] + lengths[-1]] = False
                    given |= {name: np.where(unused[:, None], np.float32(np.nan), inputs[name]) for name in ("key", "value")}
                (result,) = session.call(f"{kind}_{width}x{heads}x{key_heads}", given, ["result"])
                keys = [rows[s, :length] if by_rows else np.arange(starts[s], starts[s] + length)
                        for s, length in enumerate(lengths)]
                expected = attend_all(kind, inputs, heads, key_heads, sinks, keys)
                failed += not agrees(f"{kind} {heads} ({key_heads}) x {width}", result, expected)
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
