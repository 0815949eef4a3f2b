"""GPT-2 small learns a plain text, beside PyTorch: the losses of the same steps from the same weights and batches.

    gpt2_plain_text.py --bin build/bin [--steps 200] [--tiny]

The text is generated: sentences of a grammar, a document a line, which `heddle-run train --text` cuts into sequences and deals to
batches of 128 tokens. The order of these is made again here, as OrderRandom.h and BatchSource.cpp have it. 12 layers of 768 with
12 heads and a vocabulary of 50,257, of which the text uses few; weights are drawn as GPT-2's are (deviation 0.02). No dropout.
`--tiny` is a model of two layers, for a test. Ends with code 1 where a loss is off by more than 1%."""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/conformance"))

import numpy as np
import torch

import published
import subwords
from parity import run

LENGTH, TOKENS, SEED, RATE, WARMUP, BOUND = 64, 128, 7, 6e-4, 40, 0.01
MASK = (1 << 64) - 1


class OrderRandom:
    def __init__(self, seed, epoch, window):
        mix = self.mix
        self.state = mix(mix(mix(seed) ^ (epoch + 0x632BE59BD9B4E019 & MASK)) ^ (window + 0xD1342543DE82EF95 & MASK))

    @staticmethod
    def mix(z):
        z = z + 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def shuffle(self, values):
        for i in range(len(values), 1, -1):
            self.state = self.state + 0x9E3779B97F4A7C15 & MASK
            j = self.mix(self.state) * i >> 64
            values[i - 1], values[j] = values[j], values[i - 1]


def batches_of(examples, epoch):
    """Of all examples, in the order of training; a file of so few lines is one window."""
    order = OrderRandom(SEED, epoch, 0)
    sequences = list(examples)
    order.shuffle(sequences)
    batches, tokens = [], 0
    for example in sequences:
        if not batches or tokens + len(example[0]) > TOKENS:
            batches.append([])
            tokens = 0
        batches[-1].append(example)
        tokens += len(example[0])
    order.shuffle(batches)
    return batches


def write_text(lines):
    random.seed(3)
    who, does, what = ["a dog", "the old man", "my sister", "one bird", "the king"], ["sees", "takes", "wants", "finds"], \
        ["a red house", "the sea", "two stones", "some bread", "a song", "the way home"]
    sentence = lambda: f"{random.choice(who)} {random.choice(does)} {random.choice(what)}"
    return [" and ".join(sentence() for _ in range(random.randint(1, 9))) + "." for _ in range(lines)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 300} if arguments.tiny else \
        {"n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = write_text(600)
        vocabulary = subwords.BytePairs.learn("\n".join(lines), 40)
        end = vocabulary.vocabulary[subwords.END]
        config = {**published.GPT2, **shape, "n_positions": LENGTH, "n_ctx": LENGTH, "bos_token_id": end, "eos_token_id": end}
        tensors = published.draw_gpt2(config)
        for tensor in tensors.values():
            if tensor.ndim == 2:
                tensor *= 0.02 / tensor.std()
        published.write_folder(folder / "gpt2", config, tensors)
        vocabulary.write(folder / "gpt2")
        (folder / "text").write_text("\n".join(lines) + "\n")
        settings = {"max_tokens": TOKENS, "max_sequences": 64, "dropout": 0.0, "attention_dropout": 0.0, "warmup": WARMUP,
                    "learning_rate": RATE}
        artifact = folder / "model.heddle"
        run([str(arguments.bin / "heddle-compile"), str(folder / "gpt2"), "-o", str(artifact),
             *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))])
        begin = time.time()
        run([str(arguments.bin / "heddle-run"), "train", str(artifact), "--text", str(folder / "text"), "--weights",
             str(folder / "gpt2"), "--checkpoint", str(folder / "checkpoint"), "--log", str(folder / "log"), "--seed", str(SEED),
             "--steps", str(arguments.steps)])
        seconds = time.time() - begin
        actual = [json.loads(line)["loss"] for line in (folder / "log").read_text().splitlines()]

        torch.set_default_dtype(torch.float32)
        oracle = published.Gpt2(config, tensors)
        examples = []
        for line in lines:
            ids = [end, *vocabulary.encode(line), end]
            examples += [(ids[i:i + LENGTH][:len(ids) - 1 - i], ids[i + 1:i + 1 + LENGTH]) for i in range(0, len(ids) - 1, LENGTH)]
        batches, epoch = [], 0
        while len(batches) < arguments.steps:
            batches += batches_of(examples, epoch)
            epoch += 1
        parameters = [tensor for tensor in oracle.tensors.values() if tensor.requires_grad]
        optimizer = torch.optim.Adam(parameters, lr=RATE, betas=(0.9, 0.98), eps=1e-9)
        expected, begin = [], time.time()
        for step, batch in enumerate(batches[:arguments.steps], 1):
            logits = torch.cat([oracle.logits(torch.tensor(read)) for read, _ in batch])
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor([label for _, labels in batch for label in labels]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.param_groups[0]["lr"] = RATE * min(step / WARMUP, (WARMUP / step) ** 0.5)
            optimizer.step()
            expected.append(loss.item())
        of_torch = time.time() - begin
    off = np.abs(np.array(actual) / np.array(expected) - 1)
    count = sum(tensor.numel() for tensor in parameters)
    print(f"{count / 1e6:.1f} million weights, {arguments.steps} steps: loss {actual[0]:.4f} to {actual[-1]:.4f} (PyTorch "
          f"{expected[0]:.4f} to {expected[-1]:.4f}); off by {100 * off.max():.4f}% at most, {100 * off.mean():.4f}% on the mean; "
          f"{seconds:.0f} s beside {of_torch:.0f} s")
    sys.exit(len(actual) != arguments.steps or bool(off.max() > BOUND))


if __name__ == "__main__":
    main()
