"""Compares models that predict labels with PyTorch: logits, every gradient, and 20 losses of Adam in `heddle-run train
--data`.

    labels.py --bin build/bin --case NAME

Tests the library's `classifier` (with each of its pools) and `tagger`, on texts of 1, 7, 33 and 12 tokens; the tagger's
middle tokens have no label. The training's batches hold all records. `pretrain` tests the library's `pretraining`
(hidden words and pairs of sentences) through its entries, with 20 steps of Adam."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F

import reference
import tensor_files
from language_model import RATE, STEPS, WARMUP, compare, torch_losses
from compiled import Model, Report, relative, run
from tokenize_lines import CORPUS

BOUND = 1e-5
CLASSES = 5
LENGTHS = (1, 7, 33, 12)
SIZES = {"d_model": 36, "heads": 3, "d_ff": 50, "encoder_layers": 2, "vocab_size": 400, "classes": CLASSES, "max_tokens": 700,
         "max_sequences": 40, "max_length": 64, "warmup": WARMUP, "learning_rate": RATE, "dropout": 0.0, "label_smoothing": 0.0,
         "accumulate": True}
CASES = {"first": ("classifier", {"pool": "first"}), "last": ("classifier", {"pool": "last", "norm": "pre"}),
         "average": ("classifier", {"pool": "average", "positions": "learned"}), "largest": ("classifier", {"pool": "largest"}),
         "tag": ("tagger", {"norm": "pre"}),
         "pretrain": ("pretraining", {"activation": "gelu", "token_types": 2})}


class Labeller(reference.Transformer):
    def states(self, ids, types=None):
        x = self.embed(torch.tensor(ids), "source_embedding")
        if types is not None:
            x = x + self.weights["token_types"][types]
        for i in range(self.config["encoder_layers"]):
            layer = f"encoder.{i}."
            x = self.residual(x, layer + "norm1", lambda h: self.attention(h, h, layer + "self", False))
            x = self.residual(x, layer + "norm2", lambda h: self.feed_forward(h, layer + "feed_forward"))
        return self.final(x, "encoder")

    def label_logits(self, ids):
        x = self.states(ids)
        pool = self.config.get("pool")
        x = {"first": x[:1], "last": x[-1:], "average": x.mean(0, keepdim=True),
             "largest": x.amax(0, keepdim=True)}.get(pool, x)
        return self.linear(x, "label")

    def label_loss(self, batch):
        """Returns the loss of texts with labels at given places, or with a single label."""
        logits = torch.cat([self.label_logits(ids)[list(places)] for ids, places, _ in batch])
        return F.cross_entropy(logits, torch.tensor([label for _, _, labels in batch for label in labels]))


class Guesser(Labeller):
    """Guesses hidden words, and whether one sentence follows another."""

    def both_logits(self, ids, places, types):
        x = self.states(ids, types)
        words = self.norm(F.gelu(self.linear(x[list(places)], "head")), "head.norm") @ self.table("projection").t()
        return words, self.linear(torch.tanh(self.linear(x[:1], "pooler")), "next")

    def both_losses(self, batch, types, follows):
        words, sentences = zip(*(self.both_logits(ids, places, kinds) for (ids, places, _), kinds in zip(batch, types)))
        labels = torch.tensor([label for _, _, labels in batch for label in labels])
        return F.cross_entropy(torch.cat(words), labels), F.cross_entropy(torch.cat(sentences), torch.tensor(follows))


def pack(batch, tags):
    i32 = lambda values: np.asarray(values, np.int32)
    lengths = [len(ids) for ids, _, _ in batch]
    starts = np.cumsum([0] + lengths[:-1])
    inputs = {"source": i32([token for ids, _, _ in batch for token in ids]), "source_starts": i32(starts),
              "source_lengths": i32(lengths), "source_positions": i32([p for length in lengths for p in range(length)])}
    labels = [label for _, _, labels in batch for label in labels]
    with_labels = dict(inputs, source_label=i32(labels))
    if tags:
        with_labels["source_labelled"] = i32([start + place for start, (_, places, _) in zip(starts, batch) for place in places])
    return inputs, with_labels, dict(with_labels, token_scale=np.asarray([1 / len(labels)], np.float32))


def draw_weights(model, folder, random):
    model.call("init", save="start.safetensors", extra=["--seed", "1"])
    start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
    for name, value in start.items():
        if tensor_files.is_weight(name) and name.endswith((".bias", ".beta", ".gamma")):
            start[name] = (value + 0.1 * random.standard_normal(value.shape)).astype(np.float32)
    tensor_files.save_safetensors(f"{folder}/start.safetensors", start)
    return start


def check_entries(report, model, folder, config, tags):
    """Compares logits, losses, choices and gradients of the entries."""
    random = np.random.default_rng(5)
    batch = []
    for length in LENGTHS:
        places = [p for p in range(length) if p % 3 != 1] if tags else [0]
        batch.append((random.integers(3, config["vocab_size"], length).tolist(), places,
                      random.integers(0, CLASSES, len(places)).tolist()))
    oracle = Labeller(config, draw_weights(model, folder, random))
    plain, labelled, scaled = pack(batch, tags)
    (logits,) = model.call("logits", plain, ["logits"], variables="start.safetensors")
    expected = torch.cat([oracle.label_logits(ids) for ids, _, _ in batch])
    report.check("logits", relative(logits, expected.detach().numpy()), BOUND)
    losses, choices = model.call("eval", labelled, ["token_loss", "choice"])
    loss = oracle.label_loss(batch)
    report.check("mean of the token losses", relative([losses.mean()], [loss.item()]), BOUND)
    report.check("choices that differ", int((choices != expected.argmax(-1).numpy()).sum()), 0)
    loss.backward()
    model.call("accumulate_step", scaled, ["loss"], variables="start.safetensors", save="after.safetensors")
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    worst = max((relative(after[f"grad.{name}"], weight.grad.numpy()), name)
                for name, weight in oracle.weights.items() if weight.grad.abs().max() > 1e-7)
    report.check(f"worst gradient, {worst[1]}", worst[0], BOUND)


def check_pretraining(report, model, folder, config):
    random = np.random.default_rng(6)
    oracle = Guesser(config, draw_weights(model, folder, random))
    batch, types, follows = [], [], []
    for length in LENGTHS:
        places = [p for p in range(length) if p % 7 == 0]
        batch.append((random.integers(3, config["vocab_size"], length).tolist(), places,
                      random.integers(3, config["vocab_size"], len(places)).tolist()))
        types.append([int(p > length // 2) for p in range(length)])
        follows.append(int(random.integers(0, 2)))
    _, labelled, scaled = pack(batch, tags=True)
    i32 = lambda values: np.asarray(values, np.int32)
    more = {"source_types": i32([kind for kinds in types for kind in kinds]), "source_follows": i32(follows)}
    step = {**scaled, **more, "sentence_scale": np.asarray([1 / len(batch)], np.float32)}
    words, choices, sentences, sentence_choices = model.call(
        "eval", {**labelled, **more}, ["token_loss", "choice", "sentence_loss", "sentence_choice"], variables="start.safetensors")
    losses = oracle.both_losses(batch, types, follows)
    report.check("mean loss of words", relative([words.mean()], [losses[0].item()]), BOUND)
    report.check("mean loss of sentences", relative([sentences.mean()], [losses[1].item()]), BOUND)
    logits = [oracle.both_logits(ids, places, kinds) for (ids, places, _), kinds in zip(batch, types)]
    for name, given, index in (("words", choices, 0), ("sentences", sentence_choices, 1)):
        expected = torch.cat([both[index] for both in logits]).argmax(-1).numpy()
        report.check(f"choices of {name} that differ", int((given != expected).sum()), 0)
    sum(losses).backward()
    model.call("accumulate_step", step, ["loss"], variables="start.safetensors", save="after.safetensors")
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    worst = max((relative(after[f"grad.{name}"], weight.grad.numpy()), name)
                for name, weight in oracle.weights.items() if weight.grad.abs().max() > 1e-7)
    report.check(f"worst gradient, {worst[1]}", worst[0], BOUND)
    oracle = Guesser(config, tensor_files.load_safetensors(f"{folder}/start.safetensors"))
    actual = [model.call("train_step", step, ["loss"], variables=None if i else "start.safetensors")[0].item()
              for i in range(STEPS)]
    compare(report, actual, torch_losses(oracle.weights.values(), lambda step: sum(oracle.both_losses(batch, types, follows))))


def check_training(report, arguments, model, folder, config, tags):
    """Compares the losses of 20 steps on records, some with one word and one of the maximum length."""
    words = CORPUS.split()
    texts = [words[3 * i:3 * i + count] for i, count in enumerate((1, 1, 7, 33, 2, 5, 12, 62))]
    names = "ABCDE"
    labels = [[names[len(word) % CLASSES] for word in text] for text in texts]
    with open(f"{folder}/records.jsonl", "w") as file:
        for number, (text, own) in enumerate(zip(texts, labels)):
            if tags:  # words as a list or as a text
                record = {"tokens": text, "labels": own} if number % 2 else {"text": " ".join(text), "labels": own}
            else:
                record = {"text": " ".join(text), "label": own[0]}
            print(json.dumps(record), file=file)
    flags = ["--data", f"{folder}/records.jsonl", "--checkpoint", f"{folder}/ck", "--vocab-type", "word"]
    run([f"{arguments.bin}/heddle-run", "train", model.artifact, *flags, "--log", f"{folder}/log", "--steps", str(STEPS), "--seed",
         "1"])
    said = subprocess.run([f"{arguments.bin}/heddle-run", "tokenize", f"{folder}/ck"], capture_output=True, text=True, check=True,
                          input="".join(" ".join(text) + "\n" for text in texts)).stdout
    known = json.loads(next(Path(folder, "ck").glob("step-*/labels.json")).read_text())
    batch = []
    for line, text, own in zip(said.splitlines(), texts, labels):
        ids = [int(number) for number in line.split("\t")[0].split()]
        report.failed += len(ids) != len(text)
        places = range(1, 1 + len(text)) if tags else [0]
        batch.append(([1, *ids, 2], places, [known.index(label) for label in (own if tags else own[:1])]))
    model.call("init", save="drawn.safetensors", extra=["--seed", "1"])
    oracle = Labeller(config, tensor_files.load_safetensors(f"{folder}/drawn.safetensors"))
    actual = [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]
    compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.label_loss(batch)))

    # The output of `score` and `predict` for the trained weights.
    with torch.no_grad():
        loss = oracle.label_loss(batch).item()
        logits = [oracle.label_logits(ids)[list(places)] for ids, places, _ in batch]
    right = sum((row.argmax(-1) == torch.tensor(own)).sum().item() for row, (_, _, own) in zip(logits, batch))
    run([f"{arguments.bin}/heddle-run", "score", model.artifact, "--checkpoint", f"{folder}/ck", "--data",
         f"{folder}/records.jsonl", "--log", f"{folder}/score"])
    score = json.loads(Path(folder, "score").read_text())
    report.check("the loss of `score`", relative([score["loss"]], [loss]), 1e-4)
    report.check("labels counted", abs(score["labels"] - sum(len(own) for _, _, own in batch)), 0)
    report.check("the accuracy of `score`", abs(score["accuracy"] - right / score["labels"]), 1e-9)
    records = Path(folder, "records.jsonl").read_text()
    for flags, lines in (([], "".join(" ".join(text) + "\n" for text in texts)), (["--records"], records)):
        said = subprocess.run([f"{arguments.bin}/heddle-run", "predict", model.artifact, "--checkpoint", f"{folder}/ck", *flags],
                              input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
        wanted = [[known[i] for i in row[:, :len(known)].argmax(-1)] for row in logits]
        given = [line.split() if tags else line.split("\t")[:1] for line in said]
        report.check("predictions that differ", sum(a != b for a, b in zip(given, wanted, strict=True)), 0)
        if not tags:
            shares = [torch.softmax(row[0, :len(known)], 0).max().item() for row in logits]
            report.check("probabilities", relative([float(line.split("\t")[1]) for line in said], shares), 1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    arguments = parser.parse_args()
    text, changes = CASES[arguments.case]
    sizes = {key: value for key, value in SIZES.items() if text != "pretraining" or key != "classes"}
    config = {"norm": "post", "positions": "sinusoidal", "layer_norm_epsilon": 1e-5, **sizes, **changes}
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.toml").write_text(f'model = "{text}.weft"\n')
        model = SimpleNamespace(bin=arguments.bin, model=f"{folder}/model.toml")
        with Model(model, {**sizes, **changes}, folder) as model:
            if text == "pretraining":
                check_pretraining(report, model, folder, config)
            else:
                check_entries(report, model, folder, config, tags=text == "tagger")
                check_training(report, arguments, model, folder, config, tags=text == "tagger")
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
