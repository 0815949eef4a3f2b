"""Compares adapters with PEFT itself, on a small LLaMA: weights of modules_to_save, with Adam's losses and merged
logits equal to PEFT's; PEFT reading Heddle's files; and merged DoRA. Skipped without the package peft or the folder of
references.

    peft_adapters.py --bin build/bin --references FOLDER --case saved|tied|dora [--target=NAME]"""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

SKIPPED, STEPS, RATE, BOUND = 77, 8, 1e-3, 1e-4
LINEAR = ["q_proj", "v_proj", "down_proj"]
SIZES = {"max_tokens": 64, "max_sequences": 4, "max_length": 40, "token_weights": False}
TRAINING = {**SIZES, "schedule": "constant", "warmup": 1, "learning_rate": RATE, "adam_beta2": 0.999, "adam_epsilon": 1e-8}
TEXT = "The loom was old, and the weaver sang."


class Case:
    def __init__(self, arguments, folder):
        import peft
        import torch
        import transformers
        from compiled import Report
        self.peft, self.torch, self.transformers, self.report = peft, torch, transformers, Report()
        self.arguments, self.folder, self.tool = arguments, Path(folder), f"{arguments.bin}/heddle-run"
        self.base = Path(folder, "base")
        shutil.copytree(Path(arguments.references, "llama"), self.base, ignore=shutil.ignore_patterns("adapter", "reference", "*.gguf"))
        if arguments.case == "tied":
            config = json.loads((self.base / "config.json").read_text())
            (self.base / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
        (self.folder / "text").write_text(TEXT + "\n")
        said = subprocess.run([self.tool, "tokenize", self.base], input=TEXT + "\n", capture_output=True, text=True, check=True).stdout
        self.ids = [*map(int, said.split("\t")[0].split())]

    def model(self):
        self.torch.manual_seed(3)
        return self.transformers.AutoModelForCausalLM.from_pretrained(self.base).eval()

    def draw(self, **keys):
        """Returns a PEFT adapter, all of whose weights differ from their initial values, and its folder."""
        config = self.peft.LoraConfig(r=4, lora_alpha=6, target_modules=LINEAR, init_lora_weights=False, task_type="CAUSAL_LM", **keys)
        model = self.peft.get_peft_model(self.model(), config)
        with self.torch.no_grad():
            for name, value in model.named_parameters():
                if "modules_to_save" in name or "magnitude" in name:
                    value += 0.05 * self.torch.randn(value.shape)
            if self.arguments.case == "tied":
                embedding, head = (next(value for name, value in model.named_parameters() if f"{part}.modules_to_save" in name)
                                   for part in ("embed_tokens", "lm_head"))
                head.copy_(embedding)
        model.save_pretrained(self.folder / "peft", save_embedding_layers=False)
        return model

    def logits(self, model):
        return model(self.torch.tensor([self.ids])).logits[0]

    def compile(self, name, model, keys, *flags):
        from compiled import Model
        folder = self.folder / name
        folder.mkdir()
        return Model(SimpleNamespace(bin=self.arguments.bin, model=model), keys, folder, self.arguments.target, flags=flags)

    def run(self, *words):
        return subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, check=True)

    def check_merged(self, what, artifact, adapter, expected):
        number = len(list(self.folder.glob("merged-*")))
        from compiled import relative
        from tensor_files import pack_targets, without_labels
        merged = self.folder / f"merged-{number}"
        self.run("merge", artifact, "--base", self.base, "--checkpoint", adapter, "--output", merged)
        with self.compile(f"plain-{number}", merged, {**SIZES, "logits_entry": True}) as plain:
            Path(plain.folder, "weights").symlink_to(merged)
            batch = pack_targets([([], self.ids, self.ids)], token_scale=False)
            (logits,) = plain.call("logits", without_labels(batch), ["logits"], variables="weights")
        self.report.check(f"logits, {what}", relative(logits, expected.detach().numpy()), BOUND)

    def check_steps(self, artifact, model, parameters):
        from compiled import relative
        self.run("train", artifact, "--base", self.base, "--weights", self.folder / "peft", "--text", self.folder / "text", "--checkpoint",
                 self.folder / "ck", "--log", self.folder / "log", "--steps", STEPS)
        actual = [json.loads(line)["loss"] for line in (self.folder / "log").read_text().splitlines()]
        optimizer, ids = self.torch.optim.Adam(parameters, lr=RATE, betas=(0.9, 0.999), eps=1e-8), [*self.ids, 257]
        for step, loss in enumerate(actual, 1):
            optimizer.zero_grad()
            expected = self.torch.nn.functional.cross_entropy(model(self.torch.tensor([ids[:-1]])).logits[0], self.torch.tensor(ids[1:]))
            self.report.check(f"loss of step {step}", relative([loss], [expected.item()]), BOUND)
            expected.backward()
            if self.arguments.case == "tied":  # a single matrix
                a, b = (value for name, value in model.named_parameters() if "modules_to_save" in name)
                a.grad = b.grad = a.grad + b.grad
            optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--case", choices=("saved", "tied", "dora"), required=True)
    parser.add_argument("--target", default="cpu:x86-64-v3")
    arguments = parser.parse_args()
    if not importlib.util.find_spec("peft"):
        print("skipped: there is no package peft")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(arguments, folder)
        peft = case.folder / "peft"
        if arguments.case == "dora":
            model = case.draw(use_dora=True)
            with case.compile("adapter", case.base, SIZES, "--lora=rank=4,alpha=6,targets=" + ",".join(LINEAR)) as compiled:
                case.check_merged("DoRA", compiled.artifact, peft, case.logits(model))
        else:
            model = case.draw(modules_to_save=["embed_tokens", "lm_head", *(["norm"] if arguments.case == "saved" else [])])
            with case.compile("adapter", case.base, TRAINING, f"--lora={peft}") as compiled:
                case.check_merged("PEFT's folder", compiled.artifact, peft, case.logits(model))
                trained = [value for name, value in model.named_parameters() if value.requires_grad]
                case.check_steps(compiled.artifact, model, trained)
                case.check_merged("after training", compiled.artifact, case.folder / "ck", case.logits(model))
                case.run("export", compiled.artifact, "--base", case.base, "--checkpoint", case.folder / "ck", "--hugging-face", case.folder / "back")
            back = case.peft.PeftModel.from_pretrained(case.model(), case.folder / "back").eval()
            case.report.check("logits of PEFT with Heddle's folder", float((case.logits(back) - case.logits(model)).abs().max()), 1e-3)
            found = case.peft.PeftConfig.from_pretrained(case.folder / "back").base_model_name_or_path
            case.report.check("the base that PEFT finds", int(found != str(case.base)), 0)
        print(f"{arguments.case}: {case.report.failed} failed")
        sys.exit(case.report.failed != 0)


if __name__ == "__main__":
    main()
