"""Compares classifiers of texts with PyTorch, text by text and, if the model knows sentences, sentence by sentence:
logits, every gradient, and 20 losses of Adam in `heddle-run train` on records.

    sentence_model.py --bin build/bin --models models --model memory-network [--set name=value]... [--target NAME [--lanes N]]

If --target is given, it stops before the training."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import tensor_files
from labels import BOUND, CLASSES, draw_weights, pack
from language_model import RATE, STEPS, WARMUP, compare, torch_losses
from compiled import Model, Report, default_target, relative, run

SIZES = {"width": 20, "classes": CLASSES, "vocab_size": 60, "max_tokens": 120, "max_sequences": 5, "max_length": 60,
         "warmup": WARMUP, "learning_rate": RATE, "accumulate": True}
TEXTS = [[1], [3, 1, 7], [33], [5] * 9]  # the words of each sentence


class Network:
    SENTENCES = 0  # the text's parameter `sentences`, if it has one

    def __init__(self, weights):
        self.weights = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
                        for name, value in weights.items() if tensor_files.is_weight(name)}

    def linear(self, x, name, suffix=""):
        return x @ self.weights[f"{name}.weight{suffix}"] + self.weights[f"{name}.bias{suffix}"]

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.gamma"], self.weights[f"{name}.beta"])

    def loss(self, batch):
        logits = torch.stack([self.logits(torch.tensor(ids).split(lengths)) for ids, lengths, _ in batch])
        return F.cross_entropy(logits, torch.tensor([label for _, _, label in batch]))


class MemoryNetwork(Network):
    SENTENCES = 9
    HOPS = 2

    def remember(self, sentences, name):
        words = torch.stack([self.weights[f"{name}.words"][ids].mean(0) for ids in sentences])
        return words + self.weights[f"{name}.times"][: len(sentences)]

    def logits(self, sentences):
        keys = self.remember(sentences, "first")
        u = keys[-1]
        for hop in range(self.HOPS):
            values = self.remember(sentences, f"hop.{hop}.values")
            u, keys = u + torch.softmax(keys @ u, 0) @ values, values
        return self.linear(u, "output")


class HierarchicalAttention(Network):
    SENTENCES = 9

    def gather(self, x, name):
        shown = torch.tanh(self.linear(x, f"{name}.shown"))
        return torch.softmax(shown @ self.weights[f"{name}.context"], 0) @ x

    def logits(self, sentences):
        lines = torch.stack([self.gather(self.weights["table"][ids], "lines") for ids in sentences])
        told = self.norm(lines + self.linear(F.relu(self.linear(lines, "told.inner")), "told.outer"), "told")
        return self.linear(self.gather(told, "text"), "output")


class MultiDimensionalAttention(Network):
    def logits(self, sentences):
        ids = torch.cat(sentences)
        words = self.norm(self.weights["table"][ids] + self.weights["places"][: len(ids)], "words")
        shares = torch.softmax(self.linear(F.elu(self.linear(words, "inner")), "score"), 0)
        return self.linear((shares * words).sum(0), "output")


class MetaEmbeddings(Network):
    def lstm(self, x, name, suffix, reversed):
        kept, states = self.weights[f"{name}.state.weight{suffix}"], []
        h = c = torch.zeros(len(kept), dtype=x.dtype)
        for row in x.flip(0) if reversed else x:
            input, forget, cell, output = (self.linear(row, f"{name}.input", suffix) + h @ kept).chunk(4)
            c = torch.sigmoid(forget) * c + torch.sigmoid(input) * torch.tanh(cell)
            h = torch.sigmoid(output) * torch.tanh(c)
            states.append(h)
        return torch.stack(states[::-1] if reversed else states)

    def both_ways(self, x, name, suffix=""):
        return torch.cat([self.lstm(x, f"{name}.right", suffix, False), self.lstm(x, f"{name}.left", suffix, True)], 1)

    def logits(self, sentences):
        ids, words, scores = torch.cat(sentences), [], []
        for suffix in ("", "_2", "_3"):
            words.append(self.linear(self.weights[f"table{suffix}"][ids], "common", suffix))
            is_contextual = any(name.startswith("seen") for name in self.weights)
            seen = self.both_ways(words[-1], "seen", suffix) if is_contextual else words[-1]
            scores.append(seen @ self.weights[f"a{suffix}"])
        mixed = (torch.softmax(torch.stack(scores), 0)[..., None] * torch.stack(words)).sum(0)
        return self.linear(self.both_ways(mixed, "output").amax(0), "output")


NETWORKS = {"memory-network": MemoryNetwork, "hierarchical-attention": HierarchicalAttention,
            "multi-dimensional-attention": MultiDimensionalAttention, "meta-embeddings": MetaEmbeddings}


def lists_of(batch):
    i32 = lambda values: np.asarray(values, np.int32)
    counts = [len(lengths) for _, lengths, _ in batch]
    words = [length for _, lengths, _ in batch for length in lengths]
    starts = lambda lengths: i32(np.cumsum([0] + lengths[:-1]))
    return {"source_sentences": i32([place for count in counts for place in range(count)]), "source_sentences_starts": starts(counts),
            "source_sentences_lengths": i32(counts), "source_words_starts": starts(words), "source_words_lengths": i32(words)}


def check_entries(report, model, folder, network):
    random = np.random.default_rng(5)
    batch = [(random.integers(3, SIZES["vocab_size"], sum(lengths)).tolist(), lengths, int(random.integers(0, CLASSES)))
             for lengths in TEXTS]
    oracle = network(draw_weights(model, folder, random))
    plain, _, scaled = pack([(ids, [0], [label]) for ids, _, label in batch], tags=False)
    lists = lists_of(batch) if network.SENTENCES else {}
    (logits,) = model.call("logits", plain | lists, ["logits"], variables="start.safetensors")
    expected = torch.stack([oracle.logits(torch.tensor(ids).split(lengths)) for ids, lengths, _ in batch])
    report.check("logits", relative(logits, expected.detach().numpy()), BOUND)
    oracle.loss(batch).backward()
    model.call("accumulate_step", scaled | lists, ["loss"], variables="start.safetensors", save="after.safetensors")
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    worst = max((relative(after[f"grad.{name}"], weight.grad.numpy()), name)
                for name, weight in oracle.weights.items() if weight.grad.abs().max() > 1e-7)
    report.check(f"worst gradient, {worst[1]}", worst[0], BOUND)


def check_training(report, arguments, model, folder, network):
    """The begin mark belongs to the first sentence, and the end mark to the last."""
    random = np.random.default_rng(6)
    texts = [[[f"a{random.integers(30)}" for _ in range(length)] for length in lengths] for lengths in TEXTS]
    names = "ABCDE"
    labels = [names[int(text[0][0][1:]) % CLASSES] for text in texts]
    with open(f"{folder}/records.jsonl", "w") as file:
        for text, label in zip(texts, labels):
            sentences = [" ".join(words) for words in text]
            print(json.dumps({"text": sentences if network.SENTENCES else " ".join(sentences), "label": label}), file=file)
    run([f"{arguments.bin}/heddle-run", "train", model.artifact, "--data", f"{folder}/records.jsonl", "--checkpoint", f"{folder}/ck",
         "--vocab-type", "word", "--log", f"{folder}/log", "--steps", str(STEPS), "--seed", "1"])
    tokens = subprocess.run([f"{arguments.bin}/heddle-run", "tokenize", f"{folder}/ck"], capture_output=True, text=True, check=True,
                            input="".join(" ".join(sum(text, [])) + "\n" for text in texts)).stdout
    known = json.loads(next(Path(folder, "ck").glob("step-*/labels.json")).read_text())
    batch = []
    for line, text, label in zip(tokens.splitlines(), texts, labels, strict=True):
        lengths = [len(words) for words in text]
        lengths[0] += 1
        lengths[-1] += 1
        batch.append(([1, *(int(number) for number in line.split("\t")[0].split()), 2], lengths, known.index(label)))
    model.call("init", save="drawn.safetensors", extra=["--seed", "1"])
    oracle = network(tensor_files.load_safetensors(f"{folder}/drawn.safetensors"))
    actual = [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]
    compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.loss(batch)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--model", choices=NETWORKS, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the text")
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--lanes", type=int, help="of a subgroup, for vulkan:portable")
    arguments = parser.parse_args()
    flags = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
    network, arguments.model = NETWORKS[arguments.model], f"{arguments.models}/{arguments.model}.weft"
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        sizes = SIZES | {name: json.loads(value) for name, value in (setting.split("=") for setting in arguments.set)}
        if network.SENTENCES:
            sizes["sentences"] = network.SENTENCES
        with Model(arguments, sizes, folder, arguments.target, flags=flags) as model:
            check_entries(report, model, folder, network)
            if arguments.target == default_target():
                check_training(report, arguments, model, folder, network)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
