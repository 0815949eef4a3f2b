"""Compares weights that are trained whole beside adapters (PEFT's modules_to_save), and adapters in llama.cpp's files,
with PyTorch: Adam's losses from a folder that PEFT wrote, both files written afterwards, the merged model, and refused
inputs.

    saved_modules.py --bin build/bin --case tied|untied [--target=NAME]"""

import argparse
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import gguf_files
import lora
import published
import subwords
from compiled import default_target, relative, run
from language_model import compare, torch_losses, train
from lora import ALPHA, RANK, TARGETS
from tokenize_lines import CORPUS

EMBEDDING, HEAD, GAIN = "model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"


class Saved(lora.Adapted):
    """An adapter, and tensors that replace the base's. A separate head is one of them; a tied head is the embedding."""

    def __init__(self, config, tensors, adapter, scale, whole):
        super().__init__(config, {**tensors, **whole}, adapter, scale)
        self.whole = {name: torch.tensor(value, requires_grad=True) for name, value in whole.items()}
        self.tensors.update(self.whole)


class Case(lora.Case):
    def __init__(self, arguments, folder):
        arguments.kind, arguments.weights, self.isTied = "F32", None, arguments.case == "tied"
        self.target = arguments.target
        super().__init__(arguments, folder)

    def compile(self, name, model, *flags):
        if Path(model).is_dir():  # in the format of the case
            config = Path(model, "config.json")
            self.config["tie_word_embeddings"] = self.isTied
            config.write_text(json.dumps(self.config))
            if not self.isTied and HEAD not in self.tensors:
                self.tensors = published.draw_llama(self.config)
                published.write_folder(model, self.config, self.tensors)
        return super().compile(name, model, f"--target={self.target}", *flags)


def draw_whole(case):
    random = np.random.default_rng(7)
    names = [EMBEDDING] if case.isTied else [HEAD, GAIN]
    return {name: (case.tensors[name] + 0.1 * random.standard_normal(case.tensors[name].shape)).astype(np.float32) for name in names}


def write_saved(folder, adapter, whole, names, **changes):
    lora.write_adapter(folder, {**adapter, **whole}, RANK, ALPHA, target_modules=list(TARGETS.values()), modules_to_save=names, **changes)


