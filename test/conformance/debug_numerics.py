"""Makes numbers go wrong at known places, and checks that `heddle-run call --debug-numerics` reports these places.

    debug_numerics.py --bin build/bin --model models/numbers.toml [--target=NAME] [--precision=NAME]"""

import argparse
import re
import subprocess
import sys
import tempfile

import numpy as np

import compiled
import tensor_files

SIZES = {"d_model": 36, "heads": 3, "d_ff": 52, "vocab_size": 61, "encoder_layers": 2, "decoder_layers": 1,
         "dropout": 0.0, "max_tokens": 64, "max_sequences": 8, "max_length": 64, "accumulate": True}

EXP = """
heddle.variable @w weight : tensor<7xf32>
func.func @grow() -> (tensor<7xf32> {heddle.name = "y"}) {
  %w = heddle.read @w : tensor<7xf32> loc("grow.model":1:1)
  %e = math.exp %w : tensor<7xf32> loc("growth"("grow.model":3:5))
  %y = arith.negf %e : tensor<7xf32> loc("sign"("grow.model":4:5))
  return %y : tensor<7xf32>
}
"""


class Checker:
    def __init__(self, arguments, folder):
        self.tool, self.folder, self.failed = f"{arguments.bin}/heddle-run", folder, 0

    def call(self, artifact, entry, inputs, variables, flags=("--debug-numerics",)):
        tensor_files.save_safetensors(f"{self.folder}/state.safetensors", variables)
        command = [self.tool, "call", artifact, "--entry", entry, "--variables", f"{self.folder}/state.safetensors",
                   "--save-variables", f"{self.folder}/after.safetensors", *flags]
        for name, value in inputs.items():
            np.save(f"{self.folder}/{name}.npy", value)
            command += [f"--input={name}=@{self.folder}/{name}.npy"]
        return subprocess.run(command, capture_output=True, text=True)

    def stops(self, what, done, *patterns):
        """Checks that the call fails, and that its message matches all patterns."""
        message = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
        missing = [pattern for pattern in patterns if not re.search(pattern, message)]
        good = done.returncode == 1 and not missing
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {message}")
        for pattern in missing:
            print(f"     lacks {pattern}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", default="f32")
    arguments = parser.parse_args()
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(arguments, folder)
        with compiled.Model(arguments, SIZES, folder, arguments.target, arguments.precision) as model:
            model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        batch = tensor_files.pack(compiled.draw_batch(random, SIZES["vocab_size"]))
        place = r"\((stacks|transformer)\.weft:\d+:\d+\)"

        def poisoned(name, index, value):
            state = {key: array.copy() for key, array in start.items()}
            state[name][index] = value
            return state

        done = checker.call(model.artifact, "train_step", batch, start)
        after = tensor_files.load_safetensors(f"{folder}/after.safetensors") if done.returncode == 0 else {}
        checker.call(model.artifact, "train_step", batch, start, flags=())
        unchecked = tensor_files.load_safetensors(f"{folder}/after.safetensors")
        good = done.returncode == 0 and after.keys() == unchecked.keys() and all(
            np.array_equal(after[name], value) for name, value in unchecked.items())
        checker.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} a good step finds nothing, and ends as without looking {done.stderr}")

        # Each kind of weight: a matrix of a matmul, a matrix packed with others, and a gain among all vectors.
        for name, index, part in (("encoder.1.feed_forward.inner.weight", (5, 17), "encoder.1.feed_forward.inner"),
                                  ("encoder.1.self.key.weight", (7, 2), "encoder.1.self.key"),
                                  ("decoder.0.norm2.gamma", (11,), "decoder.0.norm2"),
                                  ("decoder.0.cross.output.bias", (0,), "decoder.0.cross.output")):
            text = "\\[" + ",".join(map(str, index)) + "\\]"
            done = checker.call(model.artifact, "train_step", batch, poisoned(name, index, np.nan))
            variable = name
            if arguments.precision != "f32" and name.endswith(".weight"):
                variable = f"cache.{name}.{arguments.precision}"  # the weight's copy, which matmuls read
            checker.stops(f"nan in {name}", done, "entry 'train_step', launch \\d+ of \\d+, kernel '\\w+'",
                          rf"\([^()]*{part}[^()]*: [^()]*{place}", f"It read -?nan at {text} of variable '{variable}'",
                          "was there before the call")
        done = checker.call(model.artifact, "eval", {k: v for k, v in batch.items() if k != "token_scale"},
                            poisoned("decoder.0.feed_forward.outer.bias", (3,), np.inf))
        checker.stops("an infinite bias in eval", done, "entry 'eval'", r"decoder\.0\.feed_forward\.outer: ",
                      r"It read inf at \[3\] of variable 'decoder.0.feed_forward.outer.bias'")

        # At step 0 the rate is zero, and the correction of Adam's first moment is infinite.
        done = checker.call(model.artifact, "train_step", batch, poisoned("step", (0,), -1))
        checker.stops("step 0 of Adam", done, r"\(optimizer: [^()]*divf", r"it wrote -?nan at \[0\]",
                      "All values that it read were finite")
        huge = {**batch, "token_scale": np.asarray([3e38], np.float32)}
        done = checker.call(model.artifact, "train_step", huge, start)
        checker.stops("a loss too large", done, r"\((gradient of [^()]*|loss): \w+", "it wrote -?(inf|nan)")
        done = checker.call(model.artifact, "accumulate_step", {**batch, "token_scale": np.asarray([np.inf], np.float32)},
                            start)
        checker.stops("an infinite input", done, "entry 'accumulate_step'", "It read inf at \\[0\\] of input 'token_scale'")

        with open(f"{folder}/grow.mlir", "w") as file:
            file.write(EXP)
        for fused, ops in (("true", r"growth: exp \(grow\.model:3:5\); sign: negf \(grow\.model:4:5\)"),
                           ("false", r"\(growth: exp \(grow\.model:3:5\)\): it wrote inf at \[4\]")):
            compiled.run([f"{arguments.bin}/heddle-compile", f"{folder}/grow.mlir", "-o", f"{folder}/grow.heddle",
                        f"--target={arguments.target}", f"--fuse-kernels={fused}"])
            weights = np.asarray([-90, 0, 1, 88, 89, 90, 2], np.float32)
            done = checker.call(f"{folder}/grow.heddle", "grow", {}, {"w": weights})
            checker.stops(f"exp of 89, kernels fused: {fused}", done, ops, "2 of 7 are not finite",
                          "All values that it read were finite")
    print(f"{checker.failed} failed")
    sys.exit(checker.failed != 0)


if __name__ == "__main__":
    main()
