"""Compares training on pairs of answers with the published losses in PyTorch: the loss, every gradient, and 20 steps.

    preferences.py --bin build/bin --objective dpo [--smoothing=0.1] [--target=NAME]

The model looks up a row of logits for each token, so that PyTorch has the same logits."""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import compiled
import tensor_files

VOCABULARY, WIDTH, STEPS, RATE = 23, 16, 20, 0.5
TEXT = f"""task language
param vocab_size = {VOCABULARY}, width = {WIDTH}
weight table[vocab_size, width] ~ normal(0.4)
weight head[width, vocab_size] ~ normal(0.4)
logits(target) {{ table[target] @ head }}
loss(target) {{ cross_entropy(logits, target.next, 0.1) }}
"""


def draw_pairs(random, count):
    """Returns (tokens, begin of the answer) of a chosen and a rejected text for each pair."""
    pairs = []
    for _ in range(count):
        prompt = random.integers(3, VOCABULARY, random.integers(1, 5)).tolist()
        answers = [random.integers(3, VOCABULARY, random.integers(1, 9)).tolist() + [2] for _ in range(2)]
        pairs.append([([1] + prompt + answer, 1 + len(prompt)) for answer in answers])
    return pairs


def pack(pairs, reference):
    """Returns the inputs of a training entry."""
    sequences = [sequence for pair in pairs for sequence in pair]
    lengths = [len(tokens) - 1 for tokens, _ in sequences]
    join = lambda parts, kind: np.concatenate([np.asarray(part, kind) for part in parts])
    return {"target_in": join([tokens[:-1] for tokens, _ in sequences], np.int32),
            "target_out": join([tokens[1:] for tokens, _ in sequences], np.int32),
            "target_positions": join([range(length) for length in lengths], np.int32),
            "target_starts": np.asarray(np.cumsum([0] + lengths[:-1]), np.int32), "target_lengths": np.asarray(lengths, np.int32),
            "token_weights": join([[i + 1 >= begin for i in range(len(tokens) - 1)] for tokens, begin in sequences], np.float32),
            "token_scale": np.asarray([1 / len(pairs)], np.float32),
            "partner": np.asarray([i + 1 - 2 * (i % 2) for i in range(len(sequences))], np.int32),
            "preferred": np.asarray([1 - 2 * (i % 2) for i in range(len(sequences))], np.float32),
            "reference": np.asarray(reference, np.float32)}


def log_probabilities(weights, pairs):
    """Returns the log probability of each answer and its number of tokens."""
    sums, counts = [], []
    for tokens, begin in (sequence for pair in pairs for sequence in pair):
        logits = weights["table"][torch.tensor(tokens[:-1])] @ weights["head"]
        chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        sums.append(chosen[begin - 1:].sum())
        counts.append(len(tokens) - begin)
    return torch.stack(sums), torch.tensor(counts, dtype=torch.float64)


def loss_of(arguments, policy, reference, counts):
    """The losses as trl.DPOTrainer.dpo_loss has them, for loss_type "sigmoid" and "ipo"."""
    if arguments.objective == "ipo":
        policy, reference = policy / counts, reference / counts
    logits = (policy[0::2] - policy[1::2]) - (reference[0::2] - reference[1::2])
    if arguments.objective == "ipo":
        return ((logits - 1 / (2 * arguments.beta)) ** 2).mean()
    log_sigmoid, smoothing = torch.nn.functional.logsigmoid, arguments.smoothing
    return (-log_sigmoid(arguments.beta * logits) * (1 - smoothing) - log_sigmoid(-arguments.beta * logits) * smoothing).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--objective", choices=["dpo", "ipo"], required=True)
    parser.add_argument("--beta", type=float, default=0.3)
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--target")
    arguments = parser.parse_args()
    rate = RATE * (0.1 if arguments.objective == "ipo" else 1)
    overrides = {"objective": arguments.objective, "dpo_beta": arguments.beta, "dpo_label_smoothing": arguments.smoothing,
                 "optimizer": "sgd", "momentum": 0, "learning_rate": rate, "schedule": "constant", "warmup": 1,
                 "accumulate": True, "max_tokens": 256, "max_sequences": 16, "max_length": 32}
    random = np.random.default_rng(5)
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = f"{folder}/model.weft"
        Path(arguments.model).write_text(TEXT)
        with compiled.Model(arguments, overrides, folder, arguments.target) as model:
            model.call("init", save="start.safetensors", extra=["--seed", "1"])
            start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
            weights = {name: torch.tensor(start[name], dtype=torch.float64, requires_grad=True) for name in ("table", "head")}
            for step in range(STEPS):
                pairs = draw_pairs(random, 6)
                policy, counts = log_probabilities(weights, pairs)
                # Near the policy in the first step, where all margins are 0.
                reference = policy.detach() + torch.tensor(random.normal(0, 0.5 if step else 0, len(counts)))
                reference = reference.float().double()
                loss = loss_of(arguments, policy, reference, counts)
                inputs = pack(pairs, reference)
                for weight in weights.values():
                    weight.grad = None
                loss.backward()
                if step in (0, 5):
                    (made,) = model.call("accumulate_step", inputs, ["loss"], save="gradients.safetensors")
                    gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
                    report.check(f"loss of pairs before step {step + 1}", compiled.relative(made, [loss.item()]), 1e-5)
                    for name, weight in weights.items():
                        report.check(f"gradient of {name} before step {step + 1}",
                                     compiled.relative(gradients["grad." + name], weight.grad), 1e-5)
                    model.call("apply_step")
                else:
                    (made,) = model.call("train_step", inputs, ["loss"])
                    report.check(f"loss of step {step + 1}", compiled.relative(made, [loss.item()]), 1e-5)
                with torch.no_grad():
                    for weight in weights.values():
                        weight -= rate * weight.grad
            model.call("eval", {name: value for name, value in inputs.items()
                                           if name.startswith("target_")}, ["token_loss"], save="end.safetensors")
            end = tensor_files.load_safetensors(f"{folder}/end.safetensors")
            for name, weight in weights.items():
                report.check(f"{name} after {STEPS} steps", compiled.relative(end[name], weight.detach()), 1e-5)
    print(f"{arguments.objective}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