def read_gguf(path):
    """Returns keys with text and number values, and tensors in f32."""
    data, at = Path(path).read_bytes(), 24

    def take(code):
        nonlocal at
        (value,) = struct.unpack_from("<" + code, data, at)
        at += struct.calcsize("<" + code)
        return value

    def text():
        nonlocal at
        count = take("Q")
        at += count
        return data[at - count:at].decode()

    count, keys = struct.unpack_from("<QQ", data, 8)
    values = {}
    for _ in range(keys):
        name, kind = text(), take("I")
        values[name] = text() if kind == 8 else take({4: "I", 6: "f"}[kind])
    places = [(text(), [take("Q") for _ in range(take("I"))][::-1], take("I"), take("Q")) for _ in range(count)]
    start = -(-at // 32) * 32
    return values, {name: np.frombuffer(data, np.float32, int(np.prod(shape)), start + place).reshape(shape) for name, shape, _, place in places}


def check_saved(case):
    folder, base, report = case.folder, case.base, case.report
    adapter, whole = lora.draw_adapter(case.tensors, RANK, seed=5), draw_whole(case)
    in_file = {**whole, HEAD: whole[EMBEDDING]} if case.isTied else whole
    names = ["embed_tokens", "lm_head"] if case.isTied else ["lm_head", "model.norm"]
    write_saved(f"{folder}/start", adapter, in_file, names)
    artifact = case.compile("saved", base, f"--lora={folder}/start")
    oracle = Saved(case.config, case.tensors, adapter, ALPHA / RANK, whole)
    flags = ["--documents", "file", "--base", base]
    for what, model in (("compiled for them", artifact), ("compiled without them", case.artifact)):
        case.expect_score(f"the loss of whole tensors, {what}", oracle, model, "--base", base, "--checkpoint", f"{folder}/start")
    actual = train(case.arguments, folder, artifact, case.text, *flags, "--weights", f"{folder}/start")
    compare(report, actual, torch_losses([*oracle.adapter.values(), *oracle.whole.values()], lambda step: case.loss(oracle)))
    checkpoint = next(Path(folder, "ck").glob("step-*"))
    trained, config = lora.read_adapter(checkpoint), json.loads((checkpoint / "adapter_config.json").read_text())
    expected = {**oracle.adapter, **oracle.whole, **({HEAD: oracle.whole[EMBEDDING]} if case.isTied else {})}
    report.check("tensors that are missing", len(set(trained) ^ set(expected)), 0)
    report.check("tensors after the steps", max(relative(trained[name], expected[name].detach().numpy()) for name in expected), 1e-4)
    report.check("whole tensors have moved", int(min(relative(trained[name], whole[name]) for name in whole) < 1e-3), 0)
    report.check("saved modules of the file", int(sorted(config["modules_to_save"]) != sorted(
        ["model.embed_tokens", "lm_head"] if case.isTied else ["model.norm", "lm_head"])), 0)
    report.check("the base of the file", int(config["base_model_name_or_path"] != base), 0)
    case.expect_score("their loss", oracle, artifact, "--base", base, "--checkpoint", f"{folder}/ck")

    run([case.tool, "export", artifact, "--base", base, "--checkpoint", f"{folder}/ck", "--hugging-face", f"{folder}/peft"])
    report.check("files of the exported folder", int(sorted(path.name for path in Path(folder, "peft").iterdir()) != [
        "adapter_config.json", "adapter_model.safetensors"]), 0)
    for name in ("ck", "peft"):
        run([case.tool, "merge", artifact, "--base", base, "--checkpoint", f"{folder}/{name}", "--output", f"{folder}/merged-{name}"])
        plain = case.compile(f"merged-{name}", f"{folder}/merged-{name}")
        case.expect_score(f"their loss merged from {name}", oracle, plain, "--checkpoint", f"{folder}/merged-{name}")
    run([case.tool, "train", artifact, "--text", f"{folder}/text", *flags, "--checkpoint", f"{folder}/ck", "--resume", "--steps", "22"])
    run([case.tool, "average", "--checkpoint", f"{folder}/ck", "--last", "2", "--output", f"{folder}/mean"])
    means = [lora.read_adapter(path) for path in (*sorted(Path(folder, "ck").glob("step-*"))[-2:], Path(folder, "mean"))]
    report.check("PEFT's files of the average", max(relative(means[2][name], (means[0][name] + means[1][name]) / 2) for name in trained), 1e-6)

    # Without a folder to start from, training starts with the base's tensors.
    run([case.tool, "train", artifact, "--text", f"{folder}/text", *flags, "--checkpoint", f"{folder}/new", "--steps", "1", "--log", f"{folder}/new.log"])
    first = json.loads(Path(folder, "new.log").read_text().splitlines()[0])["loss"]
    report.check("the loss before the first step", relative([first], [case.loss(case.oracle({}, 1)).item()]), 1e-5)
    return artifact, adapter, in_file, names


def check_refusals(case, artifact, adapter, whole, names):
    folder = case.folder
    flags = ["generate", artifact, "--base", case.base, "--checkpoint"]
    case.refuse("train", case.artifact, "--text", f"{folder}/text", "--documents", "file", "--base", case.base, "--weights", f"{folder}/start",
                "--checkpoint", f"{folder}/no", words=["would not train", "--lora="], lines=6)
    case.refuse("export", artifact, "--base", case.base, "--checkpoint", f"{folder}/ck", "--gguf", f"{folder}/no.gguf", words=["whole weight", "merge"])
    for lacking in whole:
        write_saved(f"{folder}/lacks-{lacking}", adapter, {name: value for name, value in whole.items() if name != lacking}, names)
        case.refuse(*flags, f"{folder}/lacks-{lacking}", words=["without" if case.isTied else lacking])
    if case.isTied:
        apart = {**whole, HEAD: whole[HEAD] + np.float32(0.5)}
        write_saved(f"{folder}/apart", adapter, apart, names)
        case.refuse(*flags, f"{folder}/apart", words=["apart", "one matrix"])
        write_saved(f"{folder}/together", adapter, {EMBEDDING: whole[EMBEDDING]}, ["embed_tokens"], ensure_weight_tying=True)
        oracle = Saved(case.config, case.tensors, adapter, ALPHA / RANK, {EMBEDDING: whole[EMBEDDING]})
        case.expect_score("the loss of an embedding that takes the head along", oracle, artifact, "--base", case.base, "--checkpoint", f"{folder}/together")
    for wrong, words in (("rank=2,targets=query,modules_to_save=lm_heads", ["lm_heads", "modules_to_save"]),
                         ("rank=2,targets=query,modules_to_save=q_proj", ["targets and modules_to_save"]),
                         ("rank=2,targets=query,modules_to_save=", ["is empty"]),
                         *([("rank=2,targets=query,modules_to_save=lm_head", ["shares the embedding's matrix"])] if case.isTied else [])):
        done = subprocess.run([f"{case.arguments.bin}/heddle-compile", case.base, "-o", f"{folder}/no.heddle", f"--lora={wrong}"],
                              capture_output=True, text=True)
        good = done.returncode in (1, 2) and all(word in done.stderr for word in words)
        if not good:
            print(done.returncode, done.stderr)
        case.report.check(f"{wrong} is not refused", int(not good), 0)


def check_gguf(case):
    """An adapter in llama.cpp's format: rows of queries in pairs, and only weights of adapters."""
    folder, base = case.folder, case.base
    start = lora.draw_adapter(case.tensors, RANK, seed=9)
    lora.write_adapter(f"{folder}/plain", start, RANK, ALPHA)
    run([case.tool, "train", case.artifact, "--text", f"{folder}/text", "--documents", "file", "--base", base, "--weights", f"{folder}/plain",
         "--checkpoint", f"{folder}/plain-ck", "--steps", "1"])
    run([case.tool, "export", case.artifact, "--base", base, "--checkpoint", f"{folder}/plain-ck", "--gguf", f"{folder}/adapter.gguf"])
    trained = lora.read_adapter(next(Path(folder, "plain-ck").glob("step-*")))
    keys, tensors = read_gguf(f"{folder}/adapter.gguf")
    case.report.check("keys of the file", int(keys != {"general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora",
                                                       "adapter.lora.alpha": ALPHA}), 0)
    expected = {}
    for name, value in trained.items():
        module, half = name.removesuffix(".weight").rsplit(".", 1)
        heads = case.config["num_attention_heads"] if module.endswith("q_proj") and half == "lora_B" else 0
        expected[f"{gguf_files.name_of(case.config, module + '.weight')}.{half.lower()}"] = gguf_files.pairs_together(value, heads) if heads else value
    case.report.check("tensors that are missing in the file", len(set(expected) ^ set(tensors)), 0)
    case.report.check("tensors of the file", max(float(np.abs(tensors[name] - value).max()) for name, value in expected.items()), 0)
    oracle = case.oracle(trained, ALPHA / RANK)
    case.expect_score("the loss of the file", oracle, case.artifact, "--base", base, "--checkpoint", f"{folder}/adapter.gguf")
    run([case.tool, "merge", case.artifact, "--base", base, "--checkpoint", f"{folder}/adapter.gguf", "--output", f"{folder}/merged-gguf"])
    plain = case.compile("merged-gguf", f"{folder}/merged-gguf")
    case.expect_score("the loss merged from the file", oracle, plain, "--checkpoint", f"{folder}/merged-gguf")
    write = lambda name, keys: Path(folder, name).write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(gguf_files.key(*one) for one in keys))
    kinds = [("general.type", "text", "adapter"), ("general.architecture", "text", "llama")]
    write("other.gguf", [*kinds, ("adapter.type", "text", "control_vector")])
    case.refuse("generate", case.artifact, "--base", base, "--checkpoint", f"{folder}/other.gguf", words=["control_vector", '"lora"'])
    case.refuse("generate", plain, "--checkpoint", f"{folder}/adapter.gguf", words=["is an adapter", "--lora"])
    case.refuse("generate", case.artifact, "--base", f"{folder}/adapter.gguf", "--checkpoint", f"{folder}/adapter.gguf", words=["is an adapter"])
    case.refuse("export", case.artifact, "--base", base, "--checkpoint", f"{folder}/plain", "--gguf", f"{folder}/no.gguf", words=["already"])
    done = subprocess.run([f"{case.arguments.bin}/heddle-compile", f"{folder}/adapter.gguf", "-o", f"{folder}/no.heddle"], capture_output=True, text=True)
    case.report.check("an adapter is not compiled, and told", int(done.returncode == 0 or "adapter" not in done.stderr.replace("adapter.gguf", "")), 0)


