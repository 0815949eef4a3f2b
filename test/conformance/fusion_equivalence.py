"""Fusion passes change how a model is computed, but not its results: with a pass off, losses, summed gradients and
three optimizer steps equal those with all passes on, with dropout and odd sizes.

    fusion_equivalence.py --bin build/bin --model models/numbers.toml"""

import argparse
import sys
import tempfile

import numpy as np

import compiled
import tensor_files

FLAGS = ["fuse-attention", "fuse-projections", "fuse-cross-entropy", "fuse-updates", "fuse-kernels"]
OPTIONS = {"dropout": 0.2, "attention_dropout": 0.1, "encoder_layers": 1, "decoder_layers": 1, "d_model": 36, "heads": 3,
           "d_ff": 50, "vocab_size": 71, "label_smoothing": 0.1, "max_tokens": 64, "max_sequences": 8, "max_length": 64,
           "warmup": 10, "learning_rate": 0.003, "accumulate": True, "share_embeddings": False}


def run(arguments, flags, folder, batches, start, target=None):
    """Returns all results of a compilation with these flags, by name, and the initial variables."""
    found = {}
    with compiled.Model(arguments, OPTIONS, folder, target, flags=flags) as model:
        if start is None:
            model.call("init", save="start.safetensors", extra=["--seed", "3"])
            start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        tensor_files.save_safetensors(f"{folder}/start.safetensors", start)
        inputs = [tensor_files.pack(batch) for batch in batches]
        (found["token losses"],) = model.call("eval", tensor_files.pack(batches[0], token_scale=False), ["token_loss"],
                                              variables="start.safetensors")
        (found["accumulated loss"],) = model.call("accumulate_step", inputs[0], ["loss"], save="summed.safetensors")
        summed = tensor_files.load_safetensors(f"{folder}/summed.safetensors")
        found.update({name: value for name, value in summed.items() if name.startswith("grad.")})
        for step, batch in enumerate(inputs):
            (found[f"loss of step {step}"],) = model.call("train_step", batch, ["loss"], save="now.safetensors")
    trained = tensor_files.load_safetensors(f"{folder}/now.safetensors")
    found.update({f"trained {name}": value for name, value in trained.items() if tensor_files.is_weight(name)})
    return found, start


def is_rounding(name):
    """Returns true for a key's bias, which shifts all scores of a query equally. Its gradient is zero except for
    rounding, which Adam turns into steps of full length."""
    return name.endswith(".key.bias")


def relative(found, expected, name):
    return np.linalg.norm(found[name] - expected[name]) / np.linalg.norm(expected[name])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    random = np.random.default_rng(11)
    batches = [compiled.draw_batch(random, OPTIONS["vocab_size"]) for _ in range(3)]
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        expected, start = run(arguments, [], folder, batches, None)
        for off in [*[[flag] for flag in FLAGS], FLAGS]:
            found, _ = run(arguments, [f"--{flag}=false" for flag in off], folder, batches, start)
            if found.keys() != expected.keys():
                sys.exit(f"without {off}: other results: {found.keys() ^ expected.keys()}")
            errors = {name: relative(found, expected, name) for name in expected if not is_rounding(name)}
            worst = max(errors, key=errors.get)
            what = "any" if off == FLAGS else off[0]
            report.check(f"{len(errors)} results without {what}: worst {worst}", errors[worst], 1e-4)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
