"""Compares arithmetic between attention's scores and its softmax with PyTorch in float64: a soft cap, a bias by
distance and head, a Gaussian window, and a sink for each head, with masks and dropout. Attention is written op by op.
It is compiled once with its scores in memory and once fused, with the arithmetic as the score region. Compares loss,
result and the gradients of the three projections and the sinks.

    attention_score.py --bin build/bin [--target=NAME] [--precision=NAME]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import torch

import attention
import attention_text
import calls
import tensor_files

WIDTHS = [(11, 3), (64, 2)]  # width of a head, and number of heads
BOUNDS = {"f32": attention.BOUND, "bf16": 2e-2, "f16": 2.5e-3}  # bf16 keeps 8 bits of an operand, f16 11
ROOM = 76  # for the scores of a query and head in memory; not a multiple of a kernel's step
CAP, SIGMA, RATE, SEED, STEP, STREAM = 3.0, 4.0, 0.25, (12345, 678), 9, 5


def soft_cap(text, x):
    text(f"""%cap = heddle.fill {CAP} : f32 : !scores
  %part = arith.divf {x}, %cap : !scores
  %soft = math.tanh %part : !scores
  %capped = arith.mulf %soft, %cap : !scores""")
    return "%capped"


def by_head(text, x, heads):
    """Multiplies a slope per head by the distance, as in "Train Short, Test Long" (Press et al., 2021)."""
    text(f"""%octave = heddle.fill {-8 / heads} : f32 : !scores
  %head = heddle.iota {{dim = 1 : i64}} : !places
  %number = arith.sitofp %head : !places to !scores
  %power = arith.mulf %number, %octave : !scores
  %slope = math.exp2 %power : !scores
  %length = math.absf %apart : !scores
  %fall = arith.mulf %length, %slope : !scores
  %biased = arith.subf {x}, %fall : !scores""")
    return "%biased"


def gaussian(text, x):
    text(f"""%sharpness = heddle.fill {1 / (2 * SIGMA ** 2)} : f32 : !scores
  %square = arith.mulf %apart, %apart : !scores
  %penalty = arith.mulf %square, %sharpness : !scores
  %narrow = arith.subf {x}, %penalty : !scores""")
    return "%narrow"


# The ops; the same in PyTorch, as a function of (scores, distance, head, heads); the mask; and whether there is
# dropout.
CASES = {
    "soft_cap": (lambda text, x, heads: soft_cap(text, x), lambda s, far, h, heads: CAP * torch.tanh(s / CAP), "full", False),
    "by_head": (by_head, lambda s, far, h, heads: s - abs(far) * 2 ** (-8 * h / heads), "causal", False),
    "gaussian": (lambda text, x, heads: gaussian(text, x), lambda s, far, h, heads: s - far ** 2 / (2 * SIGMA ** 2), "causal_window", False),
    "all": (lambda text, x, heads: gaussian(text, by_head(text, soft_cap(text, x), heads)),
            lambda s, far, h, heads: CAP * torch.tanh(s / CAP) - abs(far) * 2 ** (-8 * h / heads) - far ** 2 / (2 * SIGMA ** 2),
            "window", True),
    "sinks": (lambda text, x, heads: x, lambda s, far, h, heads: s, "causal_window", True),
}


def write_module(width, heads, rows, sequences, longest):
    columns = width * heads
    matrix = lambda size: f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>'
    weight = f"tensor<{columns}x{columns}xf32>"
    module = attention_text.write_sizes(rows, sequences, longest) + f"""!queries = {matrix("queries")}
!keys = {matrix("keys")}
!scores = tensor<?x{heads}x{ROOM}xf32, #heddle.dims<"queries">>
!places = tensor<?x{heads}x{ROOM}xi32, #heddle.dims<"queries">>
!indices = tensor<?xi32, #heddle.dims<"queries">>
"""
    for name in ("query", "key", "value"):
        module += f"heddle.variable @{name} weight : {weight}\nheddle.variable @grad.{name} gradient of @{name} as gradient : {weight}\n"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    segment = lambda name, limit: f'%{name}: !segments {{heddle.name = "{name}", heddle.limit = {limit} : i64}}'
    pairs = 'queries(%query_starts, %query_lengths) keys(%key_starts, %key_lengths)\n    {query_size = "query_length", key_size = "key_length"}'
    segments = ", ".join(["!segments"] * 4)
    module += f"heddle.variable @sink weight : tensor<{heads}xf32>\nheddle.variable @grad.sink gradient of @sink as gradient : tensor<{heads}xf32>\n"
    for name, (arithmetic, _, mask, dropout) in CASES.items():
        body = []
        score = arithmetic(body.append, "%scaled", heads)
        region = attention_text.MASKS[mask]
        region = f"mask {{\n  ^bb0(%i: i32, %j: i32):\n    {region}\n  }}" if region else ""
        lines = "\n  ".join(body)
        kept = (f"%kept = heddle.dropout %weights seed %seed step %step {{rate = {RATE} : f32, stream = {STREAM} : i32}} : !scores\n"
                if dropout else "")
        module += f"""
