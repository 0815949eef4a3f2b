"""Compares training of a decoder-only model with PyTorch, from the same weights and batches: 20 losses of Adam.

    language_model.py --bin build/bin --model models/numbers.toml --case NAME

`steps` calls the entry with newly drawn batches, some sequences of which have a single token. `text`, `gpt2` and
`llama` train on a file with `heddle-run train --text`, whose batches hold the whole file. Some of its documents are
longer than a sequence, and the rest of one is a single token. `completions` trains on records of prompts. `gpt2` and
`llama` start from a published folder's weights and tokens."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import published
import reference
import subwords
import tensor_files
from compiled import Model, Report, relative, run
from tokenize_lines import CORPUS

BOUND = 1e-5
STEPS, WARMUP, RATE = 20, 10, 0.003
SIZES = {"architecture": "decoder", "encoder_layers": 0, "decoder_layers": 2, "d_model": 36, "heads": 3, "d_ff": 50,
         "vocab_size": 90, "max_tokens": 256, "max_sequences": 40, "max_length": 16, "warmup": WARMUP, "learning_rate": RATE,
         "norm": "pre", "positions": "learned", "label_smoothing": 0.0, "clip_norm": 0.0, "layer_norm_epsilon": 1e-5,
         "dropout": 0.0, "attention_dropout": 0.0}


def torch_losses(parameters, loss, steps=STEPS):
    """Yields the loss of each Adam step; `loss(step)` computes the loss of the step's batch."""
    optimizer = torch.optim.Adam(parameters, lr=1, betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        value = loss(step)
        value.backward()
        optimizer.param_groups[0]["lr"] = RATE * min(step / WARMUP, (WARMUP / step) ** 0.5)
        optimizer.step()
        yield value.item()


def compare(report, actual, expected):
    for step, (a, b) in enumerate(zip(actual, expected, strict=True), 1):
        report.check(f"loss of step {step}", relative([a], [b]), BOUND)


def steps(arguments, folder):
    report, random = Report(), np.random.default_rng(3)
    with Model(arguments, SIZES, folder) as model:
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        for name, value in start.items():
            if tensor_files.is_weight(name) and name.endswith((".bias", ".beta", ".gamma")):
                start[name] = (value + 0.1 * random.standard_normal(value.shape)).astype(np.float32)
        tensor_files.save_safetensors(f"{folder}/start.safetensors", start)
        oracle = reference.Decoder(SIZES, start)
        batches = []
        for step in range(STEPS):
            words = [random.integers(3, SIZES["vocab_size"], length + 1).tolist()
                     for length in (1, 16, 7, 1, *random.integers(1, 17, step % 5))]
            batches.append([([], ids[:-1], ids[1:]) for ids in words])
        actual = []
        for step, batch in enumerate(batches):
            (loss,) = model.call("train_step", tensor_files.pack_targets(batch), ["loss"],
                                 variables="start.safetensors" if step == 0 else None)
            actual.append(loss.item())
        compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.loss(batches[step - 1])))
    return report


def pieces(documents, length):
    """Cuts documents into sequences of at most `length` tokens to predict, as (no source, read, predicted)."""
    return [([], ids[i:i + length][:len(ids) - 1 - i], ids[i + 1:i + 1 + length])
            for ids in documents for i in range(0, len(ids) - 1, length)]


def train(arguments, folder, artifact, text, *flags):
    Path(folder, "text").write_text(text)
    run([f"{arguments.bin}/heddle-run", "train", artifact, "--text", f"{folder}/text", "--checkpoint", f"{folder}/ck", "--log",
         f"{folder}/log", "--steps", str(STEPS), *flags])
    return [json.loads(line)["loss"] for line in Path(folder, "log").read_text().splitlines()]


def check_batch(report, batch, length):
    report.check("sequences of a single token that are missing", int(not any(len(read) == 1 for _, read, _ in batch)), 0)
    report.check("documents that are cut and missing", int(sum(len(read) == length for _, read, _ in batch) < 2), 0)


def text(arguments, folder):
    report = Report()
    with Model(arguments, SIZES, folder) as model:
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        oracle = reference.Decoder(SIZES, tensor_files.load_safetensors(f"{folder}/start.safetensors"))
        words = CORPUS.split()
        lines = [" ".join(words[i:i + 1 + i % 4]) for i in range(0, 12, 2)] + ["a " * n for n in (15, 16, 17, 31)]
        actual = train(arguments, folder, model.artifact, "\n\n".join(lines) + "\n", "--seed", "1")
        said = subprocess.run([f"{arguments.bin}/heddle-run", "tokenize", f"{folder}/ck"], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, check=True).stdout
        documents = [[1, *map(int, line.split("\t")[0].split()), 2] for line in said.splitlines()]
        batch = pieces(documents, SIZES["max_length"])
        check_batch(report, batch, SIZES["max_length"])
        compare(report, actual, torch_losses(oracle.weights.values(), lambda step: oracle.loss(batch)))
    return report


