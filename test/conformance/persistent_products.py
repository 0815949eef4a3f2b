"""Compares matmuls whose workgroups compute several tiles, with producers and consumers (heddle-specialize-warps), with
numpy: rows and depths that are known at run time, depths that steps do not divide, epilogues, and sums of products.
Operands are small multiples of 1/8, so that every product and every sum is exact. The emulated driver checks for races.

    persistent_products.py --bin build/bin [--short]"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import calls

# So many processors make the cost model choose tiles of 256 x 128, of which these results have two for each processor.
PROCESSORS, ROWS, COLUMNS, TOKENS = 84, 5376, 1000, 320
T = lambda columns, size: f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>'
ENTRIES = {
    # Steps that divide the depth, and that do not, and a single step.
    "deep": (320, "", ""),
    "shallow": (72, "", ""),
    "one": (64, "", ""),
    # The right operand is transposed, and the epilogue reads a row and a matrix.
    "epilogue": (200, " {transpose_rhs}", "epilogue"),
    # Two loops, one after the other.
    "sum": (136, "", "sum"),
    # Two matmuls that share a launch.
    "joined": (192, "", "joined"),
}
JOINED_COLUMNS = 1024  # no tile has columns of two matmuls


def write_model():
    text = [f"heddle.size @rows max {ROWS}\nheddle.size @tokens max {TOKENS}\n"]
    x_of, y = lambda k: T(k, "rows"), T(COLUMNS, "rows")
    for name, (k, form, more) in ENTRIES.items():
        x, w = x_of(k), f"tensor<{COLUMNS}x{k}xf32>" if "rhs" in form else f"tensor<{k}x{COLUMNS}xf32>"
        inputs = f'%x: {x} {{heddle.name = "x"}}, %w: {w} {{heddle.name = "w"}}'
        body = f"  %p = heddle.matmul %x, %w{form} : {x}, {w} -> {y}\n"
        result = "%p"
        if more == "epilogue":
            inputs += f', %b: tensor<{COLUMNS}xf32> {{heddle.name = "b"}}, %r: {y} {{heddle.name = "r"}}'
            body += f"  %wide = heddle.broadcast %b : tensor<{COLUMNS}xf32> to {y}\n  %q = arith.addf %p, %wide : {y}\n  %s = arith.addf %q, %r : {y}\n"
            result = "%s"
        if more == "sum":
            x2, w2 = x_of(192), f"tensor<192x{COLUMNS}xf32>"
            inputs += f', %u: {x2} {{heddle.name = "u"}}, %v: {w2} {{heddle.name = "v"}}'
            body += f"  %q = heddle.matmul %u, %v : {x2}, {w2} -> {y}\n  %s = arith.addf %p, %q : {y}\n"
            result = "%s"
        if more == "joined":
            wide, v = T(JOINED_COLUMNS, "rows"), f"tensor<{k}x{JOINED_COLUMNS}xf32>"
            text.append(f"""func.func @joined(%x: {x} {{heddle.name = "x"}}, %w: {v} {{heddle.name = "w"}}, %v: {v} {{heddle.name = "v"}})
    -> ({wide} {{heddle.name = "y"}}, {wide} {{heddle.name = "z"}}) {{
  %p = heddle.matmul %x, %w : {x}, {v} -> {wide}
  %q = heddle.matmul %x, %v : {x}, {v} -> {wide}
  return %p, %q : {wide}, {wide}
}}
""")
            continue
        text.append(f'func.func @{name}({inputs}) -> ({y} {{heddle.name = "y"}}) {{\n{body}  return {result} : {y}\n}}\n')
    # A weight's gradient contracts a number of rows that only the kernel knows.
    x, g, w = T(ROWS, "tokens"), T(COLUMNS, "tokens"), f"tensor<{ROWS}x{COLUMNS}xf32>"
    text.append(f"""func.func @gradient(%x: {x} {{heddle.name = "x"}}, %g: {g} {{heddle.name = "g"}}) -> ({w} {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %g {{transpose_lhs}} : {x}, {g} -> {w}
  return %y : {w}
}}
""")
    return "".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--short", action="store_true", help="a few seconds")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(5)
    draw = lambda *shape: (random.integers(-8, 9, shape) / 8).astype(np.float32)
    double = lambda x: x.astype(np.float64)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/products.mlir", "w") as file:
            file.write(write_model())
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/products.mlir", "-o", f"{folder}/products.heddle", "--target=cuda:sm_90a",
                        f"--precision={arguments.precision}", f"--processors={PROCESSORS}", "--ptxas=none"], check=True, stdout=subprocess.DEVNULL)
        inspect = lambda *options: subprocess.run([f"{tools}/heddle-inspect", f"{folder}/products.heddle", *options],
                                                  check=True, capture_output=True, text=True).stdout
        kernels = [kernel["name"] for kernel in json.loads(inspect("--json"))["targets"][0]["kernels"] if "matmul" in kernel["name"]]
        without = [kernel for kernel in kernels if "setmaxnreg" not in inspect("--kernel", kernel)]
        if len(kernels) != len(ENTRIES) + 1 or without:
            failed += 1
            print(f"FAIL of the kernels {', '.join(kernels)} these have no producers: {', '.join(without)}")
        def check(session, what, entry, inputs, expected, names=("y",)):
            nonlocal failed
            actual = np.hstack(session.call(entry, inputs, list(names)))
            wrong = np.argwhere(actual != expected.astype(np.float32))
            failed += len(wrong) > 0
            print(f"{'FAIL' if len(wrong) else 'ok  '} {what}" + (f": {len(wrong)} elements, the first at {tuple(wrong[0])}" if len(wrong) else ""))

        def check_rows(session, name, rows):
            k, form, more = ENTRIES[name]
            x = draw(rows, k)
            if more == "joined":
                w, v = draw(k, JOINED_COLUMNS), draw(k, JOINED_COLUMNS)
                return check(session, f"{name}, {rows} rows", name, {"x": x, "w": w, "v": v}, double(x) @ double(np.hstack([w, v])), ("y", "z"))
            w = draw(k, COLUMNS)
            inputs, expected = {"x": x, "w": np.ascontiguousarray(w.T) if "rhs" in form else w}, double(x) @ double(w)
            if more == "epilogue":
                inputs |= {"b": draw(COLUMNS), "r": draw(rows, COLUMNS)}
                expected = expected + inputs["b"] + inputs["r"]
            if more == "sum":
                inputs |= {"u": draw(rows, 192), "v": draw(192, COLUMNS)}
                expected = expected + double(inputs["u"]) @ double(inputs["v"])
            check(session, f"{name}, {rows} rows", name, inputs, expected)

        def check_gradient(session, tokens):
            x, g = draw(tokens, ROWS), draw(tokens, COLUMNS)
            check(session, f"gradient of {tokens} rows", "gradient", {"x": x, "g": g}, double(x).T @ double(g))

        session = calls.Session(tools, f"{folder}/products.heddle", folder)
        check_rows(session, "deep", 1)
        check_gradient(session, 130)  # three steps, in two tiles of the result
        if not arguments.short:
            for name in ENTRIES:
                check_rows(session, name, 5001)
            for tokens in (TOKENS, 65, 1):
                check_gradient(session, tokens)
        session.close()
        # The check for races takes four times as long.
        os.environ["HEDDLE_EMULATOR_RACECHECK"] = "1"
        session = calls.Session(tools, f"{folder}/products.heddle", folder)
        for name in ("epilogue", "sum", "joined") if arguments.short else ENTRIES:
            check_rows(session, name, 300)
        if not arguments.short:
            check_gradient(session, 130)
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