func.func @{name}({port("tokens", "!queries")}, {port("memory", "!keys")}, {port("gradient", "!queries")},
    {segment("query_starts", rows + 1)}, {segment("query_lengths", longest + 1)},
    {segment("key_starts", rows + 1)}, {segment("key_lengths", longest + 1)},
    {port("seed", "tensor<2xi32>")}, {port("step", "tensor<1xi32>")})
    -> (!queries {{heddle.name = "result"}}, tensor<1xf32> {{heddle.name = "loss"}}) {{
  %wq = heddle.read @query : {weight}
  %wk = heddle.read @key : {weight}
  %wv = heddle.read @value : {weight}
  %q = heddle.matmul %tokens, %wq : !queries, {weight} -> !queries
  %k = heddle.matmul %memory, %wk : !keys, {weight} -> !keys
  %v = heddle.matmul %memory, %wv : !keys, {weight} -> !keys
  %position, %sequence = heddle.locate rows(%query_starts, %query_lengths) {{row_size = "query_length"}} : !segments -> !indices
  %at = heddle.broadcast %position : !indices to !places
  %to = heddle.iota {{dim = 2 : i64}} : !places
  %difference = arith.subi %at, %to : !places
  %apart = arith.sitofp %difference : !places to !scores
  %product = heddle.scores %q, %k {pairs} : (!queries, !keys, {segments}) -> !scores
  %scale = heddle.fill {width ** -0.5:.9e} : f32 : !scores
  %scaled = arith.mulf %product, %scale : !scores
  {lines}
  %masked = heddle.mask {score} at(%position, %sequence) keys(%key_lengths) {region} {{value = 0xFF800000 : f32}}
    : !scores, !indices, !segments
  %sinks = heddle.read @sink : tensor<{heads}xf32>
  %weights = heddle.softmax %masked {f"sink(%sinks : tensor<{heads}xf32>)" if name == "sinks" else ""} : !scores
  {kept}
  %y = heddle.context {"%kept" if dropout else "%weights"}, %v {pairs} : (!scores, !keys, {segments}) -> !queries
  %terms = arith.mulf %y, %gradient : !queries
  %row = heddle.sum rows %terms : !queries -> tensor<{columns}xf32>
  %loss = heddle.sum columns %row : tensor<{columns}xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %y, %loss : !queries, tensor<1xf32>
}}
"""
    return module


def philox(counter, key):
    """Computes Philox4x32-10 of arrays of counters, from its definition (Salmon et al., 2011)."""
    counter, key = [np.asarray(word, np.uint64) for word in counter], list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        low = lambda product: product & np.uint64(0xFFFFFFFF)
        high = lambda product: product >> np.uint64(32)
        counter = [high(second) ^ counter[1] ^ np.uint64(key[0]), low(second), high(first) ^ counter[3] ^ np.uint64(key[1]),
                   low(first)]
        key = [(key[0] + 0x9E3779B9) % 2 ** 32, (key[1] + 0xBB67AE85) % 2 ** 32]
    return counter


def keep(rows, columns, head):
    """Returns the dropout factors of a sequence's weights."""
    place = np.broadcast_arrays(np.asarray(columns) // 4, np.asarray(rows)[:, None], ((STREAM + 1) << 16) + head, STEP)
    words = np.choose(np.asarray(columns) % 4, philox(place, SEED))
    return torch.tensor(((words >> np.uint64(8)).astype(np.float64) * 2.0 ** -24 >= RATE) / (1 - RATE))


def attend(case, query, key, value, sinks, start, heads):
    """Computes one sequence in PyTorch. Its first query is row `start` of the batch."""
    _, arithmetic, mask, dropout = CASES[case]
    split = lambda x: x.reshape(len(x), heads, x.shape[1] // heads).transpose(0, 1)
    i, j = torch.arange(len(query))[:, None], torch.arange(len(key))[None, :]
    counts = attention.MASKS[mask](i, j)
    some = counts.any(1)
    result = torch.zeros_like(split(query))
    for head in range(heads):
        scores = split(query)[head] @ split(key)[head].T / (query.shape[1] // heads) ** 0.5
        scores = arithmetic(scores, (i - j).double(), head, heads)
        scores = scores[some].masked_fill(~counts[some], float("-inf"))
        if case == "sinks":
            scores = torch.cat([scores, sinks[head].expand(len(scores), 1)], -1)
        weights = torch.softmax(scores, -1)[:, :len(key)]
        if dropout:
            weights = weights * keep(np.arange(start, start + len(query)), np.arange(len(key)), head)[some]
        result[head, some] = weights @ split(value)[head]
    return result.transpose(0, 1).reshape(query.shape)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", choices=BOUNDS, default="f32")
    parser.add_argument("--widths", nargs="+", type=int, default=[width for width, _ in WIDTHS], help="of heads")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(6)
    lengths = np.array(attention.LENGTHS, np.int32)
    starts = (np.cumsum(lengths, 0) - lengths).astype(np.int32)
    inputs = {f"{side}_{what}": array[:, column].copy() for column, side in enumerate(("query", "key"))
              for what, array in (("starts", starts), ("lengths", lengths))}
    inputs.update(seed=np.array(SEED, np.int32), step=np.array([STEP], np.int32))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for width, heads in filter(lambda pair: pair[0] in arguments.widths, WIDTHS):
            with open(f"{folder}/attention.mlir", "w") as file:
                file.write(write_module(width, heads, int(lengths.sum(0).max()), len(lengths), int(lengths.max())))
            columns = width * heads
            for name, side in (("tokens", 0), ("gradient", 0), ("memory", 1)):
                inputs[name] = random.standard_normal((lengths[:, side].sum(), columns)).astype(np.float32)
            weights = {name: (random.standard_normal((columns, columns)) * (2 / columns) ** 0.5).astype(np.float32)
                       for name in ("query", "key", "value")}
            weights["sink"] = (3 * random.standard_normal(heads)).astype(np.float32)
            tensor_files.save_safetensors(f"{folder}/start.safetensors",
                                       {**weights, **{f"grad.{name}": 0 * value for name, value in weights.items()}})
            for fused in ("true", "false"):
                subprocess.run([f"{tools}/heddle-compile", f"{folder}/attention.mlir", f"--fuse-attention={fused}",
                                f"--target={arguments.target}", f"--precision={arguments.precision}", "-o", f"{folder}/{fused}.heddle"],
                               check=True, stdout=subprocess.DEVNULL)
            graph = subprocess.run([f"{tools}/heddle-compile", f"{folder}/attention.mlir", "--compile-to=fuse-attention"],
                                   check=True, capture_output=True, text=True).stdout
            if graph.count("= heddle.attention ") != len(CASES):
                sys.exit("not all attentions were fused")
            sessions = {fused: calls.Session(tools, f"{folder}/{fused}.heddle", folder) for fused in ("true", "false")}
            for case in CASES:
                parameters = {name: torch.tensor(value.astype(np.float64), requires_grad=True)
                              for name, value in weights.items()}
                exact = lambda name: torch.tensor(inputs[name].astype(np.float64))
                projected = [exact(source) @ parameters[name]
                             for name, source in (("query", "tokens"), ("key", "memory"), ("value", "memory"))]
                result = torch.cat([attend(case, projected[0][q:q + nq], projected[1][k:k + nk], projected[2][k:k + nk],
                                           parameters["sink"], q, heads)
                                    for (q, k), (nq, nk) in zip(starts, lengths)])
                (result * exact("gradient")).sum().backward()
                expected = {"result": result.detach(), **{f"grad.{name}": p.grad for name, p in parameters.items() if p.grad is not None}}
                for fused, session in sessions.items():
                    (found,) = session.call(case, inputs, ["result"], ["--variables", f"{folder}/start.safetensors",
                                                                       "--save-variables", f"{folder}/found.safetensors"])
                    found = {**tensor_files.load_safetensors(f"{folder}/found.safetensors"), "result": found}
                    errors = {name: float(np.abs(found[name] - value.numpy()).max() / np.abs(value.numpy()).max())
                              for name, value in expected.items()}
                    bad = not max(errors.values()) <= BOUNDS[arguments.precision]  # NaN is bad, too
                    failed += bad
                    print(f"{'FAIL' if bad else 'ok  '} {case:<9} {'fused' if fused == 'true' else 'unfused':<8} {heads} x {width:<3}",
                          "  ".join(f"{name} {error:.1e}" for name, error in errors.items()))
            for session in sessions.values():
                session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