def completions(arguments, folder):
    """Prompts with completions, where only completions count; also an empty prompt, an empty completion, and a text
    without a prompt."""
    report, words = Report(), CORPUS.split()
    sizes = {**SIZES, "token_weights": True, "max_length": 24}
    records = [{"prompt": " ".join(words[i:i + i % 3]), "completion": "".join(" " + word for word in words[i + 3:i + 3 + (i + 1) % 4])}
               for i in range(8)]
    records += [{"prompt": "", "completion": words[1]}, {"prompt": words[2], "completion": ""}, {"text": " ".join(words[4:8])}]
    Path(folder, "records").write_text("".join(json.dumps(record) + "\n" for record in records) + "\n")
    with Model(arguments, sizes, folder) as model:
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        oracle = reference.Decoder(sizes, tensor_files.load_safetensors(f"{folder}/start.safetensors"))
        tool, flags = f"{arguments.bin}/heddle-run", ["--data", f"{folder}/records"]
        run([tool, "train", model.artifact, *flags, "--valid-data", f"{folder}/records", "--checkpoint", f"{folder}/ck", "--seed", "1",
             "--log", f"{folder}/log", "--steps", str(STEPS)])
        log = [json.loads(line) for line in Path(folder, "log").read_text().splitlines()]
        said = subprocess.run([tool, "tokenize", f"{folder}/ck"], input="".join(
            record.get("prompt", "") + rest + "\n" for record in records for rest in ("", record.get("completion", "") + record.get("text", ""))),
            capture_output=True, text=True, check=True).stdout.splitlines()
        batch, counts = [], []
        for i in range(len(records)):
            prompt, whole = (list(map(int, line.split("\t")[0].split())) for line in said[2 * i:2 * i + 2])
            ids = [1, *whole, 2]
            batch.append(([], ids[:-1], ids[1:]))
            counts += [False] * len(prompt) + [True] * (len(ids) - 1 - len(prompt))

        def loss():
            labels = torch.tensor([label for _, _, labels in batch for label in labels])
            return torch.nn.functional.cross_entropy(oracle.batch_logits(batch)[counts], labels[counts])

        compare(report, [line["loss"] for line in log if "loss" in line], torch_losses(oracle.weights.values(), lambda step: loss()))
        validated = [line["validation_loss"] for line in log if "validation_loss" in line]
        report.check("the loss of the validation", relative(validated[-1:], [loss().item()]), BOUND)
        score = subprocess.run([tool, "score", model.artifact, "--checkpoint", f"{folder}/ck", *flags], capture_output=True,
                               text=True, check=True).stdout.split()
        # Printed with four decimals.
        report.check("the loss of `score`", relative([float(score[1])], [loss().item()]), 1e-4)
        report.check("tokens that `score` counts", abs(int(score[5].rstrip(",")) - sum(counts)), 0)
        # Text without prompts behaves as without token weights.
        Path(folder, "plain.txt").write_text(CORPUS[:200].rstrip() + "\n")
        run([tool, "train", model.artifact, "--text", f"{folder}/plain.txt", "--checkpoint", f"{folder}/plain", "--steps", "2"])
        for line, word in (('{"prompt": "a"}', "completion"), ("[1]", "prompt"), ('{"prompt": "a", "completion": 1}', "strings"),
                           ("{", "JSON")):
            Path(folder, "bad").write_text('{"text": "a"}\n' + line + "\n")
            done = subprocess.run([tool, "train", model.artifact, "--data", f"{folder}/bad", "--checkpoint", f"{folder}/bad.ck"],
                                  capture_output=True, text=True)
            report.check(f"a bad record that is taken: {line}", int(
                done.returncode != 1 or "line 2" not in done.stderr or word not in done.stderr), 0)
    with Model(arguments, SIZES, folder) as model:
        done = subprocess.run([tool, "train", model.artifact, *flags, "--checkpoint", f"{folder}/no"], capture_output=True, text=True)
        report.check("completions without weights that are taken", int(
            done.returncode != 1 or "--set token_weights=true" not in done.stderr), 0)
    return report


def gpt2(arguments, folder):
    marks = lambda end: {"vocab_size": end + 1, "n_positions": 20, "n_ctx": 20, "bos_token_id": end, "eos_token_id": end}
    return train_published(arguments, folder, published.GPT2, marks, published.draw_gpt2, published.Gpt2,
                           subwords.BytePairs.write, ("vocab.json", "merges.txt"), {"dropout": 0.0, "attention_dropout": 0.0})


