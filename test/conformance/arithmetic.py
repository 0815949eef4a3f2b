"""Compares kernels' arithmetic with numpy in float64, on all pairs of special numbers, for ops that SPIR-V leaves
partly undefined or computes in another type than the model's.

    arithmetic.py --bin build/bin [--target=NAME] [--lanes=N] [--cases NAME...]"""

import argparse
import math
import subprocess
import sys
import tempfile

import numpy as np
import torch

import calls

NUMBERS = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1.5, -2.5, 3, -3, 7, -7, 0.3, 1e-3, 1e10, np.inf, -np.inf, np.nan]
BOUND = 5e-5  # for logarithms, exponentials and arctangents of software drivers


def rounded(dtype, compute):
    """Returns a function that computes a chain of ops, each rounded to this type."""
    return lambda x, y: compute(torch.tensor(x).to(dtype), torch.tensor(y).to(dtype)).float().numpy()


def inexact(x, y):
    """Returns where a remainder is not exact, because f32 cannot represent the quotient's integer part."""
    with np.errstate(all="ignore"):
        return np.isfinite(x / y) & (abs(x / y) >= 2**22)


# The ops on %x and %y of TYPE with the result %z; the expected value; and where it is not compared.
CASES = {
    "pow": ("%z = math.powf %x, %y : TYPE", np.power, None),
    "fmod": ("%z = arith.remf %x, %y : TYPE", np.fmod, inexact),
    "atan2": ("%z = math.atan2 %x, %y : TYPE", np.arctan2, None),
    "trunc": ("%z = math.trunc %x : TYPE", lambda x, y: np.trunc(x), None),
    "cbrt": ("%z = math.cbrt %x : TYPE", lambda x, y: np.cbrt(x), None),
    "f16": ("%a = arith.truncf %x : TYPE to HALF\n  %z = arith.extf %a : HALF to TYPE", rounded(torch.float16, lambda x, y: x), None),
    "bf16": ("%a = arith.truncf %x : TYPE to BRAIN\n  %b = arith.truncf %y : TYPE to BRAIN\n"
             "  %c = arith.mulf %a, %b : BRAIN\n  %d = arith.mulf %c, %b : BRAIN\n  %z = arith.extf %d : BRAIN to TYPE",
             rounded(torch.bfloat16, lambda x, y: x * y * y), None),
}
for name, function in {"log2": np.log2, "log10": np.log10, "log1p": np.log1p, "expm1": np.expm1, "tan": np.tan, "asin": np.arcsin,
                       "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
                       "acosh": np.arccosh, "atanh": np.arctanh, "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc)}.items():
    CASES[name] = (f"%z = math.{name} %x : TYPE", lambda x, y, function=function: function(x), lambda x, y: abs(x) > 100)


WHOLE = [0, 1, -1, 2, -2, 3, -3, 5, -7, 16, 1000, -1001, 2**24 + 1, -(2**30), 2**31 - 1, 1 - 2**31, -(2**31)]


def toward_zero(x, y):
    return np.sign(x) * np.sign(y) * (abs(x) // abs(y))


def unsigned(compute):
    return lambda x, y: compute(x % 2**32, y % 2**32)


# The ops on integers, and the expected values, in int64.
for name, function in {"divsi": toward_zero, "remsi": lambda x, y: x - y * toward_zero(x, y), "floordivsi": lambda x, y: x // y,
                       "ceildivsi": lambda x, y: -(-x // y), "divui": unsigned(lambda x, y: x // y), "remui": unsigned(lambda x, y: x % y),
                       "ceildivui": unsigned(lambda x, y: -(-x // y)), "maxsi": np.maximum, "minui": unsigned(np.minimum),
                       "muli": lambda x, y: x * (y % 2**16)}.items():
    CASES[name] = (f"%z = arith.{name} %x, %y : WHOLE" if name != "muli" else
                   "%c = heddle.fill 65535 : i32 : WHOLE\n  %d = arith.andi %y, %c : WHOLE\n  %z = arith.muli %x, %d : WHOLE", function, None)
WHOLE_CASES = {"divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui", "maxsi", "minui", "muli"}
# Vulkan drivers may compute these with errors of 1/4096, and return any value for NaN.
DRIVERS = {"asin", "acos", "atan"}


def pairs_of(numbers, dtype):
    return [grid.ravel() for grid in np.meshgrid(dtype(numbers), dtype(numbers), indexing="ij")]


def whole_pairs():
    """Returns pairs of integers without division by 0, and without -2^31 / -1."""
    x, y = pairs_of(WHOLE, np.int64)
    defined = (y != 0) & ~((x == -(2**31)) & (y == -1))
    return x[defined], y[defined]


def check_whole(session, name):
    x, y = whole_pairs()
    (result,) = session.call(name, {"x": x.astype(np.int32)[:, None], "y": y.astype(np.int32)[:, None]}, ["z"])
    wanted = (CASES[name][1](x, y) % 2**32).astype(np.uint32).view(np.int32)
    wrong = np.flatnonzero(result[:, 0] != wanted)
    for i in wrong[:5]:
        print(f"FAIL {name}({x[i]}, {y[i]}) = {result[i, 0]}, not {wanted[i]}")
    return wrong


def write_module(cases):
    text = f"heddle.size @n max {len(NUMBERS)**2}\n"
    for name in cases:
        ops = CASES[name][0]
        for old, new in ("TYPE", "f32"), ("HALF", "f16"), ("BRAIN", "bf16"), ("WHOLE", "i32"):
            ops = ops.replace(old, f'tensor<?x1x{new}, #heddle.dims<"n">>')
        port = f'tensor<?x1x{"i32" if name in WHOLE_CASES else "f32"}, #heddle.dims<"n">>'
        text += f"""func.func @{name}(%x: {port} {{heddle.name = "x"}}, %y: {port} {{heddle.name = "y"}}) -> ({port} {{heddle.name = "z"}}) {{
  {ops}
  return %z : {port}
}}
"""
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int)
    parser.add_argument("--cases", nargs="+", choices=CASES)
    arguments = parser.parse_args()
    if not arguments.cases:
        arguments.cases = [name for name in CASES if name not in DRIVERS or not arguments.target.startswith("vulkan:")]
    first, second = pairs_of(NUMBERS, np.float32)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/arithmetic.mlir", "w") as file:
            file.write(write_module(arguments.cases))
        # Without fusion, 16-bit values are also stored in memory between ops.
        for flags in [], ["--fuse-kernels=false"]:
            lanes = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
            subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/arithmetic.mlir", "-o", f"{folder}/a.heddle",
                            f"--target={arguments.target}", *lanes, *flags], check=True, stdout=subprocess.DEVNULL)
            with calls.Session(arguments.bin, f"{folder}/a.heddle", folder) as session:
                for name in arguments.cases:
                    if name in WHOLE_CASES:
                        wrong = check_whole(session, name)
                        print(f"{'FAIL' if len(wrong) else 'ok  '} {name:6} {' '.join(flags)}")
                        failed |= len(wrong) > 0
                        continue
                    _, compute, ignored = CASES[name]
                    inputs = {"x": first[:, None], "y": second[:, None]}
                    (result,) = session.call(name, inputs, ["z"])
                    wide = not name.endswith("16")
                    with np.errstate(all="ignore"):
                        wanted = np.float32(compute(np.float64(first), np.float64(second)) if wide else compute(first, second))
                        error = abs(result[:, 0] - wanted) / np.maximum(abs(wanted), 1e-30)
                    bound = BOUND if wide else 0
                    right = (result[:, 0] == wanted) | (np.isnan(result[:, 0]) & np.isnan(wanted)) | (error <= bound)
                    if ignored:
                        right |= ignored(first, second)
                    wrong = np.flatnonzero(~right)
                    for i in wrong[:5]:
                        print(f"FAIL {name}({first[i]}, {second[i]}) = {result[i, 0]}, not {wanted[i]}")
                    print(f"{'FAIL' if len(wrong) else 'ok  '} {name:6} {' '.join(flags)}")
                    failed |= len(wrong) > 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
