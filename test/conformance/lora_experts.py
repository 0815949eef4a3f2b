"""Compares adapters of experts with PyTorch in float64, whose weights are merged: logits of texts and of tokens that are decoded
one by one, the adapters' gradients, and losses of Adam; then the logits of an artifact without training. The experts' weights are in f32
and packed.

    lora_experts.py --bin build/bin [--target=NAME] [--formats f32 int8 ...] [--top 1 2]"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import calls
from compiled import Report, default_target, relative, rounds_rows, run
from packed_experts import BOUND, BOUND_OF_ROUNDED, quantised
from tensor_files import load_safetensors, pack_targets, save_safetensors, without_labels

STEPS, RATE = 8, 2e-3
EXPERTS, VOCABULARY, WIDTH, INNER, RANK, ALPHA = 4, 50, 64, 128, 3, 6
TEXT = """task language
param vocab_size = 50, k = 2
weight table[vocab_size, %(width)d] ~ normal(1)
weight router[%(width)d, %(experts)d] ~ normal(1)
weight skew[%(experts)d] ~ 0
logits(target) {
  x = table[target]
  scores = x @ router + skew
  chosen = top_k(scores, k)
  mixed = experts(x, chosen, softmax(select(scores, chosen)), %(experts)d) { |rows|
    weight gate[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight inner[%(experts)d, %(width)d, %(inner)d] ~ normal(0.3)
    weight outer[%(experts)d, %(inner)d, %(width)d] ~ normal(0.3)
    (swish(rows @ gate) * (rows @ inner)) @ outer
  }
  past = softmax(causal(pairs(mixed, mixed))) @ mixed      # decoding keeps caches
  (x + past) @ transpose(table)
}
loss(target) { cross_entropy(logits, target.next) }
""" % {"experts": EXPERTS, "width": WIDTH, "inner": INNER}
# Which experts the tokens choose: any, not the second one, or the same one (with top 1) for all tokens.
SKEWS = {"spread": [0] * EXPERTS, "one empty": [0, -60, 0, 0], "all to one": [0, 0, 60, 0]}


def draw(random):
    """Returns the weights, and the adapters of rank RANK."""
    normal = lambda *shape: (0.15 * random.standard_normal(shape)).astype(np.float32)
    shapes = {"router": (1, WIDTH, EXPERTS), "mixed.gate": (EXPERTS, WIDTH, INNER), "mixed.inner": (EXPERTS, WIDTH, INNER),
              "mixed.outer": (EXPERTS, INNER, WIDTH)}
    weights = {"table": normal(VOCABULARY, WIDTH), **{name: normal(count * inputs, outputs) for name, (count, inputs, outputs) in shapes.items()}}
    adapter = {}
    for name, (count, inputs, outputs) in shapes.items():
        adapter[name + ".lora_a"], adapter[name + ".lora_b"] = normal(count * inputs, RANK), normal(count * RANK, outputs)
    return weights, adapter


def unpacked(weights, form):
    if form == "f32":
        return weights
    return {name: quantised(value.T, WIDTH, form).T if name == "table" else
            quantised(value, len(value) // (EXPERTS if name.startswith("mixed") else 1), form) for name, value in weights.items()}


def model(weights, adapter, skew, ids, k):
    """Returns the logits of one text. Every expert computes every row, with merged weights."""
    def merged(name):
        count = EXPERTS if name.startswith("mixed") else 1
        stack = lambda value: value.reshape(count, -1, value.shape[-1])
        return stack(weights[name]) + ALPHA / RANK * stack(adapter[name + ".lora_a"]) @ stack(adapter[name + ".lora_b"])

    x = weights["table"][ids]
    scores = x @ merged("router")[0] + torch.tensor(skew)
    picked, chosen = scores.topk(k, -1)
    hidden = torch.nn.functional.silu(x @ merged("mixed.gate")) * (x @ merged("mixed.inner"))
    each = (hidden @ merged("mixed.outer")).transpose(0, 1)
    mixed = (each.gather(1, chosen[..., None].expand(-1, -1, WIDTH)) * torch.softmax(picked, -1)[..., None]).sum(1)
    pairs = (mixed @ mixed.T).masked_fill(torch.ones(len(ids), len(ids)).triu(1).bool(), -torch.inf)
    return (x + torch.softmax(pairs, -1) @ mixed) @ weights["table"].T


class Case:
    def __init__(self, arguments, folder, form, k, random):
        self.arguments, self.folder, self.k, self.form = arguments, folder, k, form
        self.sequences = [random.integers(0, VOCABULARY, length).tolist() for length in (2, 42, 8)]
        self.triples = [([], ids[:-1], ids[1:]) for ids in self.sequences]
        Path(folder, "model.weft").write_text(TEXT)
        self.artifact = self.compile("trains", accumulate="true", schedule='"constant"', warmup=1, learning_rate=RATE, adam_beta2=0.999, adam_epsilon=1e-8)
        self.reading = self.compile("reads", "--entries=inference")

    def compile(self, name, *flags, **keys):
        artifact = f"{self.folder}/{name}-{self.form}-{self.k}.heddle"
        keys = {"k": self.k, "max_tokens": 64, "max_length": 48, "max_sequences": 8, "logits_entry": "true", "token_weights": "false", **keys}
        run([f"{self.arguments.bin}/heddle-compile", f"{self.folder}/model.weft", "-o", artifact, f"--target={self.arguments.target}",
             f"--weights={self.form}", f"--lora=rank={RANK},alpha={ALPHA},targets=router,gate,inner,outer", *flags,
             *(word for key, value in keys.items() for word in ("--set", f"{key}={value}"))])
        return artifact

    def check_logits(self, report, what, artifact, session, expected):
        bound = BOUND_OF_ROUNDED if self.form != "f32" and rounds_rows(self.arguments.bin, artifact) else BOUND
        i32, decoded = lambda *values: np.asarray(values, np.int32), []
        texts, load = without_labels(pack_targets(self.triples, token_scale=False)), ["--variables", f"{self.folder}/weights.safetensors"]
        (whole,) = session.call("logits", texts, ["logits"], load)
        for step, token in enumerate(self.sequences[1][:6]):
            (row,) = session.call("decode_step", {
                "token": i32(token), "position": i32(step), "query_starts": i32(0), "query_lengths": i32(1), "cache_rows": i32(step),
                "cache_starts": i32(0), "cache_lengths": i32(step + 1)}, ["logits"])
            decoded.append(row.reshape(-1))
        report.check(f"{what}: logits", relative(whole, expected), bound)
        report.check(f"{what}: tokens decoded", relative(np.stack(decoded), expected[1:7]), bound)

    def check(self, report, what, skew, random):
        weights, adapter = draw(random)
        save_safetensors(f"{self.folder}/weights.safetensors", {**weights, **adapter, "skew": np.asarray(skew, np.float32)})
        wide = lambda tensors, trained: {name: torch.tensor(value, dtype=torch.float64, requires_grad=trained) for name, value in tensors.items()}
        base, trained = wide(unpacked(weights, self.form), False), wide(adapter, True)
        logits = lambda: torch.cat([model(base, trained, skew, torch.tensor(ids), self.k) for _, ids, _ in self.triples])
        first, batch, found = logits().detach().numpy(), pack_targets(self.triples), []
        with calls.Session(self.arguments.bin, self.artifact, self.folder) as session:
            self.check_logits(report, what, self.artifact, session, first)
            for step in range(STEPS):
                (loss,) = session.call("accumulate_step", batch, ["loss"], [] if step else ["--save-variables", f"{self.folder}/after.safetensors"])
                found.append(loss.item())
                session.call("apply_step")
        gradients = load_safetensors(f"{self.folder}/after.safetensors")
        labels, optimizer, expected = torch.tensor([label for *_, ids in self.triples for label in ids]), torch.optim.Adam(trained.values(), lr=RATE), []
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(logits(), labels)
            loss.backward()
            expected.append(loss.item())
            if step == 0:
                report.check(f"{what}: gradients", max(relative(gradients["grad." + name], value.grad.numpy()) for name, value in trained.items()), BOUND)
            optimizer.step()
        report.check(f"{what}: frozen weights with gradients", sum("grad." + name in gradients for name in weights), 0)
        report.check(f"{what}: losses of {STEPS} steps", relative(found, expected), BOUND)
        if skew == SKEWS["spread"]:
            with calls.Session(self.arguments.bin, self.reading, self.folder) as session:
                self.check_logits(report, f"{what}, inference", self.reading, session, first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("--formats", nargs="*", default=["f32", "int8", "int4"])
    parser.add_argument("--top", nargs="*", type=int, default=[1, 2], help="how many experts a token has")
    arguments = parser.parse_args()
    report, random = Report(), np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as folder:
        for form in arguments.formats:
            for k in arguments.top:
                case = Case(arguments, folder, form, k, random)
                for name, skew in SKEWS.items():
                    case.check(report, f"{form}, top {k}, {name}", skew, random)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
