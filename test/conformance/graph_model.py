"""Compares graph attention networks with PyTorch with a message per edge: logits, every gradient, 20 losses of Adam in
`heddle-run train` on records with edges, and the answers of `predict`.

    graph_model.py --bin build/bin --model models/graph-attention.weft --score dynamic|additive [--target NAME [--lanes N]]

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
from graphs import attend
from labels import BOUND, CLASSES, draw_weights, pack
from language_model import RATE, STEPS, WARMUP, compare, torch_losses
from compiled import Model, Report, default_target, relative, run

NEIGHBOURS, NODES_AND_EDGES = 9, [(1, 1), (7, 20), (33, 150), (12, 0)]
SIZES = {"width": 36, "heads": 3, "layers": 2, "neighbours": NEIGHBOURS, "classes": CLASSES, "vocab_size": 60, "max_tokens": 120,
         "max_sequences": 5, "max_length": 40, "warmup": WARMUP, "learning_rate": RATE, "accumulate": True,
         "explain_entry": True}


class Network:
    def __init__(self, score, weights):
        self.score = score
        self.weights = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
                        for name, value in weights.items() if tensor_files.is_weight(name)}

    def linear(self, x, name):
        bias = self.weights.get(f"{name}.bias")
        return x @ self.weights[f"{name}.weight"] + (0 if bias is None else bias)

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.gamma"], self.weights[f"{name}.beta"])

    def logits(self, ids, edges, maps=None):
        """Returns the logits of each node. `maps` receives for each layer the weights of the first nodes, as many nodes
        as a head has columns."""
        h = self.weights["table"][ids]
        for layer in range(SIZES["layers"]):
            at = f"nodes.{layer}"
            part = lambda name: self.linear(h, f"{at}.seen.{name}")
            if maps is not None:
                one_hot = torch.eye(len(h), SIZES["width"] // SIZES["heads"], dtype=h.dtype).repeat(1, SIZES["heads"])
                maps.append(attend(self.score, SIZES["heads"], part("query"), part("key"), one_hot,
                                   self.weights.get(f"{at}.seen.scores.a"), edges))
            seen = attend(self.score, SIZES["heads"], part("query"), part("key"), part("value"), self.weights.get(f"{at}.seen.scores.a"),
                          edges)
            seen = self.norm(h + seen, f"{at}.seen")
            h = self.norm(seen + self.linear(F.relu(self.linear(seen, f"{at}.norm.inner")), f"{at}.norm.outer"), f"{at}.norm")
        return self.linear(h, "output")

    def loss(self, batch):
        logits = torch.cat([self.logits(ids, edges)[places] for ids, places, _, edges in batch])
        return F.cross_entropy(logits, torch.tensor([label for _, _, labels, _ in batch for label in labels]))


def draw_edges(nodes, count, random):
    """Draws pairs (to, from) within the limits of neighbours and users per node."""
    edges, degrees, uses = [], [0] * nodes, [0] * nodes
    for _ in range(count):
        to, source = (int(random.integers(nodes)) for _ in range(2))
        if degrees[to] < NEIGHBOURS and uses[source] < NEIGHBOURS:
            edges.append((to, source))
            degrees[to] += 1
            uses[source] += 1
    return edges


def as_tensor(edges):
    return torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T


def lists_of(batch):
    nodes = sum(len(ids) for ids, *_ in batch)
    lists = {name: np.zeros((nodes, NEIGHBOURS) if name in ("neighbours", "users", "slots") else nodes, np.int32)
             for name in ("neighbours", "degrees", "users", "slots", "uses")}
    first = 0
    for ids, _, _, edges in batch:
        for to, source in (edges + first).T.tolist():
            degree, use = lists["degrees"][to], lists["uses"][source]
            lists["neighbours"][to, degree], lists["users"][source, use], lists["slots"][source, use] = source, to, degree
            lists["degrees"][to] += 1
            lists["uses"][source] += 1
        first += len(ids)
    return {f"source_{name}": value for name, value in lists.items()}


def check_explanation(report, model, oracle, batch, inputs):
    width = SIZES["width"] // SIZES["heads"]
    slots = np.concatenate([np.minimum(np.arange(len(ids)), width) for ids, *_ in batch]).astype(np.int32)
    names = [f"weights.source.nodes.{layer}" for layer in range(SIZES["layers"])]
    actual = model.call("explain", inputs | {"source_key_slots": slots}, names, variables="start.safetensors")
    expected = []
    with torch.no_grad():
        for ids, _, _, edges in batch:
            maps = []
            oracle.logits(ids, edges, maps)
            expected.append(torch.stack(maps))
    for name, weights, wanted in zip(names, actual, torch.cat(expected, 1), strict=True):
        report.check(name, relative(weights, wanted.numpy()), BOUND)


def check_entries(report, model, folder, score):
    random = np.random.default_rng(5)
    batch = []
    for nodes, edges in NODES_AND_EDGES:
        places = list(range(0, nodes, 2))
        batch.append((random.integers(3, SIZES["vocab_size"], nodes).tolist(), places,
                      random.integers(0, CLASSES, len(places)).tolist(), as_tensor(draw_edges(nodes, edges, random))))
    oracle = Network(score, draw_weights(model, folder, random))
    plain, _, scaled = pack([graph[:3] for graph in batch], tags=True)
    lists = lists_of(batch)
    (logits,) = model.call("logits", plain | lists, ["logits"], variables="start.safetensors")
    expected = torch.cat([oracle.logits(ids, edges) for ids, _, _, edges in batch])
    report.check("logits", relative(logits, expected.detach().numpy()), BOUND)
    check_explanation(report, model, oracle, batch, plain | lists)
    oracle.loss(batch).backward()
    model.call("accumulate_step", scaled | lists, ["loss"], variables="start.safetensors", save="after.safetensors")
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    worst = max((relative(after[f"grad.{name}"], weight.grad.numpy()), name)
                for name, weight in oracle.weights.items() if weight.grad.abs().max() > 1e-7)
    report.check(f"worst gradient, {worst[1]}", worst[0], BOUND)


def check_training(report, arguments, model, folder):
    """Words are `a0`, `a1`, ..., so a vocabulary of words knows each. Edges connect words, which follow the begin
    mark."""
    random = np.random.default_rng(6)
    names, graphs = "ABCDE", []
    for nodes, edges in NODES_AND_EDGES:
        words = [f"a{random.integers(30)}" for _ in range(nodes)]
        graphs.append((words, draw_edges(nodes, edges, random), [names[int(word[1:]) % CLASSES] for word in words]))
    with open(f"{folder}/records.jsonl", "w") as file:
        for words, edges, labels in graphs:
            print(json.dumps({"tokens": words, "edges": [[source, to] for to, source in edges], "labels": labels}), file=file)
    flags = ["--data", f"{folder}/records.jsonl", "--checkpoint", f"{folder}/ck", "--vocab-type", "word"]
    run([f"{arguments.bin}/heddle-run", "train", model.artifact, *flags, "--log", f"{folder}/log", "--steps", str(STEPS), "--seed", "1"])
    tokens = subprocess.run([f"{arguments.bin}/heddle-run", "tokenize", f"{folder}/ck"], capture_output=True, text=True, check=True,
                            input="".join(" ".join(words) + "\n" for words, _, _ in graphs)).stdout
    known = json.loads(next(Path(folder, "ck").glob("step-*/labels.json")).read_text())
    batch = []
    for line, (words, edges, labels) in zip(tokens.splitlines(), graphs, strict=True):
        ids = [int(number) for number in line.split("\t")[0].split()]
        batch.append(([1, *ids, 2], list(range(1, 1 + len(words))), [known.index(label) for label in labels],
                      as_tensor(edges) + 1))
    model.call("init", save="drawn.safetensors", extra=["--seed", "1"])
    oracle = Network(arguments.score, tensor_files.load_safetensors(f"{folder}/drawn.safetensors"))
    actual = [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]
    compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.loss(batch)))
    said = subprocess.run([f"{arguments.bin}/heddle-run", "predict", model.artifact, "--checkpoint", f"{folder}/ck", "--records"],
                          input=Path(folder, "records.jsonl").read_text(), capture_output=True, text=True, check=True).stdout
    with torch.no_grad():
        choices = [oracle.logits(ids, edges)[places, :len(known)].argmax(-1).tolist() for ids, places, _, edges in batch]
    wanted = [" ".join(known[choice] for choice in line) for line in choices]
    report.check("predictions that differ", sum(a != b for a, b in zip(said.splitlines(), wanted, strict=True)), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--score", choices=("dynamic", "additive"), required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--lanes", type=int, help="of a subgroup, for vulkan:portable")
    arguments = parser.parse_args()
    flags = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        with Model(arguments, SIZES | {"score": arguments.score}, folder, arguments.target, flags=flags) as model:
            check_entries(report, model, folder, arguments.score)
            if arguments.target == default_target():
                check_training(report, arguments, model, folder)
    print(f"{arguments.score}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
