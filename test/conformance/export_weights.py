"""Trains a published LLaMA and writes it back: the folder and the GGUF file that `export` writes have the same losses
as the checkpoint, in every type; everything but the weights is as published.

    export_weights.py --bin build/bin --kind folder|gguf [--target=NAME]"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gguf_files
import published
import subwords
import tensor_files
from compiled import Report, default_target, run
from tokenize_lines import CORPUS

LENGTH = 20
# By the type of most matrices: with Q4_K only one of a layer's seven matrices has that type, and the others are Q8_0.
FILE_TYPES = {"F32": 0, "F16": 1, "BF16": 32, "Q8_0": 7, "Q4_0": 2, "Q4_K": 7}


class Case:
    def __init__(self, arguments, folder):
        self.bin, self.target, self.folder, self.report = arguments.bin, arguments.target, Path(folder), Report()
        self.tool, self.is_file = f"{arguments.bin}/heddle-run", arguments.kind == "gguf"
        self.ending = ".gguf" if self.is_file else ""
        self.base = f"{folder}/published{self.ending}"
        self.output = "--gguf" if self.is_file else "--hugging-face"
        vocabulary = subwords.BytePairs.learn(CORPUS, 90)
        end = vocabulary.vocabulary[subwords.END]
        # Rows of whole Q8_0 and Q4_0 blocks, and rows of one Q4_K block.
        config = {**published.LLAMA, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 1,
                  "intermediate_size": 256, "vocab_size": end + 1, "max_position_embeddings": LENGTH, "bos_token_id": end, "eos_token_id": end}
        drawn = published.draw_llama(config)
        self.config, self.drawn, self.vocabulary = config, drawn, vocabulary
        if self.is_file:
            vocabulary.write_json(self.folder, "gpt2", [])
            keys = {**gguf_files.byte_pair_keys(vocabulary, "gpt-2"), "general.file_type": ("u32", FILE_TYPES["F16"])}
            gguf_files.write(self.base, config, drawn, "F16", keys=keys)
        else:
            published.write_folder(self.base, config, drawn)
            vocabulary.write_json(Path(self.base), "gpt2", [])
        Path(folder, "text").write_text(CORPUS[:400].rstrip() + "\n")
        self.artifact = self.compile("model", self.base, "--entries=training")

    def compile(self, name, model, *flags):
        artifact = f"{self.folder}/{name}.heddle"
        run([f"{self.bin}/heddle-compile", model, "-o", artifact, f"--target={self.target}", "--set", "max_tokens=256", "--set", "max_sequences=8",
             "--set", "warmup=1", "--set", "learning_rate=0.01", *flags])
        return artifact

    def loss(self, artifact, checkpoint):
        said = subprocess.run([self.tool, "score", artifact, "--checkpoint", checkpoint, "--text", f"{self.folder}/text"],
                              capture_output=True, text=True, check=True).stdout
        return float(said.split()[1])

    def check_types(self, kind, file):
        """Returns what the file says about its tensors' types; it must say so once."""
        data = Path(file).read_bytes()
        value = lambda key: struct.unpack_from("<II", data, data.index(key) + len(key)) if data.count(key) == 1 else None
        self.report.check(f"the file's type {kind}", int(value(b"general.file_type") != (4, FILE_TYPES[kind])), 0)
        version = (4, 2) if kind.startswith("Q") else None
        self.report.check(f"the version of its blocks {kind}", int(value(b"general.quantization_version") != version), 0)

    def refuse(self, what, *flags, words):
        done = subprocess.run([self.tool, "export", *flags], capture_output=True, text=True)
        good = done.returncode in (1, 2) and all(word in done.stderr for word in words) and done.stderr.count("\n") <= 3
        if not good:
            print(done.returncode, done.stderr)
        self.report.check(f"{what} that is not refused", int(not good), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--kind", choices=("folder", "gguf"), required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = Case(arguments, folder)
        report, checkpoint = case.report, f"{folder}/ck"
        run([case.tool, "train", case.artifact, "--text", f"{folder}/text", "--weights", case.base, "--checkpoint", checkpoint, "--steps",
             "3"])
        trained, before = case.loss(case.artifact, checkpoint), case.loss(case.artifact, case.base)
        report.check("training that changes nothing", int(abs(trained - before) < 0.01), 0)
        source, exact = ["--base", case.base, "--checkpoint", checkpoint], None
        for kind, bound in (("F32", 1e-4), ("F16", 1e-3), ("BF16", 2e-2), ("Q8_0", 2e-2), ("Q4_0", 2e-2), ("Q4_K", None)) if case.is_file else (("", 1e-4),):
            output = f"{folder}/out{kind}{case.ending}"
            run([case.tool, "export", case.artifact, *source, case.output, output, *([f"--type={kind}"] if kind else [])])
            if case.is_file:
                case.check_types(kind, output)
            own = case.compile(f"own{kind}", output, "--entries=inference")
            expected = trained
            if kind == "Q4_0":  # every matrix has 4 bits, like an artifact that packs the first export's numbers
                first = f"{folder}/outF32{case.ending}"
                expected = case.loss(case.compile("packed", first, "--entries=inference", "--weights=int4"), first)
                rounded = abs(expected - trained)
            bound = rounded / 2 if kind == "Q4_K" else bound  # one matrix per layer has 4 bits, with offsets
            report.check(f"loss of the export {kind}", abs(case.loss(own, output) - expected), bound)
            if kind[:1] == "Q":
                report.check(f"an export {kind} that rounds nothing", int(case.loss(own, output) == exact), 0)
            exact = exact if exact is not None else case.loss(own, output)
            report.check(f"loss of the export {kind} in the first artifact", abs(case.loss(case.artifact, output) - expected), bound)
            case.refuse("an output that is there", case.artifact, *source, case.output, output, words=["exists"])
        if not case.is_file:
            config = json.loads(Path(folder, "out", "config.json").read_text())
            report.check("keys that differ", int(config != json.loads(Path(case.base, "config.json").read_text())), 0)
            report.check("a tokenizer that differs", int(
                Path(folder, "out", "tokenizer.json").read_bytes() != Path(case.base, "tokenizer.json").read_bytes()), 0)
            tensors = tensor_files.load_safetensors(f"{folder}/out/model.safetensors")
            report.check("numbers that are no numbers", sum(int(not np.isfinite(value).all()) for value in tensors.values()), 0)
            # The same model as a GGUF file can be the base, too: then a training from the folder is exported as such a
            # file.
            file = f"{folder}/base.gguf"
            gguf_files.write(file, case.config, case.drawn, "F32", keys=gguf_files.byte_pair_keys(case.vocabulary, "gpt-2"))
            run([case.tool, "export", case.artifact, "--base", file, "--checkpoint", checkpoint, "--gguf", f"{folder}/converted.gguf"])
            report.check("loss of the folder's model as a file",
                         abs(case.loss(case.artifact, f"{folder}/converted.gguf") - trained), 1e-4)
        other = "--hugging-face" if case.is_file else "--gguf"
        case.refuse("an output of another kind", case.artifact, *source, other, f"{folder}/no", words=[case.output])
        case.refuse("no output", case.artifact, *source, words=[case.output])
        case.refuse("a base as checkpoint", case.artifact, "--base", case.base, "--checkpoint", folder, case.output, f"{folder}/no",
                    words=["checkpoint"])
        adapters = case.compile("adapters", case.base, "--lora=rank=2", "--entries=inference")
        case.refuse("an artifact with adapters", adapters, *source, case.output, f"{folder}/no{case.ending}", words=["it has no adapter"])
        report.check("files that a refusal leaves", len(list(Path(folder).glob("no*"))), 0)
    print(f"{arguments.kind}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
