"""Compares mixtures of experts with PyTorch in float64 and with the reference interpreter: routing, the order by expert,
grouped matmuls and their gradients, with choices that are spread, that leave experts empty, and that all go to one.

    experts.py --bin build/bin [--target=NAME] [--device=ID]"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import calls
from compiled import Report, default_target, relative
from tensor_files import load_safetensors, pack_targets, save_safetensors, without_labels

BOUND = 1e-4
EXPERTS, WIDTH, INNER = 8, 24, 33

# A layer of the language: `rescaled` divides the weights by their sum; `sigmoid` scores by a bias that only chooses.
TEXT = """task language
param vocab_size = 50, k = 2, kind = "softmax" | "rescaled" | "chosen" | "sigmoid"
weight table[vocab_size, %(width)d] ~ normal(1)
weight router[%(width)d, %(experts)d] ~ normal(1)
weight bias[%(experts)d] ~ 0
def choose(logits) {
  if kind == "softmax" { scores = softmax(logits)
    chosen = top_k(scores, k)
    chosen, select(scores, chosen) }
  else if kind == "rescaled" { scores = softmax(logits)
    chosen = top_k(scores, k)
    picked = select(scores, chosen)
    chosen, picked / sum(picked) }
  else if kind == "chosen" { chosen = top_k(logits, k)
    chosen, softmax(select(logits, chosen)) }
  else { scores = sigmoid(logits)
    chosen = top_k(scores + bias, k)
    picked = select(scores, chosen)
    chosen, 2.5 * picked / (sum(picked) + 1e-20) }
}
def layer(x, logits) {
  chosen, weights = choose(logits)
  experts(x, chosen, weights, %(experts)d) { |rows|
    weight gate[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight inner[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight offset[%(experts)d, %(inner)d] ~ normal(0.3)
    weight outer[%(experts)d, %(inner)d, %(width)d] ~ normal(0.3)
    (swish(rows @ gate) * (rows @ inner + of_expert(offset))) @ outer
  }
}
logits(target) {
  x = table[target]
  mixed = layer(x, x @ router + skew)
  (x + mixed) @ transpose(table)
}
loss(target) {
  x = table[target]
  routed = x @ router + skew
  scores = softmax(routed)
  cross_entropy(logits, target.next) + 0.1 * balance_loss(scores, top_k(scores, k)) + 0.01 * z_loss(routed)
}
weight skew[%(experts)d] ~ 0
"""


def model(variables, ids, k, kind):
    """The same layer in PyTorch: every expert computes every row."""
    x = variables["table"][ids]
    routed = x @ variables["router"] + variables["skew"]
    scores = torch.sigmoid(routed) if kind == "sigmoid" else torch.softmax(routed, -1)
    chosen = (scores + variables["bias"] if kind == "sigmoid" else routed).topk(k, -1).indices
    picked = scores.gather(1, chosen)
    weights = {"softmax": lambda: picked, "rescaled": lambda: picked / picked.sum(-1, keepdim=True),
               "chosen": lambda: torch.softmax(routed.gather(1, chosen), -1), "sigmoid": lambda: 2.5 * picked / (picked.sum(-1, keepdim=True) + 1e-20)}[kind]()
    stack = lambda name: variables[f"mixed.{name}"].reshape(EXPERTS, -1, variables[f"mixed.{name}"].shape[-1])
    hidden = torch.nn.functional.silu(torch.einsum("td,edf->tef", x, stack("gate")))
    hidden = hidden * (torch.einsum("td,edf->tef", x, stack("inner")) + variables["mixed.offset"])
    each = torch.einsum("tef,efd->ted", hidden, stack("outer"))
    mixed = (each.gather(1, chosen[..., None].expand(-1, -1, each.shape[-1])) * weights[..., None]).sum(1)
    share = torch.nn.functional.one_hot(torch.softmax(routed, -1).topk(k, -1).indices, EXPERTS).double().mean((0, 1))
    balance = EXPERTS * (share * torch.softmax(routed, -1)).sum(-1)
    extra = 0.1 * balance.mean() + 0.01 * (torch.logsumexp(routed, -1) ** 2).mean()
    return (x + mixed) @ variables["table"].T, extra


class Case:
    def __init__(self, arguments, folder, k, kind):
        self.arguments, self.k, self.kind = arguments, k, kind
        text, self.artifact = Path(folder, f"{kind}-{k}.weft"), f"{folder}/{kind}-{k}.heddle"
        text.write_text(TEXT % {"experts": EXPERTS, "width": WIDTH, "inner": INNER})
        subprocess.run([f"{arguments.bin}/heddle-compile", text, "-o", self.artifact, f"--target={arguments.target}", "--set", f"k={k}",
                        "--set", f'kind="{kind}"', "--set", "max_tokens=256", "--set", "max_length=64", "--set", "max_sequences=8",
                        "--set", "accumulate=true", "--set", "logits_entry=true", "--set", "token_weights=false"], check=True, capture_output=True)
        self.folder = folder

    def draw(self, random, skew):
        shapes = {"table": (50, WIDTH), "router": (WIDTH, EXPERTS), "bias": (EXPERTS,), "mixed.gate": (EXPERTS * WIDTH, INNER),
                  "mixed.inner": (EXPERTS * WIDTH, INNER), "mixed.offset": (EXPERTS, INNER), "mixed.outer": (EXPERTS * INNER, WIDTH)}
        scale = {"table": 0.5, "router": 0.3, "bias": 0.3}
        variables = {name: (scale.get(name, 0.3) * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
        if self.kind != "sigmoid":
            del variables["bias"]
        return {**variables, "skew": np.asarray(skew, np.float32)}

    def check(self, report, what, skew, lengths, seed):
        random = np.random.default_rng(seed)
        variables = self.draw(random, skew)
        save_safetensors(f"{self.folder}/weights.safetensors", variables)
        sequences = [random.integers(0, 50, length).tolist() for length in lengths]
        pairs = [([], ids[:-1], ids[1:]) for ids in sequences]
        batch, texts = pack_targets(pairs), without_labels(pack_targets(pairs, token_scale=False))
        load = ["--variables", f"{self.folder}/weights.safetensors"]
        with calls.Session(self.arguments.bin, self.artifact, self.folder) as session:  # gradients add up in a session
            (logits,) = session.call("logits", texts, ["logits"], load)
            (loss,) = session.call("accumulate_step", batch, ["loss"], [*load, "--save-variables", f"{self.folder}/after.safetensors"])
        after = load_safetensors(f"{self.folder}/after.safetensors")
        wide = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in variables.items()}
        ids, labels = torch.tensor(np.concatenate([s[:-1] for s in sequences])), torch.tensor(np.concatenate([s[1:] for s in sequences]))
        expected, extra = model(wide, ids, self.k, self.kind)
        total = torch.nn.functional.cross_entropy(expected, labels) + extra
        total.backward()
        report.check(f"{what}: logits", relative(logits, expected.detach().numpy()), BOUND)
        report.check(f"{what}: loss", abs(loss.item() - total.item()) / abs(total.item()), BOUND)
        for name, value in wide.items():
            found = after.get(f"grad.{name}")
            if value.grad is None:  # a bias that only chooses
                report.check(f"{what}: {name} has a gradient", float(found is not None and np.abs(found).max() > 0), 0)
            else:
                report.check(f"{what}: gradient of {name}", relative(found, value.grad.numpy()), BOUND)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--kinds", nargs="*", default=["softmax", "rescaled", "chosen", "sigmoid"])
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for number, kind in enumerate(arguments.kinds):
            for k in (1, 2, 4):
                case = Case(arguments, folder, k, kind)
                case.check(report, f"{kind}, top {k}", [0] * EXPERTS, (2, 34, 9), number * 10 + k)
                # k experts get all rows, and the others none. (Sigmoids of such numbers would be equal.)
                far = [0 if kind == "sigmoid" else 60.0 * (e % 2 == 1 and e < 2 * k) for e in range(EXPERTS)]
                case.check(report, f"{kind}, top {k}, k experts", far, (2,), number * 10 + k + 5)
                case.check(report, f"{kind}, top {k}, some empty", [-60.0 * (e in (0, 3, 7)) for e in range(EXPERTS)], (65, 65, 65), number + 77)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
