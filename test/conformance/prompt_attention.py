"""Compares attention of prompts with float64: tokens that are each alone in their sequence, but whose neighbours see nearly
the same keys (AttentionRuns.cpp). A call has the ends of several texts, each of which sees its own earlier tokens, tokens
with a window, lone tokens that share no key with a neighbour, and a token without keys. Rows of the caches that belong
to no token are NaN.

    prompt_attention.py --bin build/bin [--target=NAME] [--lanes=N] [--short]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls
from one_query import CAP, MASK, SCORE, WIDTHS, agrees, attend_all

# Of each text: its first row in the caches, the tokens that it has before the call, and those of the call.
TEXTS = [(3, 0, 70), (80, 33, 7), (200, 30, 61), (130, 5, 1), (140, 8, 1), (150, 0, 20), (0, 0, 1)]
CACHE = 300
KINDS = {"plain": "", "cap": CAP, "score": SCORE, "window": MASK, "sinks": "", "late": ""}


def write_entry(kind, width, heads, key_heads):
    query, keys = f'tensor<?x{width * heads}xf32, #heddle.dims<"tokens">>', f"tensor<{CACHE}x{width * key_heads}xf32>"
    port = lambda name, type, more="": f'%{name}: {type} {{heddle.name = "{name}"{more}}}'
    segment = lambda name, limit: port(name, "!segments", f", heddle.limit = {limit} : i64")
    ports = [port("query", query), port("key", keys), port("value", keys), segment("query_lengths", 2),
             segment("key_starts", CACHE + 1), segment("key_lengths", CACHE + 1)]
    sinks = kind == "sinks"
    if sinks:
        ports.append(port("sinks", f"tensor<{heads}xf32>"))
    operands = [query, keys, keys] + ([f"tensor<{heads}xf32>"] if sinks else []) + ["!segments"] * 4
    return f"""func.func @{kind}_{width}x{heads}x{key_heads}({", ".join(ports)}) -> ({query} {{heddle.name = "result"}}) {{
  %query_starts = heddle.iota {{dim = 0 : i64}} : !segments
  %y, %lse = heddle.attention %query, %key, %value {"sink(%sinks)" if sinks else ""}
    queries(%query_starts, %query_lengths) keys(%key_starts, %key_lengths) {KINDS[kind]}
    {{heads = {heads} : i64, scale = {width ** -0.5:.9e} : f32, query_size = "", key_size = "key_length"}}
    : ({", ".join(operands)}) -> ({query}, tensor<?x{heads}xf32, #heddle.dims<"tokens">>)
  return %y : {query}
}}
"""


def keys_of_tokens(late):
    """Returns the first key of each token, and the number of its keys. With `late`, a token sees at most seven."""
    starts, lengths = [], []
    for first, past, count in TEXTS:
        for token in range(count):
            length = past + token + 1 if first else 0
            hidden = max(0, length - 7) if late else 0
            starts.append(first + hidden)
            lengths.append(length - hidden)
    return np.array(starts, np.int32), np.array(lengths, np.int32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    parser.add_argument("--short", action="store_true", help="only heads of 64 columns, three of which share keys")
    arguments = parser.parse_args()
    widths = [(64, 9, 3)] if arguments.short else WIDTHS
    random = np.random.default_rng(12)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/attention.mlir", "w") as file:
            file.write(f"heddle.size @tokens max {len(keys_of_tokens(False)[0])}\n"
                       f'heddle.size @key_length max {CACHE} longest "key_lengths"\n'
                       '!segments = tensor<?xi32, #heddle.dims<"tokens">>\n')
            file.writelines(write_entry(kind, *width) for width in widths for kind in KINDS)
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/attention.mlir", "-o",
                        f"{folder}/attention.heddle", f"--target={arguments.target}",
                        *([f"--lanes={arguments.lanes}"] if arguments.lanes else [])],
                       check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(arguments.bin, f"{folder}/attention.heddle", folder)
        for width, heads, key_heads in widths:
            for kind in KINDS:
                starts, lengths = keys_of_tokens(kind == "late")
                inputs = {name: random.standard_normal((count, width * of)).astype(np.float32) for name, count, of in
                          (("query", len(starts), heads), ("key", CACHE, key_heads), ("value", CACHE, key_heads))}
                seen = np.zeros(CACHE, bool)
                for start, length in zip(starts, lengths):
                    seen[start:start + length] = True
                given = inputs | {name: np.where(seen[:, None], inputs[name], np.float32(np.nan)) for name in ("key", "value")}
                given |= {"query_lengths": np.ones(len(starts), np.int32), "key_starts": starts, "key_lengths": lengths}
                sinks = (3 * random.standard_normal(heads)).astype(np.float32)
                if kind == "sinks":
                    given["sinks"] = sinks
                (result,) = session.call(f"{kind}_{width}x{heads}x{key_heads}", given, ["result"])
                keys = [np.arange(start, start + length) for start, length in zip(starts, lengths)]
                expected = attend_all(kind, inputs, heads, key_heads, sinks, keys)
                failed += not agrees(f"{kind} {heads} ({key_heads}) x {width}", result, expected)
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
