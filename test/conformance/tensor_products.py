"""Products on tensor cores and on processors against numpy: operands as they are, the left or the right one transposed, of sizes that tiles
divide and that they do not, and of dynamic rows. Factors are small multiples of 1/8, so that every product and every sum is exact in
any precision.

    tensor_products.py --bin build/bin [--target=NAME] [--precision=NAME] [--instruction=TEXT]

With --instruction the kernels of products that are 64 deep or more must have it in their code."""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import calls

FORMS = {"nn": "", "nt": " {transpose_rhs}", "tn": " {transpose_lhs}"}
#        m,    n,   k
SIZES = [(64, 64, 64), (128, 256, 128), (520, 264, 192), (40, 128, 320), (257, 72, 200), (192, 512, 1024), (64, 40, 48), (256, 64, 16)]
ODD = [(33, 7, 5), (97, 172, 300), (25, 9, 267), (24, 1, 33)] # of processors
DYNAMIC = [(384, 256, 128), (300, 192, 64)]
COUNTS = (300, 33, 1)


def write_entry(name, form, m, n, k, dynamic):
    """Of a left operand that is transposed the contracted dimension is dynamic, of others the rows."""
    matrix = lambda rows, columns, free: (f'tensor<?x{columns}xf32, #heddle.dims<"rows{m}">>' if free else
                                          f"tensor<{rows}x{columns}xf32>")
    contracts = form == "tn"
    x = matrix(k, m, dynamic) if contracts else matrix(m, k, dynamic)
    w = matrix(n, k, False) if form == "nt" else matrix(k, n, dynamic and contracts)
    y = matrix(m, n, dynamic and not contracts)
    return f"""func.func @{name}(%x: {x} {{heddle.name = "x"}}, %w: {w} {{heddle.name = "w"}}) -> ({y} {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %w{FORMS[form]} : {x}, {w} -> {y}
  return %y : {y}
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--processors", default="2", help="few of them make large tiles")
    parser.add_argument("--instruction")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(5)
    draw = lambda *shape: (random.integers(-8, 9, shape) / 8).astype(np.float32)
    on_cuda, on_processor = (arguments.target.startswith(kind) for kind in ("cuda", "cpu"))
    cases = {f"{form}_{m}x{n}x{k}{'_free' * free}": (form, m, n, k, free)
             for free, sizes in ((False, SIZES + ODD * on_processor), (True, DYNAMIC)) for m, n, k in sizes for form in FORMS}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/products.mlir", "w") as file:
            for m, _, _ in DYNAMIC:
                file.write(f"heddle.size @rows{m} max {m}\n")
            file.writelines(write_entry(name, *case) for name, case in cases.items())
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/products.mlir", "-o", f"{folder}/products.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}",
                        *([f"--processors={arguments.processors}", "--ptxas=none"] if on_cuda else [])], check=True, stdout=subprocess.DEVNULL)
        if arguments.instruction:
            inspect = lambda *options: subprocess.run([f"{tools}/heddle-inspect", f"{folder}/products.heddle", *options],
                                                      check=True, capture_output=True, text=True).stdout
            kernels = [kernel["name"] for kernel in json.loads(inspect("--json"))["targets"][0]["kernels"]]
            have = sum(arguments.instruction in inspect("--kernel", kernel) for kernel in kernels if "matmul" in kernel)
            print(f"{have} kernels have {arguments.instruction}")
            # Rows of 16 bits that are no multiple of 16 bytes are not copied.
            deep = [name for name, (form, m, _, k, _) in cases.items() if k >= 64 and not (form == "tn" and m % 8)]
            failed += have < len(deep)
        session = calls.Session(tools, f"{folder}/products.heddle", folder)
        for name, (form, m, n, k, free) in cases.items():
            for count in COUNTS if free else (None,):
                rows, depth = (m, count) if free and form == "tn" else (count or m, k)
                x, w = draw(rows, depth), draw(depth, n)
                inputs = {"x": x.T if form == "tn" else x, "w": w.T if form == "nt" else w}
                (actual,) = session.call(name, {key: np.ascontiguousarray(value) for key, value in inputs.items()}, ["y"])
                expected = x.astype(np.float64) @ w.astype(np.float64)
                if not np.array_equal(actual, expected.astype(np.float32)):
                    failed += 1
                    wrong = np.argwhere(actual != expected)
                    print(f"FAIL {name}{f', {count} rows' if free else ''}: {len(wrong)} of {expected.size} elements, the first at "
                          f"{tuple(wrong[0])}, off by up to {np.abs(actual - expected).max():.3g}")
        session.close()
    print(f"{len(cases)} products, {failed} problems")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
