"""Compares `heddle.segment` and its gradients with PyTorch: segments of 0, 1, 7 and 33 rows in several orders, widths
that no vector divides, equal elements, infinities and NaN.

    pooling.py --bin build/bin [--target=NAME] [--lanes=N]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import torch

import calls

WIDTHS = [1, 5, 16, 33]
LENGTHS = [[1, 7, 0, 33, 1], [0, 33], [7], [0, 0, 1, 0], [33, 33, 7, 0]]
POOLS = ["sum", "max", "min"]
ROWS, SEGMENTS, LONGEST = 80, 8, 33
SLACK = 1e-6  # relative to the largest element of a result; sums are added in another order


def write_entries(pool, width):
    """`pool` returns the result of the forward kernel. `loss` accumulates the gradient of a table whose rows the
    segments hold."""
    name, dims = f"{pool}_{width}", '#heddle.dims<"{}">'.format
    rows, pooled, chosen = (f"tensor<?x{width}x{kind}, {dims(size)}>"
                            for kind, size in (("f32", "rows"), ("f32", "segments"), ("i32", "segments")))
    numbers, segments = (f"tensor<?xi32, {dims(size)}>" for size in ("rows", "segments"))
    table = f"tensor<{ROWS}x{width}xf32>"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    places = f"{port('starts', segments)}, {port('lengths', segments)}"
    chooses = pool != "sum"
    results = f"{pooled}, {chosen}" if chooses else pooled
    segment = (f"%y{', %chosen' if chooses else ''} = heddle.segment {pool} %x segments(%starts, %lengths) "
               f'{{row_size = "longest"}} : {rows}, {segments} -> {results}')
    more = (f', {chosen} {{heddle.name = "chosen"}}', ", %chosen") if chooses else ("", "")
    return f"""heddle.variable @w_{name} weight : {table}
heddle.variable @grad.w_{name} gradient of @w_{name} as gradient : {table}
func.func @pool_{name}({port("x", rows)}, {places}) -> ({pooled} {{heddle.name = "y"}}{more[0]}) {{
  {segment}
  return %y{more[1]} : {results}
}}
func.func @start_{name}({port("table", table)}) {{
  %zero = heddle.fill 0.0 : f32 : {table}
  %value = arith.addf %table, %zero : {table}
  heddle.write @w_{name}, %value : {table}
  heddle.write @grad.w_{name}, %zero : {table}
  return
}}
func.func @loss_{name}({port("numbers", numbers)}, {places}, {port("factors", pooled)})
    -> (tensor<1xf32> {{heddle.name = "loss"}}) {{
  %w = heddle.read @w_{name} : {table}
  %rows = heddle.embedding %numbers, %w : {numbers}, {table} -> {rows}
  %x = arith.mulf %rows, %rows : {rows}
  {segment}
  %squares = arith.mulf %y, %y : {pooled}
  %product = arith.mulf %squares, %factors : {pooled}
  %columns = heddle.sum rows %product : {pooled} -> tensor<{width}xf32>
  %loss = heddle.sum columns %columns : tensor<{width}xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}}
func.func @gradient_{name}() -> ({table} {{heddle.name = "gradient"}}) {{
  %gradient = heddle.read @grad.w_{name} : {table}
  %zero = heddle.fill 0.0 : f32 : {table}
  %copy = arith.addf %gradient, %zero : {table}
  return %copy : {table}
}}
"""


def pool_rows(pool, segment):
    """Returns a segment's result, which has a gradient, and the chosen rows: the first of equal ones."""
    if len(segment) == 0:
        return torch.zeros(segment.shape[1], dtype=segment.dtype), -torch.ones(segment.shape[1], dtype=torch.int64)
    if pool == "sum":
        return segment.sum(0), None
    best = segment.detach().amax(0) if pool == "max" else segment.detach().amin(0)
    equal = (segment.detach() == best) | (segment.detach().isnan() & best.isnan())
    chosen = torch.from_numpy(equal.numpy().argmax(0))
    return segment.gather(0, chosen[None])[0], chosen


