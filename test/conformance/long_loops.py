"""Tests reductions longer than 65,535, at which Mesa 22.3's lavapipe silently ends loops: a matmul over 70,000 columns,
one over up to 70,000 rows known only at run time, and sums and a cross entropy of that length. All are compared with
numpy."""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

LONG = 70000
MODEL = f"""
heddle.size @tokens max {LONG}
heddle.size @rows max 8
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @product(%a: tensor<3x{LONG}xf32> {{heddle.name = "a"}}, %b: tensor<{LONG}x8xf32> {{heddle.name = "b"}})
    -> (tensor<3x8xf32> {{heddle.name = "y"}}) {{
  %y = heddle.matmul %a, %b : tensor<3x{LONG}xf32>, tensor<{LONG}x8xf32> -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}}
func.func @transposed_product(%a: tensor<3x{LONG}xf32> {{heddle.name = "a"}}, %b: tensor<8x{LONG}xf32> {{heddle.name = "b"}})
    -> (tensor<3x8xf32> {{heddle.name = "y"}}) {{
  %y = heddle.matmul %a, %b {{transpose_rhs}} : tensor<3x{LONG}xf32>, tensor<8x{LONG}xf32> -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}}
func.func @token_product(%a: !tokens {{heddle.name = "a"}}, %b: !tokens {{heddle.name = "b"}})
    -> (tensor<8x8xf32> {{heddle.name = "y"}}) {{
  %y = heddle.matmul %a, %b {{transpose_lhs}} : !tokens, !tokens -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}}
func.func @token_sum(%a: !tokens {{heddle.name = "a"}}) -> (tensor<8xf32> {{heddle.name = "y"}}) {{
  %y = heddle.sum rows %a : !tokens -> tensor<8xf32>
  return %y : tensor<8xf32>
}}
func.func @vocabulary(%x: tensor<?x{LONG}xf32, #heddle.dims<"rows">> {{heddle.name = "x"}},
                      %t: tensor<?xi32, #heddle.dims<"rows">> {{heddle.name = "t", heddle.limit = {LONG} : i64}})
    -> (tensor<?xf32, #heddle.dims<"rows">> {{heddle.name = "loss"}}) {{
  %loss, %lse = heddle.cross_entropy %x, %t {{smoothing = 0.1 : f32}}
    : tensor<?x{LONG}xf32, #heddle.dims<"rows">>, tensor<?xi32, #heddle.dims<"rows">>
    -> tensor<?xf32, #heddle.dims<"rows">>
  return %loss : tensor<?xf32, #heddle.dims<"rows">>
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    tools = parser.parse_args().bin
    random = np.random.default_rng(3)
    # Positive numbers, so that a loop cut short always shows; with few bits, so that packed inputs are small
    # (bench/gpu-pack.sh).
    draw = lambda *shape: (random.integers(1, 17, shape) / 16).astype(np.float32)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/long.mlir", "w") as file:
            file.write(MODEL)
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/long.mlir", "-o", f"{folder}/long.heddle"], check=True,
                       stdout=subprocess.DEVNULL)

        session = calls.Session(tools, f"{folder}/long.heddle", folder)

        def check(entry, inputs, output, expected):
            nonlocal failed
            (actual,) = session.call(entry, inputs, [output])
            error = np.linalg.norm(actual.astype(np.float64) - expected) / np.linalg.norm(expected)
            bad = not error <= 1e-4
            failed += bad
            print(f"{'FAIL' if bad else 'ok  '} {entry:<20} relative error {error:.2e}")

        double = lambda x: x.astype(np.float64)
        a, b = draw(3, LONG), draw(LONG, 8)
        check("product", {"a": a, "b": b}, "y", double(a) @ double(b))
        b = draw(8, LONG)
        check("transposed_product", {"a": a, "b": b}, "y", double(a) @ double(b).T)
        for tokens in (LONG, 65537, 33):
            a, b = draw(tokens, 8), draw(tokens, 8)
            check("token_product", {"a": a, "b": b}, "y", double(a).T @ double(b))
            check("token_sum", {"a": a}, "y", double(a).sum(0))
        x, targets = draw(5, LONG), np.array([0, 1, 65535, 65536, LONG - 1], np.int32)
        lse = np.log(np.exp(double(x)).sum(1))
        loss = lse - 0.9 * double(x)[np.arange(5), targets] - 0.1 * double(x).mean(1)
        check("vocabulary", {"x": x, "t": targets}, "loss", loss)
        session.close()
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
