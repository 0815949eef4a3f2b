"""Compares residual sums whose matmul repeats a layer norm (repeatNorms, in HoistForFusion.h) with sums that read the norm's result from memory,
and with numpy. The norm's kernel may use the mean before it is rounded, so a few last bits differ.

    repeated_norms.py --bin build/bin [--target=NAME] [--precision=NAME]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

WIDTHS = (64, 168, 1024)
ROWS = (1, 37, 300)
CLOSE = 1e-6
BOUND = {"bf16": 4e-3, "f16": 5e-4}  # of rounded operands


def write_entry(name, width, kept):
    """Returns an entry that computes z = y + f(y). If the norm's result `y` is `kept`, it is an output, too."""
    matrix, row, weight = f'tensor<?x{width}xf32, #n>', f"tensor<{width}xf32>", f"tensor<{width}x{width}xf32>"
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    ports = [port("x", matrix), port("gamma", row), port("beta", row), port("w", weight), port("bias", row)]
    outputs = ["z", "y"] if kept else ["z"]
    results = [f'{matrix} {{heddle.name = "{output}"}}' for output in outputs]
    return f"""func.func @{name}_{width}({", ".join(ports)}) -> ({", ".join(results)}) {{
  %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {{epsilon = 1.0e-5 : f32}} : {matrix}, {row}, {row} -> tensor<?xf32, #n>
  %product = heddle.matmul %y, %w : {matrix}, {weight} -> {matrix}
  %biases = heddle.broadcast %bias : {row} to {matrix}
  %f = arith.addf %product, %biases : {matrix}
  %z = arith.addf %y, %f : {matrix}
  return {", ".join("%" + output for output in outputs)} : {", ".join([matrix] * len(outputs))}
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", default="f16")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(13)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/norms.mlir", "w") as file:
            file.write(f'heddle.size @n max {max(ROWS)}\n#n = #heddle.dims<"n">\n')
            for width in WIDTHS:
                file.writelines([write_entry("repeated", width, False), write_entry("kept", width, True)])
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/norms.mlir", "-o", f"{folder}/norms.heddle", f"--target={arguments.target}",
                        f"--precision={arguments.precision}", *(["--ptxas=none"] if arguments.target.startswith("cuda") else [])],
                       check=True, stdout=subprocess.DEVNULL)
        session = calls.Session(tools, f"{folder}/norms.heddle", folder)
        for width in WIDTHS:
            for rows in ROWS:
                draw = lambda *shape: random.normal(size=shape).astype(np.float32)
                inputs = {"x": draw(rows, width), "gamma": draw(width), "beta": draw(width), "w": draw(width, width), "bias": draw(width)}
                (repeated,) = session.call(f"repeated_{width}", inputs, ["z"])
                kept, y = session.call(f"kept_{width}", inputs, ["z", "y"])
                x, gamma, beta, w, bias = (value.astype(np.float64) for value in inputs.values())
                normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
                expected = normal * gamma + beta
                for what, value, right, bound in [("y", y, expected, CLOSE), ("z", repeated, kept, CLOSE),
                                                  ("z", kept, expected + expected @ w + bias, BOUND[arguments.precision])]:
                    error = np.linalg.norm(value - right) / np.linalg.norm(right)
                    if not error <= bound:
                        failed += 1
                        print(f"FAIL {what}, {rows} rows of {width}: {error:.1e}")
        session.close()
    print(f"{len(WIDTHS) * len(ROWS)} sums, {failed} problems")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
