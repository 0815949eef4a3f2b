"""`heddle-run call` on hand-written models, whose inputs have neither limits nor telling names: calls that would make
an op read or write missing rows are refused.

    contract.py --bin build/bin"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

MODEL = """
heddle.size @n max 100
heddle.size @s max 10
heddle.size @longest max 16 longest "b"
!n = tensor<?xi32, #heddle.dims<"n">>
!s = tensor<?xi32, #heddle.dims<"s">>
!x = tensor<?x4xf32, #heddle.dims<"n">>

func.func @loss(%x: tensor<?x2xf32, #heddle.dims<"n">> {heddle.name = "x"}, %t: !n {heddle.name = "t", heddle.limit = 50 : i64})
    -> (tensor<?xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %y, %lse = heddle.cross_entropy %x, %t {smoothing = 0.0 : f32}
      : tensor<?x2xf32, #heddle.dims<"n">>, !n -> tensor<?xf32, #heddle.dims<"n">>
  return %y : tensor<?xf32, #heddle.dims<"n">>
}
func.func @gather(%i: !s {heddle.name = "i"}, %j: !s {heddle.name = "j"}, %x: !x {heddle.name = "x"})
    -> (tensor<?x4xf32, #heddle.dims<"s">> {heddle.name = "y"}) {
  %k = arith.addi %i, %j : !s
  %y = heddle.embedding %k, %x : !s, !x -> tensor<?x4xf32, #heddle.dims<"s">>
  return %y : tensor<?x4xf32, #heddle.dims<"s">>
}
func.func @attend(%a: !s {heddle.name = "a"}, %b: !s {heddle.name = "b"}, %x: !x {heddle.name = "x"}) -> (!x {heddle.name = "y"}) {
  %y, %lse = heddle.attention %x, %x, %x queries(%a, %b) keys(%a, %b)
      {heads = 1 : i64, scale = 0.5 : f32, query_size = "longest", key_size = "longest"}
      : (!x, !x, !x, !s, !s, !s, !s) -> (!x, tensor<?x1xf32, #heddle.dims<"n">>)
  return %y : !x
}
func.func @listed(%x: tensor<?x4xf32, #heddle.dims<"s">> {heddle.name = "x"}, %b: !s {heddle.name = "b"},
                  %l: tensor<?x16xi32, #heddle.dims<"s">> {heddle.name = "l"}, %k: !x {heddle.name = "k"})
    -> (tensor<?x4xf32, #heddle.dims<"s">> {heddle.name = "y"}) {
  %here = heddle.iota : !s
  %one = heddle.fill 1 : i32 : !s
  %zero = heddle.fill 0 : i32 : !s
  %y, %lse = heddle.attention %x, %k, %k rows(%l) queries(%here, %one) keys(%zero, %b)
      {heads = 1 : i64, scale = 0.5 : f32, query_size = "", key_size = "longest"}
      : (tensor<?x4xf32, #heddle.dims<"s">>, !x, !x, tensor<?x16xi32, #heddle.dims<"s">>, !s, !s, !s, !s)
      -> (tensor<?x4xf32, #heddle.dims<"s">>, tensor<?x1xf32, #heddle.dims<"s">>)
  return %y : tensor<?x4xf32, #heddle.dims<"s">>
}
"""

ROWS = np.ones((8, 4), np.float32)
LIST = np.full((2, 16), -1, np.int32)  # entries after the end of a list do not matter
LIST[:, :3] = [[0, 7, 3], [1, 1, 2]]
LATE = LIST.copy()
LATE[1, 2] = 8
# Entry, inputs, and the text of the refusal (empty: accepted).
CALLS = [
    ("loss", {"x": ROWS[:, :2], "t": [0, 1] * 4}, ""),
    ("loss", {"x": ROWS[:, :2], "t": [0, 1, 0, 1, 7, 1, 0, 1]}, "input 't' holds 7 at index 4, and its values lie in [0, 2)"),
    ("gather", {"i": [0, -1], "j": [7, 1], "x": ROWS}, ""),
    ("gather", {"i": [0, 5], "j": [7, 3], "x": ROWS},
     "input 'i' holds 5 at index 1 and input 'j' holds 3 at index 1: row 8, and there are 8 rows (size 'n')"),
    ("gather", {"i": [0, -9], "j": [7, 8], "x": ROWS}, "row -1, and there are 8 rows (size 'n')"),
    ("attend", {"a": [0, 4, 90], "b": [4, 4, 0], "x": ROWS}, ""),
    ("attend", {"a": [60], "b": [16], "x": ROWS},
     "input 'a' holds 60 at index 0 and input 'b' holds 16 at index 0: start 60, length 16, and there are 8 rows (size 'n')"),
    ("attend", {"a": [0, -1], "b": [4, 4], "x": ROWS}, "start -1, length 4, and there are 8 rows"),
    ("attend", {"a": [0, 0], "b": [4, -3], "x": ROWS}, "input 'b' holds -3 at index 1"),
    ("listed", {"x": ROWS[:2], "b": [3, 3], "l": LIST, "k": ROWS}, ""),
    ("listed", {"x": ROWS[:2], "b": [3, 3], "l": LATE, "k": ROWS},
     "input 'l' holds 8 at [1, 2], and there are 8 rows (size 'n')"),
    ("listed", {"x": ROWS[:2], "b": [3, 4], "l": LIST, "k": ROWS}, "input 'l' holds -1 at [1, 3]"),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/model.mlir", "w") as file:
            file.write(MODEL)
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/model.mlir", "-o", f"{folder}/model.heddle"],
                       check=True, stdout=subprocess.DEVNULL)
        for entry, inputs, text in CALLS:
            flags = []
            for name, values in inputs.items():
                np.save(f"{folder}/{name}.npy", np.asarray(values, None if isinstance(values, np.ndarray) else np.int32))
                flags.append(f"--input={name}=@{folder}/{name}.npy")
            done = subprocess.run([f"{arguments.bin}/heddle-run", "call", f"{folder}/model.heddle", "--entry", entry, *flags],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            good = done.returncode == (1 if text else 0) and text in done.stderr
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {entry:<8} {done.returncode} {done.stderr.strip().splitlines()[-1:]}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