def pool_all(pool, x, starts, lengths):
    made = [(start, *pool_rows(pool, x[start:start + length])) for start, length in zip(starts, lengths)]
    chosen = [torch.where(rows < 0, -1, rows + start).numpy() for start, _, rows in made if rows is not None]
    return torch.stack([result for _, result, _ in made]), np.stack(chosen) if pool != "sum" else None


def is_close(got, want):
    finite = np.isfinite(want)
    scale = np.abs(want[finite]).max(initial=0)
    return got.shape == want.shape and np.array_equal(got[~finite], want[~finite].astype(np.float32), equal_nan=True) and \
        np.abs(got[finite] - want[finite]).max(initial=0) <= SLACK * scale


def make_rows(kind, count, width, random):
    x = random.standard_normal((count, width)).astype(np.float32)
    if kind == "equal":
        x = np.round(x)
    if kind == "special":
        x[random.random(x.shape) < 0.3] = -np.inf
        x[random.random(x.shape) < 0.3] = np.inf
        x[random.random(x.shape) < 0.1] = np.nan
        x[: count // 3] = -np.inf
    return x


def check_forward(session, pool, width, segments, random):
    starts, lengths = segments
    for kind in ("random", "equal", "special"):
        x = make_rows(kind, lengths.sum(), width, random)
        names = ["y"] if pool == "sum" else ["y", "chosen"]
        got = session.call(f"pool_{pool}_{width}", {"x": x, "starts": starts, "lengths": lengths}, names)
        # In any order, the sum of both infinities is NaN.
        y, chosen = pool_all(pool, torch.tensor(x).double(), starts, lengths)
        same = is_close(got[0], y.numpy()) and (pool == "sum" or np.array_equal(got[1], chosen))
        yield kind, same


def check_gradients(session, pool, width, segments, random):
    starts, lengths = segments
    count, name = int(lengths.sum()), f"{pool}_{width}"
    for kind in ("random", "equal"):
        table = make_rows(kind, ROWS, width, random)
        numbers = random.permutation(ROWS)[:count].astype(np.int32)
        factors = random.standard_normal((len(lengths), width)).astype(np.float32)
        session.call(f"start_{name}", {"table": table})
        (loss,) = session.call(f"loss_{name}", {"numbers": numbers, "starts": starts, "lengths": lengths, "factors": factors},
                               ["loss"])
        (gradient,) = session.call(f"gradient_{name}", [], ["gradient"])
        weights = torch.tensor(table).double().requires_grad_()
        y, _ = pool_all(pool, weights[torch.tensor(numbers).long()] ** 2, starts, lengths)
        products = y * y * torch.tensor(factors)
        products.sum().backward()
        exact = abs(loss[0] - products.sum().item()) <= SLACK * max(1, products.abs().sum().item())
        yield f"gradient, {kind}", exact and is_close(gradient, weights.grad.numpy() if count else np.zeros_like(table))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    arguments = parser.parse_args()
    random = np.random.default_rng(11)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/pool.mlir", "w") as file:
            file.write(f'heddle.size @rows max {ROWS}\nheddle.size @segments max {SEGMENTS}\n'
                       f'heddle.size @longest max {LONGEST} longest "lengths"\n')
            file.writelines(write_entries(pool, width) for pool in POOLS for width in WIDTHS)
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/pool.mlir", "-o", f"{folder}/pool.heddle",
                        f"--target={arguments.target}", *([f"--lanes={arguments.lanes}"] if arguments.lanes else [])],
                       check=True, stdout=subprocess.DEVNULL)
        with calls.Session(arguments.bin, f"{folder}/pool.heddle", folder) as session:
            for pool in POOLS:
                for width in WIDTHS:
                    for lengths in LENGTHS:
                        lengths = np.array(lengths, np.int32)
                        segments = (np.cumsum(lengths) - lengths).astype(np.int32), lengths
                        for check in (check_forward, check_gradients):
                            for what, holds in check(session, pool, width, segments, random):
                                failed += not holds
                                said = f"{pool} of {width} columns, {lengths.tolist()} rows: {what}"
                                print(f"{'ok  ' if holds else 'FAIL'} {said}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
