"""Compares `heddle.unfold`, `heddle.fold` and matmuls of windows with numpy: odd lengths, widths that no tile divides,
windows longer than sequences.

    windows.py --bin build/bin [--target=NAME] [--lanes=N] [--precision=NAME] [--columns=N ...] [--outputs=N]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls
from compiled import Report, relative

LENGTHS = [1, 7, 33, 2, 1, 64]
COLUMNS = [1, 3, 7, 33, 64]
WINDOWS = [(-1, 1), (-2, 0), (0, 3), (-40, -38), (2, 2), (-3, -3)]
OUTPUTS = 13
BOUNDS = {"f32": 1e-6, "tf32": 2e-3, "bf16": 2e-2, "f16": 2e-3}


def name_of(columns, window):
    return f"{columns}_" + "_".join(str(end).replace("-", "m") for end in window)


def write_entries(columns, window):
    first, last = window
    wide = columns * (last - first + 1)
    rows, n = '#heddle.dims<"rows">', name_of(columns, window)
    x, u, g = (f"tensor<?x{width}xf32, {rows}>" for width in (columns, wide, OUTPUTS))
    p = f"tensor<?xi32, {rows}>"
    w = f"tensor<{wide}x{OUTPUTS}xf32>"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    unfold = f"heddle.unfold %x at %p from {first} to {last} : {x}, {p} -> {u}"
    return f"""func.func @unfold_{n}({port("x", x)}, {port("p", p)}) -> ({u} {{heddle.name = "y"}}) {{
  %y = {unfold}
  return %y : {u}
}}
func.func @fold_{n}({port("u", u)}, {port("p", p)}) -> ({x} {{heddle.name = "y"}}) {{
  %y = heddle.fold %u at %p from {first} to {last} : {u}, {p} -> {x}
  return %y : {x}
}}
func.func @product_{n}({port("x", x)}, {port("p", p)}, {port("w", w)}) -> ({g} {{heddle.name = "y"}}) {{
  %u = {unfold}
  %0 = heddle.matmul %u, %w : {u}, {w} -> {g}
  %y = math.tanh %0 : {g}
  return %y : {g}
}}
func.func @rows_{n}({port("g", g)}, {port("p", p)}, {port("w", w)}) -> ({x} {{heddle.name = "y"}}) {{
  %0 = heddle.matmul %g, %w {{transpose_rhs}} : {g}, {w} -> {u}
  %y = heddle.fold %0 at %p from {first} to {last} : {u}, {p} -> {x}
  return %y : {x}
}}
func.func @weights_{n}({port("x", x)}, {port("p", p)}, {port("g", g)}) -> ({w} {{heddle.name = "y"}}) {{
  %u = {unfold}
  %y = heddle.matmul %u, %g {{transpose_lhs}} : {u}, {g} -> {w}
  return %y : {w}
}}
"""


def unfold(x, window, lengths):
    first, last = window
    y, start = np.zeros((len(x), last - first + 1, x.shape[1])), 0
    for length in lengths:
        for row in range(length):
            for offset in range(first, last + 1):
                if 0 <= row + offset < length:
                    y[start + row, offset - first] = x[start + row + offset]
        start += length
    return y.reshape(len(x), -1)


def fold(u, window, lengths):
    first, last = window
    u = u.reshape(len(u), last - first + 1, -1)
    y, start = np.zeros((len(u), u.shape[2])), 0
    for length in lengths:
        for row in range(length):
            for offset in range(first, last + 1):
                if 0 <= row + offset < length:
                    y[start + row + offset] += u[start + row, offset - first]
        start += length
    return y


def check(session, columns, window, lengths, random, report, bound):
    first, last = window
    count, wide = sum(lengths), columns * (last - first + 1)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x, u, g, w = normal(count, columns), normal(count, wide), normal(count, OUTPUTS), normal(wide, OUTPUTS) / wide ** 0.5
    p = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    name = name_of(columns, window)
    call = lambda kind, **inputs: session.call(f"{kind}_{name}", {**inputs, "p": p}, ["y"])[0]
    what = f"{columns} columns, {first} to {last}, {len(lengths)} sequences: "
    # Without a matmul nothing is rounded.
    report.check(what + "unfold", float(np.abs(call("unfold", x=x) - unfold(x, window, lengths)).max()), 0)
    report.check(what + "fold", relative(call("fold", u=u), fold(u, window, lengths)), 1e-6)
    report.check(what + "product", relative(call("product", x=x, w=w), np.tanh(unfold(x, window, lengths) @ w)), bound)
    report.check(what + "rows", relative(call("rows", g=g, w=w), fold(g @ w.T.astype(np.float64), window, lengths)), bound)
    report.check(what + "weights", relative(call("weights", x=x, g=g), unfold(x, window, lengths).T @ g), bound)


def check_hostile(session, columns, window, random, report):
    """Invalid positions, and NaN and infinity in rows of other sequences: nothing may be read past a sequence's
    ends."""
    x = random.standard_normal((9, columns)).astype(np.float32)
    w = random.standard_normal((columns * (window[1] - window[0] + 1), OUTPUTS)).astype(np.float32)
    p = np.array([2 ** 31 - 1, -2 ** 31, 5, 6, -7, 10 ** 6, 0, 1, 2 ** 31 - 1], np.int32)
    name = name_of(columns, window)
    for kind, inputs in (("unfold", {"x": x}), ("product", {"x": x, "w": w})):
        (y,) = session.call(f"{kind}_{name}", {**inputs, "p": p}, ["y"])
        report.check(f"{columns} columns, {window[0]} to {window[1]}: {kind} of strange positions", float(not np.isfinite(y).all()), 0)
    x[:3] = np.nan
    x[5:] = np.inf
    p = np.array([0, 1, 2, 0, 1, 0, 1, 2, 3], np.int32)  # the middle sequence has neighbours with NaN and infinity
    (y,) = session.call(f"product_{name}", {"x": x, "w": w, "p": p}, ["y"])
    finite = unfold(x[3:5], window, [2]) @ w
    report.check(f"{columns} columns, {window[0]} to {window[1]}: beside NaN", relative(y[3:5], np.tanh(finite)), 1e-5)


def main():
    global OUTPUTS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    parser.add_argument("--precision", default="f32", choices=BOUNDS)
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    parser.add_argument("--outputs", type=int, default=OUTPUTS, help="of products; with 64, and 64 columns, lanes of several subgroups share them")
    arguments = parser.parse_args()
    OUTPUTS = arguments.outputs
    random, report = np.random.default_rng(7), Report()
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/windows.mlir", "w") as file:
            file.write("heddle.size @rows max 512\n")
            file.writelines(write_entries(columns, window) for columns in arguments.columns for window in WINDOWS)
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/windows.mlir", "-o", f"{folder}/windows.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}",
                        *([f"--lanes={arguments.lanes}"] if arguments.lanes else [])], check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(arguments.bin, f"{folder}/windows.heddle", folder)
        for columns in arguments.columns:
            for window in WINDOWS:
                for lengths in (LENGTHS, [1], [200]):
                    check(session, columns, window, lengths, random, report, BOUNDS[arguments.precision])
                if arguments.precision == "f32":
                    check_hostile(session, columns, window, random, report)
        session.close()
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
