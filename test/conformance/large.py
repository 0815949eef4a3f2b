"""Compares one eval step of transformer-big with PyTorch. Its shared embedding (37,000 x 1,024 in f32) is larger than
lavapipe's limit for a storage buffer, 128 MiB. Weights are drawn here, so that no optimizer state is allocated."""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import compiled
import reference
import tensor_files

SMALL = {"logits_entry": True, "max_tokens": 32, "max_sequences": 4, "max_length": 32}


def draw(random, name, shape):
    if name.endswith(".gamma"):
        return np.ones(shape, np.float32)
    scale = 0.1 if len(shape) == 1 else (2 / sum(shape)) ** 0.5
    return (scale * random.standard_normal(shape, np.float32)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    random = np.random.default_rng(5)
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder, compiled.Model(arguments, SMALL, folder) as model:
        described = json.loads(subprocess.run([f"{arguments.bin}/heddle-inspect", model.artifact, "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        config = described["description"]
        weights = {variable["name"]: draw(random, variable["name"], variable["shape"])
                   for variable in described["variables"] if tensor_files.is_weight(variable["name"])}
        weights["embedding"][-1] *= 3  # the row farthest beyond the limit matters most
        tensor_files.save_safetensors(f"{folder}/weights.safetensors", weights)
        vocabulary = config["vocab_size"]
        batch = [([vocabulary - 1, 7, 36000], [1, vocabulary - 1, 33000], [vocabulary - 1, 33000, 2]),
                 ([5], [1], [vocabulary - 2])]
        (logits,) = model.call("logits", tensor_files.without_labels(tensor_files.pack(batch, token_scale=False)), ["logits"],
                               variables="weights.safetensors")
        (losses,) = model.call("eval", tensor_files.pack(batch, token_scale=False), ["token_loss"])
        expected = reference.Transformer(config, weights).batch_logits(batch).detach()
        report.check("logits", compiled.relative(logits, expected), 1e-4)
        report.check("logits of the last row", compiled.relative(logits[:, -1], expected[:, -1]), 1e-4)
        targets = np.concatenate([labels for _, _, labels in batch])
        loss = np.log(np.exp(expected.double().numpy()).sum(1)) - expected.double().numpy()[np.arange(4), targets]
        report.check("loss of each token", compiled.relative(losses, loss), 1e-4)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
