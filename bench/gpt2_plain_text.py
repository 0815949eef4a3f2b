#!/usr/bin/python3
"""GPT-2 learns from plain text, in `heddle-run train --text` and in PyTorch: compares the loss of every step.

  bench/gpt2_plain_text.py [--bin build/bin] [--text FILE...] [--steps N] [--context N] [--tokens N] [--tiny]

The default model is GPT-2 small as published (12 layers, width 768, 12 heads, 50,257 tokens, 124 million weights),
except for the context: 64 tokens, two sequences per step. Weights are drawn as for GPT-2 and written as a published
folder, from which both begin. Nothing is downloaded: the text is the repository's documentation, and byte pairs are
learnt from it. The rest of the vocabulary are pieces that occur in no text, so that the logits cost as much as in
GPT-2. The script makes the batches a second time in Python, by heddle-run's rules: the log must have the same number of
tokens at each step, and the first losses must agree within 1e-5. `--tiny` is a model of two layers on a short text, for
a test. Exits with 1 if a loss differs by more than 1% from PyTorch's. Prints a JSON object at the end."""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "test" / "conformance"))

import published  # noqa: E402
import subwords  # noqa: E402

BOUND = 0.01       # the largest allowed relative difference of a loss
SAME_BATCH = 1e-5  # the allowed difference of the first losses, which see the same batch: only rounding
BLOCK_LINES = 64   # lines of a block of the text
RATE, WARMUP, BETAS, EPSILON, CLIP = 6e-4, 20, (0.9, 0.95), 1e-8, 1.0


# ---- heddle-run's batches, computed from its documentation and sources -----------------------------------------------


class OrderRandom:
    """Python version of runtime/data/OrderRandom.h."""

    STEP, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1

    def __init__(self, seed, epoch, window):
        self.state = self.mix(self.mix(self.mix(seed) ^ (epoch + 0x632BE59BD9B4E019) & self.MASK)
                              ^ (window + 0xD1342543DE82EF95) & self.MASK)

    @classmethod
    def mix(cls, z):
        z = (z + cls.STEP) & cls.MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & cls.MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & cls.MASK
        return z ^ (z >> 31)

    def shuffle(self, values):
        for i in range(len(values), 1, -1):
            self.state = (self.state + self.STEP) & self.MASK
            j = self.mix(self.state) * i >> 64
            values[i - 1], values[j] = values[j], values[i - 1]


def read_sequences(text, vocabulary, end, context):
    """Splits a file that is a single document: parts of 64 lines, each cut into sequences of at most `context` tokens
    to predict."""
    lines = text.splitlines(keepends=True)
    parts = ["".join(lines[i:i + BLOCK_LINES]) for i in range(0, len(lines), BLOCK_LINES)]
    sequences = []
    for number, part in enumerate(parts):
        ids = vocabulary.encode(part) + [end] * (number + 1 == len(parts))
        sequences += [ids[i:i + context + 1] for i in range(0, len(ids) - 1, context)]
    return sequences


def make_batches(sequences, tokens, steps, seed):
    epoch = 0
    while True:
        order = list(range(len(sequences)))
        generator = OrderRandom(seed, epoch, 0)
        generator.shuffle(order)
        batches, room = [], 0
        for i in order:
            size = len(sequences[i]) - 1
            if size > room:
                batches.append([])
                room = tokens
            batches[-1].append(sequences[i])
            room -= size
        generator.shuffle(batches)
        yield from batches
        epoch += 1


# ---- The model -------------------------------------------------------------------------------------------------------

def learn_vocabulary(text, merges, size):
    """Returns the byte pairs of the text, then unused entries, and the end mark last, as in GPT-2."""
    learnt = subwords.BytePairs.learn(text, merges)
    pieces = [piece for piece in learnt.vocabulary if piece != subwords.END]
    if len(pieces) >= size:
        sys.exit(f"{merges} merges make {len(pieces)} pieces, more than a vocabulary of {size} has room for")
    pieces += [f"<unused {i}>" for i in range(size - 1 - len(pieces))] + [subwords.END]
    return subwords.BytePairs({piece: number for number, piece in enumerate(pieces)}, learnt.merges)


