"""Compares sums over rows that attention's gradients and the epilogues of matmuls make on the way (heddle-join-sums) with
sums of the rows: those of a matmul are small whole numbers, so that they are exact. Calls have fewer sequences, rows and
tiles than the artifact was compiled for, and none. A second call gives the same bits.

    row_sums.py --bin build/bin [--precision=NAME] [--short]"""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import attention_text
import calls

# With so many processors these matmuls have two tiles of 256 x 128 for each.
PROCESSORS, ROWS, DEPTH, COLUMNS = 84, 5376, 72, 1024
ROWS_OF_CALLS = (5376, 5001, 300, 33, 7, 1, 0)
HEADS = [(64, 2, 2), (128, 1, 1), (16, 3, 3), (64, 4, 2)]  # the gradient of grouped queries has rows of several heads
MASKS = ("full", "causal")
# Sequences of up to 60 rows have one workgroup for each head, and those of up to 190 have several.
SEQUENCES, LONGEST = 6, (60, 190)
LENGTHS = [[(1, 1)], [(7, 7), (33, 33)], [(33, 7), (5, 0), (1, 33), (0, 3)], [(60, 1), (1, 60)], [(0, 0)], [(150, 140), (190, 70), (70, 190)]]
BOUND = 2e-6


def write_product():
    x, y, w = f'tensor<?x{DEPTH}xf32, #rows>', f'tensor<?x{COLUMNS}xf32, #rows>', f"tensor<{DEPTH}x{COLUMNS}xf32>"
    return f"""heddle.size @rows max {ROWS}
#rows = #heddle.dims<"rows">
func.func @product(%x: {x} {{heddle.name = "x"}}, %w: {w} {{heddle.name = "w"}}, %h: {y} {{heddle.name = "h"}})
    -> ({y} {{heddle.name = "y"}}, tensor<{COLUMNS}xf32> {{heddle.name = "b"}}) {{
  %p = heddle.matmul %x, %w : {x}, {w} -> {y}
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %zeros = heddle.broadcast %zero : tensor<1xf32> to {y}
  %isPositive = arith.cmpf ogt, %h, %zeros : {y}
  %y = arith.select %isPositive, %p, %zeros : tensor<?x{COLUMNS}xi1, #rows>, {y}
  %b = heddle.sum rows %y : {y} -> tensor<{COLUMNS}xf32>
  return %y, %b : {y}, tensor<{COLUMNS}xf32>
}}
"""


def write_attention(longest):
    rows = longest * SEQUENCES
    text = [attention_text.write_sizes(rows, SEQUENCES, longest)]
    for mask in MASKS:
        for width, heads, key_heads in HEADS:
            entry = attention_text.write_entry(f"{mask}_{width}x{heads}x{key_heads}", attention_text.MASKS[mask], width, heads, key_heads, rows, longest)
            head, body = entry.rsplit("  return ", 1)
            types = body.split(" : ", 1)[1].split("\n")[0].split(", t")
            matrices = [types[0]] + ["t" + each for each in types[1:]]
            sums, names = [], []
            for value, number in (("dq", 1), ("dk", 2), ("dv", 3)):
                matrix, row = matrices[number], f"tensor<{width * (heads if value == 'dq' else key_heads)}xf32>"
                head += f"  %sum_{value} = heddle.sum rows %{value} : {matrix} -> {row}\n"
                sums.append(row)
                names.append(f'{row} {{heddle.name = "sum_{value}"}}')
            head = head.replace(') {\n  %y, %lse', f', {", ".join(names)}) {{\n  %y, %lse', 1)
            text.append(f"{head}  return %y, %dq, %dk, %dv, %sum_dq, %sum_dk, %sum_dv : {', '.join(matrices + sums)}\n}}\n")
    return "".join(text)


class Check:
    def __init__(self):
        self.failed = 0

    def __call__(self, isGood, what):
        self.failed += not isGood
        print(f"{'ok  ' if isGood else 'FAIL'} {what}")


