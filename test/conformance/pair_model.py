"""Compares models of pairs of texts with PyTorch, pair by pair: logits, every gradient, and 20 losses of Adam in
`heddle-run train` on records; then the output of `score` and `predict`.

    pair_model.py --bin build/bin --models models --case NAME [--target NAME [--lanes N]]

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
from labels import BOUND, CLASSES, draw_weights
from language_model import RATE, STEPS, WARMUP, compare, torch_losses
from compiled import Model, Report, default_target, relative, run

SIZES = {"width": 20, "vocab_size": 60, "max_tokens": 120, "max_sequences": 6, "max_length": 40, "warmup": WARMUP, "learning_rate": RATE,
         "accumulate": True}
CASES = {**{f"bcnn-{kind}": ("bcnn", {"classes": CLASSES, "attention": kind, "blocks": 1 if kind == "none" else 2})
            for kind in ("none", "inputs", "pooling", "both")},
         "bcnn-wide": ("bcnn", {"classes": CLASSES, "attention": "both", "w": 4}),
         "mpcnn": ("mpcnn", {"attention": "none", "filters": 12, "hidden": 16}),
         "mpcnn-inputs": ("mpcnn", {"attention": "inputs", "filters": 12, "hidden": 16}),
         "coattention": ("coattention", {"classes": CLASSES, "attention": "parallel"}),
         "coattention-none": ("coattention", {"classes": CLASSES, "attention": "none"})}
LENGTHS = [(1, 12), (7, 1), (33, 7), (12, 33), (1, 1)]  # lengths of the left and the right text


def windows(x, first, last):
    """Concatenates to each row the rows from `first` to `last` rows further on, with zeros beyond the ends."""
    padded = F.pad(x, (0, 0, max(-first, 0), max(last, 0)))
    return torch.cat([padded[max(-first, 0) + i:][:len(x)] for i in range(first, last + 1)], 1)


class Network:
    def __init__(self, weights, config):
        self.weights = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
                        for name, value in weights.items() if tensor_files.is_weight(name)}
        self.config = config

    def linear(self, x, name):
        y = x @ self.weights[f"{name}.weight"]
        return y + self.weights[f"{name}.bias"] if f"{name}.bias" in self.weights else y

    def embed(self, ids):
        return self.weights["table"][torch.tensor(ids)]

    def loss(self, batch):
        logits = torch.stack([self.logits(left, right) for left, right, _ in batch])
        truth = torch.tensor([truth for _, _, truth in batch])
        return ((logits - truth) ** 2).mean() if logits.dim() == 1 else F.cross_entropy(logits, truth)


class Bcnn(Network):
    @staticmethod
    def match(x, y):
        return 1 / (1 + ((x[:, None] - y[None]) ** 2).sum(-1).add(1e-6).sqrt())

    def pool(self, x):
        w, before = self.config.get("w", 3), self.config.get("w", 3) // 2
        return windows(x, -before, w - 1 - before).reshape(len(x), w, -1).mean(1)

    def logits(self, left, right):
        x, y, above = self.embed(left), self.embed(right), 0
        inputs, pooling = (self.config["attention"] in (kind, "both") for kind in ("inputs", "pooling"))
        w, before = self.config.get("w", 3), self.config.get("w", 3) // 2
        for block in range(self.config.get("blocks", 1)):
            name = next(n for n in self.weights if n.endswith(f"{block}.kernel"))[:-len("kernel")]
            if inputs:
                scores, seen = self.match(x, y), self.weights[f"{name}seen"]
                x, y = torch.cat([x, scores @ seen[:len(y)]], 1), torch.cat([y, scores.t() @ seen[:len(x)]], 1)
            f, g = (torch.tanh(windows(z, -before, w - 1 - before) @ self.weights[f"{name}kernel"] + self.weights[f"{name}bias"])
                    for z in (x, y))
            scores = self.match(f, g) if pooling else torch.ones(len(f), len(g), dtype=f.dtype)
            x, y = (self.pool(f * scores.sum(1, keepdim=True)), self.pool(g * scores.sum(0)[:, None])) if pooling else (self.pool(f), self.pool(g))
            above = above + self.linear(torch.cat([x.mean(0), y.mean(0)]), f"{name}label")
        return above


class Coattention(Network):
    def logits(self, left, right):
        q, v = (torch.tanh(windows(self.embed(ids), -1, 1) @ self.weights["phrase"]) for ids in (left, right))
        if self.config["attention"] == "parallel":
            affinity = torch.tanh(self.linear(q, "affine") @ v.t())
            a, b = self.linear(q, "a"), self.linear(v, "b")
            of_q, of_v = torch.tanh(a + affinity @ b), torch.tanh(b + affinity.t() @ a)
            q = torch.softmax(of_q @ self.weights["q.whole.w"], 0) @ q
            v = torch.softmax(of_v @ self.weights["v.whole.w"], 0) @ v
        else:
            q, v = q.mean(0), v.mean(0)
        return self.linear(torch.tanh(self.linear(q + v, "inner")), "label")


class Mpcnn(Network):
    def logits(self, left, right):
        x, y = self.embed(left), self.embed(right)
        if self.config["attention"] == "inputs":
            unit = lambda z: z * (z ** 2).sum(-1, keepdim=True).add(1e-6).rsqrt()
            cosines = unit(x) @ unit(y).t()
            weigh = lambda z, sums: torch.cat([z, z * len(z) * torch.softmax(sums, 0)[:, None]], 1)
            x, y = weigh(x, cosines.sum(1)), weigh(y, cosines.sum(0))
        sides = [[], []]  # pools of each side, by width
        for n, width in enumerate(("", "_2", "_3"), 1):
            for side, z in zip(sides, (x, y)):
                f = torch.tanh(windows(z, 1 - n, 0) @ self.weights[f"kernel{width}"] + self.weights[f"bias{width}"])
                side.append((f.amax(0), f.amin(0), f.mean(0)))
        features = []
        for pool in range(3):
            a, b = (torch.stack([pools[pool] for pools in side]) for side in sides)
            cosine = lambda dot, x, y: dot * (x * y + 1e-6).rsqrt()
            distance = lambda squares: (squares + 1e-6).sqrt()
            angles = cosine((a * b).sum(0), (a ** 2).sum(0), (b ** 2).sum(0))
            features += [angles, distance(((a - b) ** 2).sum(0))]
            for one in a:
                for other in b:
                    angle = cosine(one @ other, one @ one, other @ other)[None]
                    features += [angle, distance(((one - other) ** 2).sum())[None], (one - other).abs()]
        return self.linear(torch.tanh(self.linear(torch.cat(features), "inner")), "grade")[0]


NETWORKS = {"bcnn": Bcnn, "coattention": Coattention, "mpcnn": Mpcnn}


def pack(batch):
    i32 = lambda values: np.asarray(values, np.int32)
    inputs = {}
    for side, name in enumerate(("left", "right")):
        texts = [pair[side] for pair in batch]
        lengths = [len(text) for text in texts]
        inputs |= {name: i32(sum(texts, [])), f"{name}_positions": i32([place for length in lengths for place in range(length)]),
                   f"{name}_starts": i32(np.cumsum([0] + lengths[:-1])), f"{name}_lengths": i32(lengths)}
    truth = [truth for _, _, truth in batch]
    told = {"pair_grade": np.asarray(truth, np.float32)} if isinstance(truth[0], float) else {"pair_label": i32(truth)}
    return inputs, {**inputs, **told, "token_scale": np.asarray([1 / len(batch)], np.float32)}


def check_entries(report, model, folder, network, config):
    random = np.random.default_rng(5)
    draw = lambda length: random.integers(3, SIZES["vocab_size"], length).tolist()
    batch = [(draw(left), draw(right), int(random.integers(0, CLASSES)) if "classes" in config else float(np.float32(random.normal())))
             for left, right in LENGTHS]
    batch[1][0][3] = batch[1][1][0]  # a word that occurs in both texts
    oracle = network(draw_weights(model, folder, random), config)
    plain, told = pack(batch)
    (logits,) = model.call("logits", plain, ["logits"], variables="start.safetensors")
    expected = torch.stack([oracle.logits(left, right) for left, right, _ in batch])
    report.check("logits", relative(logits, expected.detach().numpy()), BOUND)
    oracle.loss(batch).backward()
    model.call("accumulate_step", told, ["loss"], variables="start.safetensors", save="after.safetensors")
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    worst = max((relative(after[f"grad.{name}"], weight.grad.numpy()), name)
                for name, weight in oracle.weights.items() if weight.grad.abs().max() > 1e-7)
    report.check(f"worst gradient, {worst[1]}", worst[0], BOUND)


def check_training(report, arguments, model, folder, network, config):
    random = np.random.default_rng(6)
    draw = lambda length: [f"a{random.integers(30)}" for _ in range(length)]
    texts = [(draw(left), draw(right)) for left, right in LENGTHS]
    graded = "classes" not in config
    truth = [round(len(set(left) & set(right)) + 0.25, 3) if graded else "ABCDE"[int(left[0][1:]) % CLASSES] for left, right in texts]
    with open(f"{folder}/records.jsonl", "w") as file:
        for (left, right), own in zip(texts, truth):
            print(json.dumps({"left": " ".join(left), "right": " ".join(right), "grade" if graded else "label": own}), file=file)
    tool = [f"{arguments.bin}/heddle-run"]
    data, checkpoint = ["--data", f"{folder}/records.jsonl"], ["--checkpoint", f"{folder}/ck"]
    run([*tool, "train", model.artifact, *data, *checkpoint, "--vocab-type", "word", "--log", f"{folder}/log", "--steps", str(STEPS),
         "--seed", "1"])
    lines = [" ".join(text) for pair in texts for text in pair]
    said = subprocess.run([*tool, "tokenize", f"{folder}/ck"], capture_output=True, text=True, check=True,
                          input="".join(line + "\n" for line in lines)).stdout.splitlines()
    ids = [[1, *(int(number) for number in line.split("\t")[0].split()), 2] for line in said]
    known = [] if graded else json.loads(next(Path(folder, "ck").glob("step-*/labels.json")).read_text())
    batch = [(left, right, own if graded else known.index(own)) for left, right, own in zip(ids[::2], ids[1::2], truth, strict=True)]
    model.call("init", save="drawn.safetensors", extra=["--seed", "1"])
    oracle = network(tensor_files.load_safetensors(f"{folder}/drawn.safetensors"), config)
    actual = [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]
    compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.loss(batch)))

    with torch.no_grad():
        logits = torch.stack([oracle.logits(left, right) for left, right, _ in batch]).numpy()
    run([*tool, "score", model.artifact, *checkpoint, *data, "--log", f"{folder}/score"])
    score = json.loads(Path(folder, "score").read_text())
    said = subprocess.run([*tool, "predict", model.artifact, *checkpoint, "--records"], capture_output=True, text=True, check=True,
                          input=Path(folder, "records.jsonl").read_text()).stdout.splitlines()
    plain = subprocess.run([*tool, "predict", model.artifact, *checkpoint], capture_output=True, text=True, check=True,
                           input="".join("\t".join(pair) + "\n" for pair in zip(lines[::2], lines[1::2]))).stdout.splitlines()
    report.check("answers to lines that are not those to records", sum(a != b for a, b in zip(said, plain, strict=True)), 0)
    if graded:
        report.check("the squared error of `score`", relative([score["mean_squared_error"]], [((logits - truth) ** 2).mean()]), 1e-4)
        report.check("the correlation of `score`", relative([score["pearson"]], [np.corrcoef(logits, truth)[0, 1]]), 1e-4)
        report.check("grades of `predict`", relative([float(line) for line in said], logits), 1e-4)
    else:
        right = (logits[:, :len(known)].argmax(-1) == [own for _, _, own in batch]).mean()
        report.check("the accuracy of `score`", abs(score["accuracy"] - right), 1e-9)
        wanted = [known[i] for i in logits[:, :len(known)].argmax(-1)]
        report.check("labels of `predict` that differ", sum(line.split("\t")[0] != own for line, own in zip(said, wanted, strict=True)), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--lanes", type=int, help="of a subgroup, for vulkan:portable")
    arguments = parser.parse_args()
    flags = [f"--lanes={arguments.lanes}"] if arguments.lanes else []
    text, config = CASES[arguments.case]
    arguments.model = f"{arguments.models}/{text}.weft"
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        with Model(arguments, SIZES | config, folder, arguments.target, flags=flags) as model:
            check_entries(report, model, folder, NETWORKS[text], config)
            if arguments.target == default_target():
                check_training(report, arguments, model, folder, NETWORKS[text], config)
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
