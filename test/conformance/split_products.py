"""Compares matmuls on tensor cores with numpy, for matmuls whose K dimension is shared out among workgroups, and for
gradients of several matrices, or projections, in one launch. Operands are small multiples of 1/8, so that every product and every sum is exact in any precision.

    split_products.py --bin build/bin [--target=NAME] [--precision=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import calls

LONG = 4096
GRADIENTS = 10
WIDE = [8192, 8256]  # K that divides evenly into parts of whole steps, and K that does not
MODEL = f"""
heddle.size @tokens max {LONG}
heddle.size @rows max 40
!x = tensor<?x96xf32, #heddle.dims<"tokens">>
!g = tensor<?x72xf32, #heddle.dims<"tokens">>
!long = tensor<?x{LONG}xf32, #heddle.dims<"rows">>
!y = tensor<?x72xf32, #heddle.dims<"rows">>
!low = tensor<?x8xf32, #heddle.dims<"rows">>
func.func @gradient(%x: !x {{heddle.name = "x"}}, %g: !g {{heddle.name = "g"}},
                    %before: tensor<96x72xf32> {{heddle.name = "before"}}) -> (tensor<96x72xf32> {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %g {{transpose_lhs}} : !x, !g -> tensor<96x72xf32>
  %z = arith.addf %y, %before : tensor<96x72xf32>
  return %z : tensor<96x72xf32>
}}
func.func @product(%x: !long {{heddle.name = "x"}}, %w: tensor<72x{LONG}xf32> {{heddle.name = "w"}})
    -> (!y {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %w {{transpose_rhs}} : !long, tensor<72x{LONG}xf32> -> !y
  return %y : !y
}}
func.func @adapted(%x: !long {{heddle.name = "x"}}, %w: tensor<72x{LONG}xf32> {{heddle.name = "w"}},
                   %low: !low {{heddle.name = "low"}}, %b: tensor<72x8xf32> {{heddle.name = "b"}}) -> (!y {{heddle.name = "y"}}) {{
  %base = heddle.matmul %x, %w {{transpose_rhs}} : !long, tensor<72x{LONG}xf32> -> !y
  %more = heddle.matmul %low, %b {{transpose_rhs}} : !low, tensor<72x8xf32> -> !y
  %y = arith.addf %base, %more : !y
  return %y : !y
}}
"""
MODEL += f'''
heddle.size @inputs max 300
!inputs = tensor<?x96xf32, #heddle.dims<"inputs">>
!outputs = tensor<?x256xf32, #heddle.dims<"inputs">>
func.func @projections(%x: !inputs {{heddle.name = "x"}}, {", ".join(f'%w{i}: tensor<96x256xf32> {{heddle.name = "w{i}"}}, %b{i}: tensor<256xf32> {{heddle.name = "b{i}"}}' for i in range(3))})
    -> ({", ".join(f'!outputs {{heddle.name = "y{i}"}}' for i in range(3))}) {{
'''
for i in range(3):
    MODEL += f'''  %product{i} = heddle.matmul %x, %w{i} : !inputs, tensor<96x256xf32> -> !outputs
  %bias{i} = heddle.broadcast %b{i} : tensor<256xf32> to !outputs
  %y{i} = arith.addf %product{i}, %bias{i} : !outputs
'''
MODEL += "  return %y0, %y1, %y2 : !outputs, !outputs, !outputs\n}\n"
# A matmul that makes the gradient of an attention's result, which has heads of 16 columns.
MODEL += '''
!heads = tensor<?x16xf32, #heddle.dims<"inputs">>
func.func @deltas(%x: !inputs {heddle.name = "x"}, %w: tensor<96x256xf32> {heddle.name = "w"}, %forward: !outputs {heddle.name = "forward"})
    -> (!outputs {heddle.name = "gradient"}, !heads {heddle.name = "delta"}) {
  %gradient = heddle.matmul %x, %w : !inputs, tensor<96x256xf32> -> !outputs
  %delta = heddle.attention_delta %forward, %gradient : !outputs -> !heads
  return %gradient, %delta : !outputs, !heads
}
'''
# As many gradients as two launches compute. Two have the same left side, and the first is an output itself.
RESULTS = [f"z{i}" for i in range(GRADIENTS)]
MODEL += f'''
heddle.size @many max {LONG}
!rows = tensor<?x256xf32, #heddle.dims<"many">>
!matrix = tensor<256x256xf32>
func.func @gradients({", ".join(f'%x{i}: !rows {{heddle.name = "x{i}"}}, %g{i}: !rows {{heddle.name = "g{i}"}}' for i in range(GRADIENTS))},
    %before: !matrix {{heddle.name = "before"}}) -> ({", ".join(f'!matrix {{heddle.name = "{name}"}}' for name in RESULTS)}) {{
'''
for i in range(GRADIENTS):
    left, made = f"%x{1 if i == 2 else i}", f"%{'z' if i == 0 else 'y'}{i}"
    MODEL += f"  {made} = heddle.matmul {left}, %g{i} {{transpose_lhs}} : !rows, !rows -> !matrix\n"
    if i > 0:
        MODEL += f"  %z{i} = arith.addf {made}, %before : !matrix\n"
MODEL += f"  return {', '.join('%' + name for name in RESULTS)} : {', '.join(['!matrix'] * GRADIENTS)}\n}}\n"
for columns in WIDE:  # in tiles that warpgroups can multiply
    MODEL += f"""