def llama(arguments, folder):
    marks = lambda end: {"vocab_size": end + 1, "max_position_embeddings": 20, "bos_token_id": end, "eos_token_id": end}
    return train_published(arguments, folder, published.LLAMA, marks, published.draw_llama, published.Llama,
                           lambda vocabulary, folder: vocabulary.write_json(folder, "gpt2", []),
                           ("tokenizer.json", "tokenizer_config.json"), {})


def train_published(arguments, folder, config, marks, draw, family, write, files, without):
    report, tool = Report(), f"{arguments.bin}/heddle-run"
    vocabulary = subwords.BytePairs.learn(CORPUS, 90)
    end = vocabulary.vocabulary[subwords.END]
    config = {**config, **marks(end)}
    oracle = family(config, published.write_folder(f"{folder}/published", config, draw(config)))
    # In float64: Adam's steps amplify single-precision differences on either side beyond the bound.
    oracle.tensors = {name: tensor.detach().double().requires_grad_(tensor.requires_grad) for name, tensor in oracle.tensors.items()}
    write(vocabulary, Path(folder, "published"))
    artifact = f"{folder}/model.heddle"
    sizes = {"max_tokens": 512, "max_sequences": 64, **without, "warmup": WARMUP, "learning_rate": RATE}
    sets = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
    run([f"{arguments.bin}/heddle-compile", f"{folder}/published", "-o", artifact, *sets])

    # The text is one document whose line ends are separate tokens.
    texts = [CORPUS[:count].rstrip() + "\n" for count in range(300, 600)]
    # The length makes the last sequence predict only the end mark.
    whole = next(text for text in texts if len(vocabulary.encode(text)) % 20 == 1)
    ids = [*vocabulary.encode(whole), end]  # these tokenizers put no mark before a text
    batch = pieces([ids], 20)
    check_batch(report, batch, 20)
    labels = torch.tensor([label for _, _, labels in batch for label in labels])
    loss = lambda step: torch.nn.functional.cross_entropy(
        torch.cat([oracle.logits(torch.tensor(read)) for _, read, _ in batch]), labels)
    actual = train(arguments, folder, artifact, whole, "--documents", "file", "--weights", f"{folder}/published")
    parameters = [tensor for tensor in oracle.tensors.values() if tensor.requires_grad]
    compare(report, actual, torch_losses(parameters, loss))

    for name in files:
        report.check(f"{name} of the checkpoint that differs", int(
            next(Path(folder, "ck").glob(f"step-*/{name}")).read_bytes() != Path(folder, "published", name).read_bytes()), 0)
    prompt = vocabulary.encode("The")
    answer = list(prompt)
    with torch.no_grad():
        for _ in range(8):
            answer.append(int(oracle.logits(torch.tensor(answer))[-1].argmax()))
    if end in answer:
        answer = answer[:answer.index(end)]
    said = subprocess.run([tool, "generate", artifact, "--checkpoint", f"{folder}/ck", "--tokens", "8"], input="The\n",
                          capture_output=True, text=True, check=True).stdout
    expected = vocabulary.decode(answer).decode(errors="replace").replace("\\", "\\\\").replace("\n", "\\n")
    print(f"{said.rstrip()!r} beside {expected!r}")
    report.check("continuations that differ", int(said != expected + "\n"), 0)
    score = subprocess.run([tool, "score", artifact, "--checkpoint", f"{folder}/ck", "--text", f"{folder}/text", "--documents",
                            "file"], capture_output=True, text=True, check=True).stdout
    # Printed with four decimals.
    report.check("the loss of `score`", relative([float(score.split()[1])], [loss(0).item()]), 1e-4)
    run([tool, "train", artifact, "--text", f"{folder}/text", "--documents", "file", "--checkpoint", f"{folder}/ck", "--steps",
         "22", "--resume"])
    done = subprocess.run([tool, "train", artifact, "--text", f"{folder}/text", "--checkpoint", f"{folder}/learnt"],
                          capture_output=True, text=True)
    report.check("a vocabulary that is learnt and not refused",
                 int(done.returncode != 1 or "--vocab=FOLDER" not in done.stderr), 0)
    run([tool, "train", artifact, "--text", f"{folder}/text", "--checkpoint", f"{folder}/fresh", "--vocab",
         f"{folder}/published", "--steps", "2"])
    return report


CASES = {"steps": steps, "text": text, "completions": completions, "gpt2": gpt2, "llama": llama}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = CASES[arguments.case](arguments, folder)
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
