"""Checks that a query's attention has the same bits whatever the queries beside it are: a thread takes the sums of some
queries at once, and scales them where a later score is much larger.

    attention_rows.py --bin build/bin [--target=NAME]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import calls

TOKENS, HEADS, WIDTH = 70, 2, 16


def module():
    rows = 'tensor<?x32xf32, #heddle.dims<"tokens">>'
    segments = 'tensor<?xi32, #heddle.dims<"sequences">>'
    inputs = ", ".join(f'%{name}: {rows} {{heddle.name = "{name}"}}' for name in "qkv")
    bounds = ", ".join(f'%{name}: {segments} {{heddle.name = "{name}"}}' for name in ("starts", "lengths"))
    sums = f'tensor<?x{HEADS}xf32, #heddle.dims<"tokens">>'
    return f"""heddle.size @tokens max 80
heddle.size @sequences max 1
heddle.size @length max 80 longest "lengths"
func.func @forward({inputs}, {bounds}) -> ({rows} {{heddle.name = "y"}}) {{
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths)
      {{heads = {HEADS} : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}}
      : ({rows}, {rows}, {rows}, {segments}, {segments}, {segments}, {segments}) -> ({rows}, {sums})
  return %y : {rows}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="native")
    arguments = parser.parse_args()
    random = np.random.default_rng(3)
    inputs = {name: random.standard_normal((TOKENS, HEADS * WIDTH)).astype(np.float32) for name in "qkv"}
    inputs["k"][40] *= 60  # far above the scores before it
    inputs |= {"starts": np.zeros(1, np.int32), "lengths": np.array([TOKENS], np.int32)}
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/rows.mlir", "w") as file:
            file.write(module())
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/rows.mlir", f"--target={arguments.target}", "-o",
                        f"{folder}/rows.heddle"], check=True, stdout=subprocess.DEVNULL)
        with calls.Session(arguments.bin, f"{folder}/rows.heddle", folder) as session:
            plain, = session.call("forward", inputs, ["y"])
            if not np.isfinite(plain).all():
                print("FAIL the result of finite inputs is not finite")
                problems += 1
            for name, change in (("NaN", np.nan), ("a larger query", 25)):
                for row in (0, 3, 5, 13, 69):
                    query = inputs["q"].copy()
                    query[row] *= change
                    changed, = session.call("forward", {**inputs, "q": query}, ["y"])
                    others = np.arange(TOKENS) != row
                    differ = np.nonzero((plain[others] != changed[others]).any(1))[0]
                    if differ.size:
                        print(f"FAIL {name} in row {row} changes {differ.size} other rows")
                        problems += 1
    print(f"attention beside other queries, {problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