func.func @wide{columns}(%x: tensor<256x{columns}xf32> {{heddle.name = "x"}}, %w: tensor<{columns}x128xf32> {{heddle.name = "w"}})
    -> (tensor<256x128xf32> {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %w : tensor<256x{columns}xf32>, tensor<{columns}x128xf32> -> tensor<256x128xf32>
  return %y : tensor<256x128xf32>
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="cuda:sm_80")
    parser.add_argument("--precision", default="bf16")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(7)
    draw = lambda *shape: (random.integers(-8, 9, shape) / 8).astype(np.float32)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/split.mlir", "w") as file:
            file.write(MODEL)
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/split.mlir", "-o", f"{folder}/split.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}", "--ptxas=none"], check=True,
                       stdout=subprocess.DEVNULL)
        described = json.loads(subprocess.run([f"{tools}/heddle-inspect", f"{folder}/split.heddle", "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        names = [kernel["name"] for kernel in described["targets"][0]["kernels"]]
        split = [name for name in names if name.startswith("partial_matmul")]
        # Two equal kernels are stored once.
        if len(split) != 2 + len(WIDE) or "sum_parts_matmul_addf_Tx72" not in names:
            failed += 1
            print(f"FAIL not all products are split: {', '.join(names)}")
        if {"matmuls_256x256", "matmuls_addf_Tx256", "matmul_delta_Tx256"} - set(names):
            failed += 1
            print(f"FAIL gradients, projections or deltas do not share a launch: {', '.join(names)}")
        session = calls.Session(tools, f"{folder}/split.heddle", folder)

        def check(what, entry, inputs, expected):
            nonlocal failed
            (actual,) = session.call(entry, inputs, ["y"])
            bad = not np.array_equal(actual, expected.astype(np.float32))
            failed += bad
            print(f"{'FAIL' if bad else 'ok  '} {what}")

        double = lambda x: x.astype(np.float64)
        for tokens in (LONG, LONG - 1, 1500, 65, 1):  # with few tokens, some parts are empty
            x, g, before = draw(tokens, 96), draw(tokens, 72), draw(96, 72)
            check(f"gradient of {tokens} rows", "gradient", {"x": x, "g": g, "before": before},
                  double(x).T @ double(g) + before)
        for tokens in (LONG, 130, 1):
            inputs = {f"{name}{i}": draw(tokens, 256) for i in range(GRADIENTS) for name in "xg"} | {"before": draw(256, 256)}
            results = session.call("gradients", inputs, RESULTS)
            for i, actual in enumerate(results):
                expected = double(inputs[f"x{1 if i == 2 else i}"]).T @ double(inputs[f"g{i}"]) + (inputs["before"] if i > 0 else 0)
                bad = not np.array_equal(actual, expected.astype(np.float32))
                failed += bad
                print(f"{'FAIL' if bad else 'ok  '} gradient {i} of {GRADIENTS}, of {tokens} rows")
        for rows in (300, 17):
            inputs = {"x": draw(rows, 96)} | {f"w{i}": draw(96, 256) for i in range(3)} | {f"b{i}": draw(256) for i in range(3)}
            for i, actual in enumerate(session.call("projections", inputs, ["y0", "y1", "y2"])):
                bad = not np.array_equal(actual, (double(inputs["x"]) @ double(inputs[f"w{i}"]) + inputs[f"b{i}"]).astype(np.float32))
                failed += bad
                print(f"{'FAIL' if bad else 'ok  '} projection {i} of {rows} rows")
            inputs = {"x": draw(rows, 96), "w": draw(96, 256), "forward": draw(rows, 256)}
            gradient, delta = session.call("deltas", inputs, ["gradient", "delta"])
            expected = double(inputs["x"]) @ double(inputs["w"])
            sums = (double(inputs["forward"]) * expected).reshape(rows, 16, 16).sum(2)
            bad = not np.array_equal(gradient, expected.astype(np.float32)) or not np.array_equal(delta, sums.astype(np.float32))
            failed += bad
            print(f"{'FAIL' if bad else 'ok  '} deltas of {rows} rows")
        for rows in (40, 1):
            x, w = draw(rows, LONG), draw(72, LONG)
            check(f"{rows} rows of {LONG} columns", "product", {"x": x, "w": w}, double(x) @ double(w).T)
            low, b = draw(rows, 8), draw(72, 8)
            check(f"{rows} rows of {LONG} columns, and of 8", "adapted", {"x": x, "w": w, "low": low, "b": b},
                  double(x) @ double(w).T + double(low) @ double(b).T)
        for columns in WIDE:
            x, w = draw(256, columns), draw(columns, 128)
            check(f"256 rows of {columns} columns", f"wide{columns}", {"x": x, "w": w}, double(x) @ double(w))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
