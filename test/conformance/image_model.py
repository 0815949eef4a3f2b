"""Compares models of images with PyTorch: logits, every gradient, and 20 losses of Adam in `heddle-run train` on
records with images. Images have 5 x 7 pixels and three channels.

    image_model.py --bin build/bin --models models --model cnn|feed-forward [--set name=value]... [--target NAME]

The parameters `image_height` and `image_width` change the size."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import tensor_files
from labels import BOUND, CLASSES, draw_weights
from language_model import RATE, STEPS, WARMUP, compare, torch_losses
from compiled import Model, Report, default_target, relative, run
from sentence_model import Network

CHANNELS, COUNT = 3, 4
SIZES = {"classes": CLASSES, "image_height": 5, "image_width": 7, "channels": CHANNELS, "max_sequences": COUNT, "warmup": WARMUP,
         "learning_rate": RATE, "accumulate": True}


class Cnn(Network):
    def __init__(self, weights, sizes):
        super().__init__(weights)
        self.stride, self.pools = sizes.get("stride", 1), sizes.get("pools", 0)

    def convolution(self, x, name, stride):
        size = len({key.split(".")[3] for key in self.weights if key.startswith(f"{name}.sides.")})
        taps = [[self.weights[f"{name}.sides.{i}.column.{j}.tap"] for i in range(size)] for j in range(size)]
        kernel = torch.stack([torch.stack(row) for row in taps]).permute(3, 2, 0, 1)  # outputs, inputs, rows, columns
        before, after = size // 2, size - 1 - size // 2
        return F.conv2d(F.pad(x, (before, after, before, after)), kernel, self.weights[f"{name}.bias"], stride)

    def logits(self, images):
        x, layer = images.permute(0, 3, 1, 2), 0
        while f"seen.{layer}.bias" in self.weights:
            x = F.relu(self.convolution(x, f"seen.{layer}", self.stride if layer == 0 else 1))
            x, layer = F.max_pool2d(x, 2) if layer < self.pools else x, layer + 1
        return self.linear(x.amax((2, 3)), "output")


class FeedForward(Network):
    def __init__(self, weights, sizes):
        super().__init__(weights)

    def logits(self, images):
        name = "output" if "output.bias" in self.weights and "first.bias" not in self.weights else "first"
        pixels = torch.stack([self.weights[f"{name}.sums.{c}.pixel"] for c in range(CHANNELS)], 1).flatten(0, 1)
        x, layer = images.flatten(1) @ pixels + self.weights[f"{name}.bias"], 0
        if name == "output":
            return x
        x = torch.tanh(x)
        while f"rest.{layer}.inner.bias" in self.weights:
            x, layer = torch.tanh(self.linear(x, f"rest.{layer}.inner")), layer + 1
        return self.linear(x, "output")


NETWORKS = {"cnn": Cnn, "feed-forward": FeedForward}


def loss_of(oracle, images, labels):
    return F.cross_entropy(oracle.logits(torch.tensor(images, dtype=torch.float64)), torch.tensor(labels))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--model", choices=NETWORKS, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the text")
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--lanes", type=int, help="of a subgroup, for vulkan:portable")
    arguments = parser.parse_args()
    network, arguments.model = NETWORKS[arguments.model], f"{arguments.models}/{arguments.model}.weft"
    sizes = SIZES | {name: json.loads(value) for name, value in (setting.split("=") for setting in arguments.set)}
    report, random = Report(), np.random.default_rng(5)
    height, width = sizes["image_height"], sizes["image_width"]
    sizes["max_tokens"] = COUNT * height * width
    images = np.round(random.standard_normal((COUNT, height, width, CHANNELS)), 3).astype(np.float32)
    labels = list(range(COUNT))
    i32 = lambda values: np.asarray(values, np.int32)
    inputs = {"source_pixels": images.reshape(-1, CHANNELS)}
    strides = {sizes.get("stride", 1) * 2 ** pools for pools in range(sizes.get("pools", 0) + 1)}
    for stride in strides | {1}:
        name, size = f"source_stride{stride}" if stride > 1 else "source", height // stride * (width // stride)
        inputs |= {f"{name}_positions": np.tile(np.arange(size, dtype=np.int32), COUNT),
                   f"{name}_starts": i32([i * size for i in range(COUNT)]), f"{name}_lengths": i32([size] * COUNT)}
    flags = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
    with tempfile.TemporaryDirectory() as folder, Model(arguments, sizes, folder, arguments.target, flags=flags) as model:
        oracle = network(draw_weights(model, folder, random), sizes)
        (logits,) = model.call("logits", inputs, ["logits"], variables="start.safetensors")
        expected = oracle.logits(torch.tensor(images, dtype=torch.float64))
        report.check("logits", relative(logits, expected.detach().numpy()), BOUND)
        loss_of(oracle, images, labels).backward()
        step = inputs | {"source_label": i32(labels), "token_scale": np.asarray([1 / COUNT], np.float32)}
        model.call("accumulate_step", step, ["loss"], variables="start.safetensors", save="after.safetensors")
        after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
        for name, weight in oracle.weights.items():
            if weight.grad.abs().max() > 1e-7:
                report.check(f"gradient of {name}", relative(after[f"grad.{name}"], weight.grad.numpy()), BOUND)
        Path(folder, "records").write_text("".join(
            json.dumps({"image": image.astype(float).round(3).tolist(), "label": "ABCD"[label]}) + "\n" for image, label in zip(images, labels)))
        if arguments.target == default_target():
            run([f"{arguments.bin}/heddle-run", "train", model.artifact, "--data", f"{folder}/records", "--checkpoint", f"{folder}/ck",
                 "--log", f"{folder}/log", "--steps", str(STEPS), "--seed", "1"])
            model.call("init", save="drawn.safetensors", extra=["--seed", "1"])
            oracle = network(tensor_files.load_safetensors(f"{folder}/drawn.safetensors"), sizes)
            actual = [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]
            compare(report, actual, torch_losses(oracle.weights.values(), lambda step: loss_of(oracle, images, labels)))
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