def draw_weights(config, seed=1):
    """Draws weights as GPT-2 does: standard deviation 0.02, divided by the square root of the number of residual
    additions for projections that are added to the residual stream."""
    generator, tensors = np.random.default_rng(seed), {}
    for name, tensor in published.draw_gpt2({**config, "vocab_size": 1}).items():
        shape = (config["vocab_size"], config["n_embd"]) if name.endswith("wte.weight") else tensor.shape
        if len(shape) == 2:
            deviation = 0.02 / math.sqrt(2 * config["n_layer"]) if name.endswith("c_proj.weight") else 0.02
            tensors[name] = (deviation * generator.standard_normal(shape, np.float32)).astype(np.float32)
        else:
            tensors[name] = np.full(shape, name.endswith("weight"), np.float32)
    return tensors


class Gpt2(published.Gpt2):
    """Computes all sequences' rows in one matmul."""

    def loss(self, batch):
        tensors, base, epsilon = self.tensors, self.base, self.config["layer_norm_epsilon"]
        lengths = [len(ids) - 1 for ids in batch]
        words = torch.tensor([token for ids in batch for token in ids[:-1]])
        labels = torch.tensor([token for ids in batch for token in ids[1:]])
        x = tensors[base + "wte.weight"][words] + tensors[base + "wpe.weight"][[i for n in lengths for i in range(n)]]
        for i in range(self.config["n_layer"]):
            layer = f"{base}h.{i}."
            rows = self.convolve(self.norm(x, layer + "ln_1", epsilon), layer + "attn.c_attn").split(lengths)
            attended = torch.cat([published.attend(*part.chunk(3, 1), self.config["n_head"], causal=True) for part in rows])
            x = x + self.convolve(attended, layer + "attn.c_proj")
            inner = self.convolve(self.norm(x, layer + "ln_2", epsilon), layer + "mlp.c_fc")
            x = x + self.convolve(published.ACTIVATIONS["gelu_new"](inner), layer + "mlp.c_proj")
        return F.cross_entropy(self.norm(x, base + "ln_f", epsilon) @ tensors[base + "wte.weight"].t(), labels)


# ---- Both trainings --------------------------------------------------------------------------------------------------

def rate(step, steps):
    """Returns the learning rate: half a cosine wave from the end of warm-up to the last step."""
    fall = min(max(step - WARMUP, 0) / max(steps - WARMUP, 1), 1)
    return min(RATE * step / WARMUP, RATE / 10 + 0.9 * RATE * (1 + math.cos(math.pi * fall)) / 2)


def by_heddle(arguments, folder):
    sizes = {"max_length": arguments.context, "max_tokens": arguments.tokens, "max_sequences": arguments.tokens,
             "dropout": 0.0, "attention_dropout": 0.0, "label_smoothing": 0.0, "clip_norm": CLIP, "schedule": "cosine",
             "learning_rate": RATE, "final_learning_rate": RATE / 10, "warmup": WARMUP,
             "decay_steps": max(arguments.steps, WARMUP + 1), "adam_beta1": BETAS[0], "adam_beta2": BETAS[1],
             "adam_epsilon": EPSILON}
    run = lambda *command: subprocess.run(list(map(str, command)), check=True)
    run(f"{arguments.bin}/heddle-compile", folder / "gpt2", "-o", folder / "gpt2.heddle",
        *(word for key, value in sizes.items() for word in ("--set", f"{key}={value}")))
    run(f"{arguments.bin}/heddle-run", "train", folder / "gpt2.heddle", "--weights", folder / "gpt2", "--text", folder / "text",
        "--documents", "file", "--checkpoint", folder / "checkpoint", "--save-every", 0, "--log", folder / "log", "--steps",
        arguments.steps, "--seed", arguments.seed, *(["--device", arguments.device] if arguments.device else []))
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def by_torch(arguments, config, tensors, batches):
    """Yields each step's loss and seconds."""
    model = Gpt2(config, tensors)
    weights = list(model.tensors.values())
    optimizer = torch.optim.Adam(weights, betas=BETAS, eps=EPSILON)
    for step in range(1, arguments.steps + 1):
        start = time.monotonic()
        optimizer.zero_grad()
        loss = model.loss(next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, CLIP)
        optimizer.param_groups[0]["lr"] = rate(step, arguments.steps)
        optimizer.step()
        yield loss.item(), time.monotonic() - start


