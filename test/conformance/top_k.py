"""Compares `heddle.top_k` with numpy, for widths that no vector and no chunk divides; ragged, empty and overlapping
segments; equal elements, infinities and NaN."""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

SHAPES = [(41, 8), (64, 1), (131, 6), (5, 5), (1000, 8), (4, 2), (37, 32)]  # columns, and k
SEGMENTS = [(0, 1), (1, 4), (5, 0), (5, 3), (6, 1), (8, 2), (0, 4)]  # starts and lengths, of at most 4 rows
ROWS = 10
NONE = -np.finfo(np.float32).max


def write_entry(columns, count):
    x, segments = f'tensor<?x{columns}xf32, #heddle.dims<"rows">>', 'tensor<?xi32, #heddle.dims<"segments">>'
    values, places = (f'tensor<?x{count}x{kind}, #heddle.dims<"segments">>' for kind in ("f32", "i32"))
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    return f"""func.func @top_{columns}_{count}({port("x", x)}, {port("offset", 'tensor<?xf32, #heddle.dims<"rows">>')},
    %starts: {segments} {{heddle.name = "starts", heddle.limit = {ROWS + 1} : i64}},
    %lengths: {segments} {{heddle.name = "lengths", heddle.limit = 5 : i64}})
    -> ({values} {{heddle.name = "values"}}, {places} {{heddle.name = "rows"}}, {places} {{heddle.name = "columns"}}) {{
  %wide = heddle.broadcast %offset : tensor<?xf32, #heddle.dims<"rows">> to {x}
  %sum = arith.addf %x, %wide : {x}
  %v, %r, %c = heddle.top_k %sum segments(%starts, %lengths) {{row_size = "longest"}} : {x}, {segments} -> {values}, {places}
  return %v, %r, %c : {values}, {places}, {places}
}}
"""


def expected(x, count):
    values, rows, columns = (np.zeros((len(SEGMENTS), count), kind) for kind in (np.float32, np.int32, np.int32))
    for s, (start, length) in enumerate(SEGMENTS):
        segment = x[start:start + length]
        order = [(-segment[i, j], i, j) for i in range(length) for j in range(x.shape[1])
                 if not np.isnan(segment[i, j]) and segment[i, j] > NONE]
        order = sorted(order)[:count]
        order += [(-NONE, 0, 0)] * (count - len(order))
        for k, (value, i, j) in enumerate(order):
            values[s, k], rows[s, k], columns[s, k] = -value, start + i, j
    return values, rows, columns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(3)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/top.mlir", "w") as file:
            file.write(f'heddle.size @rows max {ROWS}\nheddle.size @segments max 16\n'
                       'heddle.size @longest max 4 longest "lengths"\n')
            file.writelines(write_entry(*shape) for shape in SHAPES)
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/top.mlir", "-o", f"{folder}/top.heddle",
                        f"--target={arguments.target}"], check=True, stdout=subprocess.DEVNULL)
        starts, lengths = (np.array(column, np.int32) for column in zip(*SEGMENTS))
        session = calls.Session(tools, f"{folder}/top.heddle", folder)
        for columns, count in SHAPES:
            for kind in ("random", "equal", "special"):
                x = random.standard_normal((ROWS, columns)).astype(np.float32)
                if kind == "equal":
                    x = np.round(x)
                if kind == "special":
                    x[random.random(x.shape) < 0.3] = np.nan
                    x[random.random(x.shape) < 0.3] = -np.inf
                    x[6] = np.nan  # a segment with only NaN
                offset = np.round(random.standard_normal(ROWS)).astype(np.float32)
                inputs = {"x": x, "offset": offset, "starts": starts, "lengths": lengths}
                got = session.call(f"top_{columns}_{count}", inputs, ["values", "rows", "columns"])
                want = expected(x + offset[:, None], count)
                same = all(np.array_equal(a, b) for a, b in zip(got, want))
                failed += not same
                print(f"{'ok  ' if same else 'FAIL'} {count} of {columns} columns, {kind}")
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
