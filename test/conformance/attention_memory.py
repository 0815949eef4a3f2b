"""Checks the arena of attention, forward and backward, at maxima of 256 to 2048 tokens: doubling the tokens may at most
double it. If the scores were in memory, it would grow fourfold."""

import argparse
import json
import subprocess
import sys
import tempfile

MODEL = """
heddle.size @tokens max {tokens}
heddle.size @sequences max 1
heddle.size @length max {tokens} longest "lengths"
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<64x64xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<64x64xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<64x64xf32>
!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @train(%x: !x {{heddle.name = "x"}}, %s: !segments {{heddle.name = "starts"}},
                 %l: !segments {{heddle.name = "lengths"}}) -> (tensor<1xf32> {{heddle.name = "rate"}}) {{
  %w = heddle.read @w : tensor<64x64xf32>
  %q = heddle.matmul %x, %w : !x, tensor<64x64xf32> -> !x
  %y, %lse = heddle.attention %q, %q, %q queries(%s, %l) keys(%s, %l)
    {{heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x4xf32, #heddle.dims<"tokens">>)
  %sums = heddle.sum rows %y : !x -> tensor<64xf32>
  %loss = heddle.sum columns %sums : tensor<64xf32> -> tensor<1xf32>
  %rate = heddle.minimize %loss {{beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32}} rate {{
  ^bb0(%number: tensor<1xf32>):
    %peak = heddle.fill 0.1 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }}
  return %rate : tensor<1xf32>
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    tools = parser.parse_args().bin
    arenas = []
    with tempfile.TemporaryDirectory() as folder:
        for tokens in (256, 512, 1024, 2048):
            with open(f"{folder}/attention.mlir", "w") as file:
                file.write(MODEL.format(tokens=tokens))
            subprocess.run([f"{tools}/heddle-compile", f"{folder}/attention.mlir", "-o", f"{folder}/attention.heddle"],
                           check=True, stdout=subprocess.DEVNULL)
            described = subprocess.run([f"{tools}/heddle-inspect", f"{folder}/attention.heddle", "--json"], check=True,
                                       capture_output=True, text=True).stdout
            arenas.append(json.loads(described)["targets"][0]["arena_bytes"])
            print(f"{tokens:5} tokens: {arenas[-1]} bytes of arena, {arenas[-1] / tokens:.0f} a token")
    sys.exit(any(after > 2.05 * before for before, after in zip(arenas, arenas[1:])))


if __name__ == "__main__":
    main()