class Dora(lora.Adapted):
    """DoRA: columns of the sum of weight and adapter have the norms of a trained vector (Liu et al. 2024)."""

    def __init__(self, config, tensors, adapter, scale, magnitudes):
        super().__init__(config, tensors, adapter, scale)
        for name, magnitude in magnitudes.items():
            merged = self.tensors[name + ".weight"] + scale * self.adapter[name + ".lora_B.weight"] @ self.adapter[name + ".lora_A.weight"]
            self.tensors[name + ".weight"] = torch.tensor(magnitude)[:, None] * merged / merged.norm(dim=1, keepdim=True)
        self.adapter = {}


def check_dora(case):
    folder, random = case.folder, np.random.default_rng(4)
    adapter = lora.draw_adapter(case.tensors, RANK, seed=8)
    modules = sorted({name.rsplit(".lora_", 1)[0] for name in adapter})
    magnitudes = {module: (1 + random.random(len(case.tensors[module + ".weight"]))).astype(np.float32) for module in modules}
    vectors = {f"{module}.lora_magnitude_vector": value for module, value in magnitudes.items()}
    lora.write_adapter(f"{folder}/dora", {**adapter, **vectors}, RANK, ALPHA, use_dora=True)
    case.refuse("generate", case.artifact, "--base", case.base, "--checkpoint", f"{folder}/dora", words=["use_dora", "merge"])
    run([case.tool, "merge", case.artifact, "--base", case.base, "--checkpoint", f"{folder}/dora", "--output", f"{folder}/merged-dora"])
    oracle = Dora(case.config, case.tensors, adapter, ALPHA / RANK, magnitudes)
    case.expect_score("the loss merged from DoRA", oracle, case.compile("merged-dora", f"{folder}/merged-dora"), "--checkpoint", f"{folder}/merged-dora")
    lora.write_adapter(f"{folder}/no-magnitudes", adapter, RANK, ALPHA, use_dora=True)
    case.refuse("merge", case.artifact, "--base", case.base, "--checkpoint", f"{folder}/no-magnitudes", "--output", f"{folder}/no",
                words=["lora_magnitude_vector"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=("tied", "untied"), required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = Case(arguments, folder)
        check_refusals(case, *check_saved(case))
        if not case.isTied:
            check_gguf(case)
            check_dora(case)
    print(f"{case.report.failed} failed")
    sys.exit(case.report.failed != 0)


if __name__ == "__main__":
    main()
