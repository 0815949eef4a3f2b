"""Adapters of experts in other programs' files, beside a published mixture and merged into it: PEFT's folder with a module for each
expert, also of DoRA, and llama.cpp's file. The merged tensors are compared with numpy's, and losses with those of the merged model.

    expert_adapters.py --bin build/bin --references FOLDER [--family qwen3-moe|olmoe|mixtral] [--target=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from compiled import Report, default_target, relative, run
from tensor_files import load_safetensors, save_safetensors

BOUND, RANK, ALPHA, STEPS = 1e-6, 3, 6, 3
# One module has its own rank, and one expert has no adapter for its last matrix.
MODULES = {"qwen3-moe": ("up_proj", "experts.3.down_proj"), "olmoe": ("up_proj", "experts.3.down_proj"), "mixtral": ("w3", "experts.3.w2")}
TEXT = "The loom was old, and the weaver sang.\n"


class Case:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.report, self.tool = arguments, Path(folder), Report(), f"{arguments.bin}/heddle-run"
        self.base = Path(arguments.references, arguments.family).resolve()
        self.narrow, self.lacking = MODULES[arguments.family]
        (self.folder / "text").write_text(TEXT)
        self.tensors = load_safetensors(self.base / "model.safetensors")

    def compile(self, name, model, *flags):
        keys = {"max_tokens": 64, "max_sequences": 4, "max_length": 60, "schedule": '"constant"', "warmup": 1, "learning_rate": 1e-2}
        artifact = self.folder / f"{name}.heddle"
        run([f"{self.arguments.bin}/heddle-compile", model, "-o", artifact, f"--target={self.arguments.target}", *flags,
             *(word for key, value in keys.items() for word in ("--set", f"{key}={value}"))])
        return artifact

    def call(self, *words):
        return subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, check=True).stdout

    def loss(self, artifact, *flags):
        return float(self.call("score", artifact, "--text", self.folder / "text", "--documents", "file", *flags).split()[1])

    def write(self, folder, adapter, **keys):
        folder.mkdir()
        modules = sorted({name.split(".")[-3] for name in adapter if "lora_A" in name})
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": modules, **keys}))
        save_safetensors(folder / "adapter_model.safetensors", {"base_model.model." + name: value for name, value in adapter.items()})

    def draw(self, folder):
        """Writes a folder as PEFT does, and returns the tensors with its adapter."""
        random, adapter, merged = np.random.default_rng(3), {}, dict(self.tensors)
        for name, value in self.tensors.items():
            module = name.removesuffix(".weight")
            if not (".experts." in name or name.endswith(("q_proj.weight", ".gate.weight"))) or module.endswith(self.lacking):
                continue
            rank, alpha = (2, 1) if module.endswith(self.narrow) else (RANK, ALPHA)
            a, b = ((0.2 * random.standard_normal(shape)).astype(np.float32) for shape in ((rank, value.shape[1]), (value.shape[0], rank)))
            adapter[f"{module}.lora_A.weight"], adapter[f"{module}.lora_B.weight"] = a, b
            merged[name] = value + np.float32(alpha / rank) * (b @ a)
        self.write(folder, adapter, rank_pattern={self.narrow: 2}, alpha_pattern={self.narrow: 1})
        return merged

    def draw_dora(self, folder):
        """The same for an adapter of DoRA, with a magnitude for each output of each expert."""
        random, adapter, merged = np.random.default_rng(4), {}, dict(self.tensors)
        for name, value in self.tensors.items():
            if ".experts." not in name:
                continue
            module = name.removesuffix(".weight")
            a, b, norms = ((0.2 * random.standard_normal(shape)).astype(np.float32) for shape in ((RANK, value.shape[1]), (value.shape[0], RANK), value.shape[:1]))
            adapter |= {f"{module}.lora_A.weight": a, f"{module}.lora_B.weight": b, f"{module}.lora_magnitude_vector": norms}
            sum = value + np.float32(ALPHA / RANK) * (b @ a)
            merged[name] = sum * (norms / np.linalg.norm(sum, axis=1))[:, None]
        self.write(folder, adapter, use_dora=True)
        return merged

    def check_merged(self, what, artifact, adapter, expected, output):
        self.call("merge", artifact, "--base", self.base, "--checkpoint", adapter, "--output", output)
        found = load_safetensors(output / "model.safetensors")
        self.report.check(f"{what}: tensors that are missing", len(set(found) ^ set(expected)), 0)
        self.report.check(f"{what}: tensors", max(relative(found[name], value) for name, value in expected.items()), BOUND)
        self.report.check(f"{what}: tensors without an adapter", sum(
            not np.array_equal(found[name], value) for name, value in self.tensors.items() if expected[name] is value), 0)

    def check(self):
        base, folder, report = self.base, self.folder, self.report
        merged, scaled = self.draw(folder / "peft"), self.draw_dora(folder / "dora")
        lora, plain = self.compile("lora", base, f"--lora={folder}/peft"), self.compile("plain", base)
        self.check_merged("merged", lora, folder / "peft", merged, folder / "merged")
        self.check_merged("DoRA", lora, folder / "dora", scaled, folder / "scaled")
        expected = self.loss(plain, "--checkpoint", folder / "merged")
        report.check("the adapter changes the loss", int(abs(expected - self.loss(lora, "--checkpoint", base)) < 1e-2), 0)
        self.expect("beside the base", expected, lora, "--base", base, "--checkpoint", folder / "peft")
        ask = lambda artifact, *flags: subprocess.run([self.tool, "generate", artifact, *flags, "--tokens=20", "--greedy"], input="the\nin\n",
                                                      capture_output=True, text=True, check=True).stdout
        report.check("texts beside the base that differ", int(
            ask(lora, "--base", base, "--checkpoint", folder / "peft") != ask(plain, "--checkpoint", folder / "merged")), 0)
        self.check_training(lora, plain, expected)

    def expect(self, what, expected, *command):
        self.report.check(f"the loss {what}", relative([self.loss(*command)], [expected]), 1e-4)  # printed with four decimals

    def check_training(self, lora, plain, expected):
        base, folder = self.base, self.folder
        self.call("train", lora, "--base", base, "--weights", folder / "peft", "--text", folder / "text", "--documents", "file", "--checkpoint", folder / "ck",
                  "--steps", STEPS, "--log", folder / "log")
        losses = [json.loads(line)["loss"] for line in (folder / "log").read_text().splitlines()]
        self.report.check("the first loss", relative(losses[:1], [expected]), 1e-4)
        self.report.check("losses do not fall", int(not losses[-1] < losses[0] - 0.1), 0)
        trained = self.loss(lora, "--base", base, "--checkpoint", folder / "ck")
        # The file of Mixtral's folder lacks the key of windows, so its artifact is another model.
        bases = {"": base, ".gguf": base / "model.gguf"} if self.arguments.family == "qwen3-moe" else {"": base}
        for ending, of in bases.items():
            own = self.compile(f"lora{ending}", of, f"--lora={folder}/peft") if ending else lora
            adapter = folder / f"exported{ending}"
            self.call("export", own, "--base", of, "--checkpoint", folder / "ck", "--gguf" if ending else "--hugging-face", adapter)
            self.expect(f"of the exported {ending or 'folder'}", trained, own, "--base", of, "--checkpoint", adapter)
            self.call("merge", own, "--base", of, "--checkpoint", adapter, "--output", folder / f"tuned{ending}")
            self.expect(f"of the merged {ending or 'folder'}", trained, plain, "--checkpoint", folder / f"tuned{ending}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--family", choices=MODULES, default="qwen3-moe")
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = Case(arguments, folder)
        case.check()
    print(f"{case.report.failed} failed")
    sys.exit(case.report.failed != 0)


if __name__ == "__main__":
    main()
