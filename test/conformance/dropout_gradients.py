"""Compares gradients with all kinds of dropout on with central differences on the device. They agree only if the
backward kernels, which iterate over attention in the other order, draw the same masks again."""

import argparse
import tempfile

import numpy as np

import compiled
import parity
import tensor_files

CASE = {**parity.COMMON, "d_model": 32, "heads": 2, "d_ff": 48, "vocab_size": 50, "dropout": 0.2,
        "attention_dropout": 0.3, "label_smoothing": 0.1, "encoder_layers": 1, "decoder_layers": 1}
WEIGHTS = ["encoder.0.self.query.weight", "encoder.0.self.value.weight", "decoder.0.self.key.weight",
           "decoder.0.self.value.weight", "decoder.0.cross.value.weight", "decoder.0.feed_forward.outer.weight",
           "embedding"]
# A smaller step reduces the effect of ReLU's kinks and the loss's curvature (the worst error is 1.9e-2 at 0.02 and
# 6.6e-3 at 0.004), but increases the effect of rounding.
STEP = 0.004


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    arguments = parser.parse_args()
    random = np.random.default_rng(11)
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder, compiled.Model(
            arguments, CASE, folder, arguments.target,
            flags=[f"--lanes={arguments.lanes}"] if arguments.lanes else []) as model:
        model.call("init", save="start.safetensors", extra=["--seed", "3"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        inputs = tensor_files.pack(compiled.draw_batch(random, CASE["vocab_size"]))

        def loss(variables, save=None):
            tensor_files.save_safetensors(f"{folder}/now.safetensors", variables)
            return float(model.call("accumulate_step", inputs, ["loss"], variables="now.safetensors", save=save)[0][0])

        masked = loss(start, save="gradients.safetensors")
        report.check("the same masks again", abs(masked - loss(start)) / masked, 1e-6)
        gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
        for name in WEIGHTS:
            # Along the gradient, the difference is largest relative to the rounding of the loss.
            gradient = gradients["grad." + name].astype(np.float64)
            norm = np.linalg.norm(gradient)
            direction = (gradient / norm).astype(np.float32)
            sides = [loss({**start, name: start[name] + sign * STEP * direction}) for sign in (1, -1)]
            report.check(f"derivative along the gradient of {name}", abs((sides[0] - sides[1]) / (2 * STEP) - norm) / norm,
                         1e-2)
    raise SystemExit(report.failed != 0)


if __name__ == "__main__":
    main()