def compile_model(arguments, folder, name, text):
    """Returns the artifact, and its kernels' names."""
    with open(f"{folder}/{name}.mlir", "w") as file:
        file.write(text)
    artifact = f"{folder}/{name}.heddle"
    subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/{name}.mlir", "-o", artifact, "--target=cuda:sm_90a",
                    f"--precision={arguments.precision}", f"--processors={PROCESSORS}", "--ptxas=none"], check=True, stdout=subprocess.DEVNULL)
    described = json.loads(subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, "--json"], check=True, capture_output=True, text=True).stdout)
    return artifact, [kernel["name"] for kernel in described["targets"][0]["kernels"]]


def check_products(arguments, folder, random, check):
    artifact, kernels = compile_model(arguments, folder, "product", write_product())
    check(any(name.startswith("matmul") and "_sums" in name for name in kernels), f"a matmul makes sums: {', '.join(kernels)}")
    with calls.Session(arguments.bin, artifact, folder) as session:
        for rows in ROWS_OF_CALLS[2::2] if arguments.short else ROWS_OF_CALLS:
            x, w, h = (random.integers(-1, 2, shape).astype(np.float32) for shape in ((rows, DEPTH), (DEPTH, COLUMNS), (rows, COLUMNS)))
            inputs = {"x": x, "w": w, "h": h}
            y, b = session.call("product", inputs, ["y", "b"])
            expected = np.where(h > 0, x @ w, 0)
            check(np.array_equal(y, expected) and np.array_equal(b, expected.sum(0)), f"{rows} rows of a matmul")


def check_attention(arguments, folder, random, check, longest):
    artifact, kernels = compile_model(arguments, folder, f"attention_{longest}", write_attention(longest))
    apart = [name for name in kernels if name.startswith("partial_sum")]
    joined = [name for name in kernels if "grad" in name and "_sums" in name]
    check(len(joined) > len(HEADS) and len(apart) <= 1, f"attention's gradients make sums: {', '.join(joined)}; apart: {', '.join(apart)}")
    names = ["grad_query", "grad_key", "grad_value", "sum_dq", "sum_dk", "sum_dv"]
    with calls.Session(arguments.bin, artifact, folder) as session:
        for lengths in LENGTHS[2:3] + LENGTHS[4:] if arguments.short else LENGTHS:
            if np.max(lengths) > longest:
                continue
            lengths = np.array(lengths, np.int32)
            starts = (np.cumsum(lengths, 0) - lengths).astype(np.int32)
            inputs = {f"{side}_{what}": array[:, column].copy() for column, side in enumerate(("query", "key"))
                      for what, array in (("starts", starts), ("lengths", lengths))}
            for mask in MASKS:
                for width, heads, key_heads in HEADS[:1] if arguments.short else HEADS:
                    for name, column, count in (("query", 0, heads), ("gradient", 0, heads), ("key", 1, key_heads), ("value", 1, key_heads)):
                        inputs[name] = random.standard_normal((lengths[:, column].sum(), width * count)).astype(np.float32)
                    entry = f"{mask}_{width}x{heads}x{key_heads}"
                    found = session.call(entry, inputs, names)
                    again = session.call(entry, inputs, names)
                    errors = []
                    for rows, total in zip(found[:3], found[3:]):
                        rows = rows.astype(np.float64)
                        errors.append(np.abs(total - rows.sum(0)).max() / max(np.abs(rows).sum(0).max(), 1e-30))
                    same = all(np.array_equal(a, b) for a, b in zip(found, again))
                    check(max(errors) <= BOUND and same, f"{entry}, {lengths.tolist()}: " + " ".join(f"{error:.1e}" for error in errors) + ("" if same else ", other bits"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--short", action="store_true", help="a few seconds")
    arguments = parser.parse_args()
    random, check = np.random.default_rng(11), Check()
    with tempfile.TemporaryDirectory() as folder:
        check_products(arguments, folder, random, check)
        for longest in LONGEST[1:] if arguments.short else LONGEST:
            check_attention(arguments, folder, random, check, longest)
    sys.exit(check.failed != 0)


if __name__ == "__main__":
    main()
