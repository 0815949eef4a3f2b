"""Compares the gradient of layer norms, with the sums over rows that its kernel makes on the way (heddle-join-sums), with
numpy: gradients of the gain and of the bias, and the sum of the input's gradient.

    norm_sums.py --bin build/bin [--target=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import calls

WIDTHS = (128, 512, 1024)
MOST = 2048
ROWS = (1, 6, 37, 1030)  # fewer than a workgroup has at once, fewer than there are workgroups, and several turns
BOUND = 2e-6


def write_entry(width):
    matrix, row, column = f'tensor<?x{width}xf32, #n>', f"tensor<{width}xf32>", "tensor<?xf32, #n>"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    ports = [port("g", matrix), port("x", matrix), port("gamma", row), port("mean", column), port("rstd", column)]
    results = [f'{kind} {{heddle.name = "{name}"}}' for name, kind in [("dx", matrix), ("dgamma", row), ("dbeta", row), ("dbias", row)]]
    return f"""func.func @norm_{width}({", ".join(ports)}) -> ({", ".join(results)}) {{
  %dx = heddle.layer_norm_grad %g, %x, %gamma, %mean, %rstd : {matrix}, {row}, {column}
  %means = heddle.broadcast %mean : {column} to {matrix}
  %rstds = heddle.broadcast %rstd : {column} to {matrix}
  %centred = arith.subf %x, %means : {matrix}
  %normal = arith.mulf %centred, %rstds : {matrix}
  %scaled = arith.mulf %g, %normal : {matrix}
  %dgamma = heddle.sum rows %scaled : {matrix} -> {row}
  %dbeta = heddle.sum rows %g : {matrix} -> {row}
  %dbias = heddle.sum rows %dx : {matrix} -> {row}
  return %dx, %dgamma, %dbeta, %dbias : {matrix}, {row}, {row}, {row}
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="cuda:sm_90a")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(7)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/norms.mlir", "w") as file:
            file.write(f'heddle.size @n max {MOST}\n#n = #heddle.dims<"n">\n')
            file.writelines(write_entry(width) for width in WIDTHS)
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/norms.mlir", "-o", f"{folder}/norms.heddle",
                        f"--target={arguments.target}", "--ptxas=none"], check=True, stdout=subprocess.DEVNULL)
        described = json.loads(subprocess.run([f"{tools}/heddle-inspect", f"{folder}/norms.heddle", "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        apart = [kernel["name"] for kernel in described["targets"][0]["kernels"] if "partial_sum" in kernel["name"]]
        if apart:
            failed += 1
            print(f"FAIL sums have kernels of their own: {', '.join(apart)}")
        session = calls.Session(tools, f"{folder}/norms.heddle", folder)
        for width in WIDTHS:
            for rows in ROWS:
                x, g, gamma = (random.normal(size=size).astype(np.float32) for size in ((rows, width), (rows, width), width))
                mean = x.mean(1, dtype=np.float64).astype(np.float32)
                rstd = (1 / np.sqrt(x.var(1, dtype=np.float64) + 1e-5)).astype(np.float32)
                inputs = {"g": g, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd}
                actual = session.call(f"norm_{width}", inputs, ["dx", "dgamma", "dbeta", "dbias"])
                g, x, gamma, mean, rstd = (value.astype(np.float64) for value in inputs.values())
                normal, scaled = (x - mean[:, None]) * rstd[:, None], g * gamma
                dx = rstd[:, None] * (scaled - scaled.mean(1, keepdims=True) - normal * (scaled * normal).mean(1, keepdims=True))
                # The sum of dx cancels, so its error is measured by the size of what is summed.
                expected = [(dx, dx), ((g * normal).sum(0), (g * normal).sum(0)), (g.sum(0), g.sum(0)), (dx.sum(0), np.sqrt((dx ** 2).sum(0)))]
                for name, value, (right, size) in zip(["dx", "dgamma", "dbeta", "dbias"], actual, expected):
                    error = np.linalg.norm(value - right) / np.linalg.norm(size)
                    if not error <= BOUND:
                        failed += 1
                        print(f"FAIL {name}, {rows} rows of {width}: {error:.1e}")
        session.close()
    print(f"{len(WIDTHS) * len(ROWS)} norms, {failed} problems")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
