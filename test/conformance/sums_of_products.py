"""Compares sums of matmuls in one kernel (an adapter added to its base) with numpy: f32 and 16-bit operands, on lanes
and on tensor cores, with packed 8-bit and 4-bit weights, in either order, with many rows and with few. Operands are
small multiples of 1/8 and scales are powers of two, so that every product and every sum is exact in any precision.

    sums_of_products.py --bin build/bin [--target=NAME] [--precision=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import calls

DEPTH, COLUMNS, GROUP = 160, 168, 32
ROWS = {"many": (300, 65, 1), "few": (3, 1)}
RANKS = (4, 8, 40)
# The base: how its right operand is stored, with how many bits, and the shape of its scales.
BASES = {
    "plain": (False, None, None),
    "plain_transposed": (True, None, None),
    "int8": (False, 8, (1, COLUMNS)),
    "int4": (False, 4, (DEPTH // GROUP, COLUMNS)),
    "int8_transposed": (True, 8, (COLUMNS, 1)),
}


def write_entry(name, size, base, rank):
    transposed, bits, scales = BASES[base]
    matrix = lambda columns: f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>'
    shape = lambda depth: f"tensor<{COLUMNS}x{depth}xf32>" if transposed else f"tensor<{depth}x{COLUMNS}xf32>"
    flag = " {transpose_rhs}" if transposed else ""
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    ports, unpacked = [port("w", shape(DEPTH))], ""
    if bits:
        rows, columns = (COLUMNS, DEPTH) if transposed else (DEPTH, COLUMNS)
        words, scale = f"tensor<{rows * bits // 32}x{columns}xi32>", f"tensor<{scales[0]}x{scales[1]}xf32>"
        ports = [port("words", words), port("scales", scale)]
        unpacked = f"%w = heddle.dequantize %words scales(%scales) {{bits = {bits}}} : ({words}, {scale}) -> {shape(DEPTH)}\n  "
    y = matrix(COLUMNS)
    return f"""func.func @{name}({port("x", matrix(DEPTH))}, {port("low", matrix(rank))}, {port("b", shape(rank))}, {", ".join(ports)})
    -> ({y} {{heddle.name = "y"}}) {{
  {unpacked}%more = heddle.matmul %low, %b{flag} : {matrix(rank)}, {shape(rank)} -> {y}
  %base = heddle.matmul %x, %w{flag} : {matrix(DEPTH)}, {shape(DEPTH)} -> {y}
  %sum = arith.addf %base, %more : {y}
  %y = arith.negf %sum : {y}
  return %y : {y}
}}
"""


def pack(numbers, bits):
    """Packs consecutive rows into words, the first in the lowest bits."""
    parts = numbers.astype(np.int64).reshape(-1, 32 // bits, numbers.shape[1]) & (1 << bits) - 1
    shifts = (np.arange(32 // bits) * bits)[None, :, None]
    return (parts << shifts).sum(1).astype(np.uint32).view(np.int32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", default="f32")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(11)
    draw = lambda *shape: (random.integers(-8, 9, shape) / 8).astype(np.float32)
    cases = {f"{base}_{size}_{rank}": (size, base, rank) for base in BASES for size in ROWS for rank in RANKS}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/sums.mlir", "w") as file:
            for size, counts in ROWS.items():
                file.write(f"heddle.size @{size} max {max(counts)}\n")
            file.writelines(write_entry(name, *case) for name, case in cases.items())
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/sums.mlir", "-o", f"{folder}/sums.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}",
                        *(["--ptxas=none"] if arguments.target.startswith("cuda") else [])], check=True, stdout=subprocess.DEVNULL)
        described = json.loads(subprocess.run([f"{tools}/heddle-inspect", f"{folder}/sums.heddle", "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        names = [kernel["name"] for kernel in described["targets"][0]["kernels"]]
        apart = [name for name in names if name.startswith("matmul_") and not name.startswith("matmul_matmul_")]
        if apart:
            failed += 1
            print(f"FAIL products have kernels of their own: {', '.join(apart)}")
        session = calls.Session(tools, f"{folder}/sums.heddle", folder)
        for name, (size, base, rank) in cases.items():
            transposed, bits, scales = BASES[base]
            lay = lambda x: np.ascontiguousarray(x.T) if transposed else x
            for rows in ROWS[size]:
                inputs = {"x": draw(rows, DEPTH), "low": draw(rows, rank), "b": lay(draw(rank, COLUMNS))}
                if bits:
                    numbers = lay(random.integers(-7, 8, (DEPTH, COLUMNS)))
                    inputs["words"] = pack(numbers, bits)
                    inputs["scales"] = np.exp2(random.integers(-5, -2, scales)).astype(np.float32)
                    w = numbers * inputs["scales"].repeat(numbers.shape[0] // scales[0], 0).repeat(numbers.shape[1] // scales[1], 1)
                else:
                    w = inputs["w"] = lay(draw(DEPTH, COLUMNS))
                (actual,) = session.call(name, inputs, ["y"])
                double = lambda x: x.astype(np.float64)
                expected = -(double(inputs["x"]) @ double(lay(w)) + double(inputs["low"]) @ double(lay(inputs["b"])))
                bad = not np.array_equal(actual, expected.astype(np.float32))
                failed += bad
                if bad:
                    print(f"FAIL {name}, {rows} rows: {np.abs(actual - expected).max():.1e}")
        session.close()
    print(f"{len(cases)} sums, {failed} problems")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
