"""Compares `heddle.subsample` and `heddle.upsample` with numpy: batches of images of several sizes, widths that no tile
divides, all first pixels of a stride; and calls with mismatched images, which must not read other memory.

    strides.py --bin build/bin [--target=NAME] [--lanes=N]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls
from compiled import Report

CASES = [(1, 2, 2, 2, 5), (3, 4, 6, 2, 1), (2, 9, 3, 3, 7), (2, 12, 20, 4, 33), (1, 6, 6, 6, 64), (5, 8, 8, 2, 13)]  # images, height, width, stride, columns


def entries_of(case):
    count, height, width, stride, columns = case
    entries = ""
    for row in range(stride):
        for column in range(stride):
            name = "_".join(map(str, (*case, row, column)))
            large, small = (f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>' for size in ("pixels", "fewer"))
            how = f"width {width} stride {stride} at ({row}, {column})"
            for op, given, made in ("subsample", large, small), ("upsample", small, large):
                # Kernels compute the input and use the result, so that neither is a mere copy.
                entries += f"""func.func @{op}_{name}(%x: {given} {{heddle.name = "x"}}, %z: {made} {{heddle.name = "z"}}) -> ({made} {{heddle.name = "y"}}) {{
  %0 = arith.mulf %x, %x : {given}
  %1 = heddle.{op} %0 {how} : {given} -> {made}
  %y = arith.addf %1, %z : {made}
  return %y : {made}
}}
"""
    return entries


def check_hostile(session, case, report):
    """Calls with more pixels of one size than the other has: missing rows are replaced by existing ones."""
    *_, stride, columns = case
    for op in ("subsample", "upsample"):
        for given, made in ((1, 200), (3, 1)):
            x, z = np.full((given, columns), 3, np.float32), np.zeros((made, columns), np.float32)
            (y,) = session.call(f"{op}_{'_'.join(map(str, (*case, 0, 0)))}", {"x": x, "z": z}, ["y"])
            report.check(f"{op} of {given} rows to {made}, stride {stride}: numbers of other memory", int((~np.isin(y, (0, 9))).sum()), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int)
    arguments = parser.parse_args()
    report, random = Report(), np.random.default_rng(7)
    flags = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/strides.mlir", "w") as file:
            file.write("heddle.size @pixels max 512\nheddle.size @fewer max 512\n" + "".join(map(entries_of, CASES)))
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/strides.mlir", f"--target={arguments.target}", *flags, "-o",
                        f"{folder}/strides.heddle"], check=True, stdout=subprocess.DEVNULL)
        with calls.Session(arguments.bin, f"{folder}/strides.heddle", folder) as session:
            for case in CASES:
                count, height, width, stride, columns = case
                numbers = lambda *shape: random.standard_normal(shape).astype(np.float32)
                large, small = numbers(count, height, width, columns), numbers(count, height // stride, width // stride, columns)
                for row in range(stride):
                    for column in range(stride):
                        name = "_".join(map(str, (*case, row, column)))
                        taken = np.s_[:, row::stride, column::stride]
                        spread = np.zeros_like(large)
                        spread[taken] = small * small
                        flat = lambda images: images.reshape(-1, columns)
                        for op, given, other, expected in (("subsample", large, small, (large * large)[taken] + small),
                                                           ("upsample", small, large, spread + large)):
                            (y,) = session.call(f"{op}_{name}", {"x": flat(given), "z": flat(other)}, ["y"])
                            report.check(f"{op} {name}", np.abs(y - flat(expected)).max(), 1e-6)
                check_hostile(session, case, report)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
