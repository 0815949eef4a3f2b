"""Compares the average of the weights over every step with numpy: 20 steps of the plain case, a few of others, and a
training run's checkpoints.

    ema.py --bin build/bin --model models/numbers.toml [--target=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import compiled
import tensor_files

SIZES = {"d_model": 33, "heads": 3, "d_ff": 37, "vocab_size": 41, "positions": "learned", "encoder_layers": 1,
         "decoder_layers": 1, "dropout": 0.1, "max_tokens": 64, "max_sequences": 8, "max_length": 64, "warmup": 5,
         "learning_rate": 0.01}
DECAY = 0.9
# Further settings, and the number of steps to follow; at most three on the emulated driver.
CASES = {"plain": ({}, 20), "clipped": ({"clip_norm": 0.5}, 6), "accumulated": ({"accumulate": True}, 6),
         "unfused": ({"d_model": 36, "share_embeddings": False}, 5)}


def launches_of(arguments, model):
    """Returns the number of launches of the entries that take a step."""
    done = subprocess.run([f"{arguments.bin}/heddle-inspect", model.artifact, "--json"], capture_output=True, check=True)
    return sum(entry["launches"] for entry in json.loads(done.stdout)["entries"]
               if entry["name"] in ("train_step", "apply_step"))


def averages_of(state):
    return {name[4:]: value for name, value in state.items() if name.startswith("ema.")}


def weights_of(state):
    return {name: value.astype(np.float64) for name, value in state.items() if tensor_files.is_weight(name)}


def largest_difference(actual, expected):
    """Returns the largest error, relative to the largest number of each tensor."""
    assert actual.keys() == expected.keys(), actual.keys() ^ expected.keys()
    return max(np.abs(actual[name] - value).max() / max(np.abs(value).max(), 1e-30) for name, value in expected.items())


def follow(arguments, report, what, overrides, steps):
    """Takes steps and averages the weights after each of them. A model without the average is trained, too: its weights
    must be bit-identical."""
    random = np.random.default_rng(5)
    with (tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as plain_folder,
          compiled.Model(arguments, {**SIZES, **overrides, "ema_decay": DECAY}, folder, arguments.target) as model,
          compiled.Model(arguments, {**SIZES, **overrides}, plain_folder, arguments.target) as plain):
        for each in (model, plain):
            each.call("init", save="now.safetensors", extra=["--seed", "1"])
        launches = [launches_of(arguments, each) for each in (model, plain)]
        report.check(f"{what}: launches more than without", launches[0] - launches[1], 0)
        state = tensor_files.load_safetensors(f"{folder}/now.safetensors")
        decay = float(np.float32(DECAY))
        expected = {name: np.zeros(value.shape) for name, value in weights_of(state).items()}

        def call(entry, inputs=()):
            for each in (model, plain):
                each.call(entry, inputs, save="after.safetensors")
                now = tensor_files.load_safetensors(f"{each.folder}/now.safetensors")
                now.update(tensor_files.load_safetensors(f"{each.folder}/after.safetensors"))
                tensor_files.save_safetensors(f"{each.folder}/now.safetensors", now)

        for _ in range(steps):
            batch = lambda: tensor_files.pack(compiled.draw_batch(random, SIZES["vocab_size"]))
            if overrides.get("accumulate"):
                call("accumulate_step", batch())
                call("accumulate_step", batch())
                call("apply_step")
            else:
                call("train_step", batch())
            state = tensor_files.load_safetensors(f"{folder}/now.safetensors")
            for name, weight in weights_of(state).items():
                expected[name] = decay * expected[name] + (1 - decay) * weight
        report.check(f"{what}: averages after {steps} steps", largest_difference(averages_of(state), expected), 1e-6)
        other = tensor_files.load_safetensors(f"{plain_folder}/now.safetensors")
        report.check(f"{what}: weights beside those without", sum(
            int((state[name] != value).sum()) for name, value in other.items()), 0)


def train(arguments, report):
    """Checks `average --ema` on an interrupted training, against its checkpoints of every step."""
    with tempfile.TemporaryDirectory() as folder:
        def tool(name, *words, fails=False):
            done = subprocess.run([f"{arguments.bin}/{name}", *words], cwd=folder, capture_output=True, text=True)
            if (done.returncode != 0) != fails:
                sys.exit(f"{name} {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stderr

        tool("heddle-data", "numbers", "--out", "data", "--train", "300", "--valid", "10", "--test", "10", "--maximum", "9999")
        sets = [word for key, value in {**SIZES, "vocab_size": 80, "max_tokens": 256, "max_sequences": 16}.items()
                for word in ("--set", f"{key}={compiled.toml(value)}")]
        model = str(Path(arguments.model).resolve())
        tool("heddle-compile", model, "-o", "m.heddle", f"--target={arguments.target}", "--set", f"ema_decay={DECAY}", *sets)
        tool("heddle-compile", model, "-o", "plain.heddle", f"--target={arguments.target}", *sets)
        common = ["--src", "data/train.en", "--tgt", "data/train.de", "--save-every", "1", "--keep-last", "20"]
        tool("heddle-run", "train", "m.heddle", *common, "--checkpoint", "ck", "--steps", "5")
        tool("heddle-run", "train", "m.heddle", *common, "--checkpoint", "ck", "--steps", "9", "--resume")
        tool("heddle-run", "average", "--ema", "--checkpoint", "ck", "--output", "averaged")
        decay, expected = float(np.float32(DECAY)), {}
        for step in range(1, 10):
            weights = tensor_files.load_safetensors(f"{folder}/ck/step-{step:08}/weights.safetensors")
            for name, weight in weights.items():
                expected[name] = decay * expected.get(name, 0) + (1 - decay) * weight.astype(np.float64)
        expected = {name: value / (1 - decay ** 9) for name, value in expected.items()}
        actual = tensor_files.load_safetensors(f"{folder}/averaged/weights.safetensors")
        report.check("average --ema of 9 steps", largest_difference(actual, expected), 1e-6)
        tool("heddle-run", "score", "m.heddle", "--checkpoint", "averaged", "--src", "data/test.en", "--tgt", "data/test.de")
        tool("heddle-run", "train", "m.heddle", *common, "--checkpoint", "proof", "--steps", "7", "--verify-resume")

        tool("heddle-run", "train", "plain.heddle", *common, "--checkpoint", "plain", "--steps", "1")
        message = tool("heddle-run", "average", "--ema", "--checkpoint", "plain", "--output", "none", fails=True)
        report.check("a model without an average is refused", "compiled without an average" not in message, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--cases", nargs="+", choices=[*CASES, "train"], default=[*CASES, "train"])
    arguments = parser.parse_args()
    arguments.bin = str(Path(arguments.bin).resolve())
    report = compiled.Report()
    for case in arguments.cases:
        if case == "train":
            train(arguments, report)
        else:
            overrides, steps = CASES[case]
            follow(arguments, report, case, overrides, min(steps, 3) if arguments.target.startswith("cuda") else steps)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