def compare(records, sequences, arguments, config, tensors):
    batches = make_batches(sequences, arguments.tokens, arguments.steps, arguments.seed)
    for record in records:
        tokens = sum(len(ids) - 1 for ids in next(batches))
        if record["target_tokens"] != tokens:
            sys.exit(f"step {record['step']}: heddle-run's batch has {record['target_tokens']} tokens, not the {tokens} of the "
                     "batch made here")
    batches = make_batches(sequences, arguments.tokens, arguments.steps, arguments.seed)
    ours, theirs, seconds = [record["loss"] for record in records], [], []
    for loss, time_of_step in by_torch(arguments, config, tensors, batches):
        theirs.append(loss)
        seconds.append(time_of_step)
        step = len(theirs)
        if step % max(1, arguments.steps // 20) == 0 or step == 1:
            print(f"step {step}: {ours[step - 1]:.6f} beside {loss:.6f}, {abs(ours[step - 1] / loss - 1):.1e}", flush=True)
    return np.array(ours), np.array(theirs), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build" / "bin"))
    parser.add_argument("--device", help="as for heddle-run")
    parser.add_argument("--text", nargs="+", default=sorted(map(str, (ROOT / "docs").glob("*.md"))))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=128, help="of a step's batch at most")
    parser.add_argument("--merges", type=int, default=1500, help="byte pairs to learn")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the batches' order")
    parser.add_argument("--folder", help="where to keep model, text, log and checkpoint (default: nowhere)")
    arguments = parser.parse_args()
    shape = {"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257}
    if arguments.tiny:
        shape = {"n_layer": 2, "n_embd": 32, "n_head": 2, "vocab_size": 400}
        arguments.text = [ROOT / "LICENSE"]
        arguments.context, arguments.tokens, arguments.merges = 16, 64, 100

    text = "".join(Path(name).read_text() for name in arguments.text)
    end = shape["vocab_size"] - 1
    config = {**published.GPT2, **shape, "n_positions": arguments.context, "n_ctx": arguments.context, "bos_token_id": end,
              "eos_token_id": end}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        folder.mkdir(exist_ok=True)
        (folder / "text").write_text(text)
        vocabulary = learn_vocabulary(text, arguments.merges, shape["vocab_size"])
        tensors = published.write_folder(folder / "gpt2", config, draw_weights(config))
        vocabulary.write(folder / "gpt2")
        sequences = read_sequences(text, vocabulary, end, arguments.context)
        print(f"{sum(t.size for t in tensors.values()) / 1e6:.1f} million weights, text of "
              f"{sum(len(ids) - 1 for ids in sequences)} tokens in {len(sequences)} sequences", flush=True)
        records = by_heddle(arguments, folder)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    ours, theirs, seconds = compare(records, sequences, arguments, config, tensors)
    difference = np.abs(ours / theirs - 1)
    last = min(20, arguments.steps)
    result = {"steps": arguments.steps, "first": [ours[0], theirs[0]], "last": [ours[-last:].mean(), theirs[-last:].mean()],
              "first_difference": difference[0], "largest_difference": difference.max(),
              "largest_at": int(difference.argmax()) + 1,
              "last_difference": abs(ours[-last:].mean() / theirs[-last:].mean() - 1),
              "step_seconds": [float(np.median([record["seconds"] for record in records])), float(np.median(seconds))],
              "heddle_peak_mib": memory // 1024}
    print(json.dumps(result))
    if difference[0] > SAME_BATCH:
        sys.exit(f"the losses of the first step, {ours[0]} and {theirs[0]}, are not of the same weights and batch")
    if difference.max() > BOUND:
        sys.exit(f"step {difference.argmax() + 1}: loss {ours[difference.argmax()]} beside {theirs[difference.argmax()]}, "
                 f"more than {BOUND:.0%} off")


if __name__ == "__main__":
    main()
