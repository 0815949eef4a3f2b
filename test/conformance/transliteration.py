"""Compares CTranslate2's test model, which writes Arabic names in Latin letters, with the answers that CTranslate2's own
tests expect, and with the package ctranslate2 where it is installed.

    transliteration.py --bin build/bin --files FOLDER [--target=NAME]

FOLDER/aren-transliteration has the model: its weights in CTranslate2's format, and a word on each line of its
vocabularies."""

import argparse
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tensor_files
from compiled import Report, default_target, run

ANSWERS = {"آ ت ز م و ن": "a t z m o n", "آ ز ا": "a z z a"}
LAYERS, WIDTH, HEADS, INNER, LENGTH = 6, 32, 8, 128, 64
DESCRIPTION = f"""architecture = "transformer"
d_model = {WIDTH}
encoder_layers = {LAYERS}
decoder_layers = {LAYERS}
heads = {HEADS}
d_ff = {INNER}
norm = "pre"
positions = "learned"
share_embeddings = false
output_bias = true
source_end = false
max_length = {LENGTH}
max_tokens = 1024
"""


def read_model(path):
    """Returns the variables of a model in version 2 of CTranslate2's format, by name."""
    data, place = path.read_bytes(), 0

    def take(kind):
        nonlocal place
        (value,) = struct.unpack_from("<" + kind, data, place)
        place += struct.calcsize("<" + kind)
        return value

    def text():
        nonlocal place
        length = take("H") # with a NUL
        place += length
        return data[place - length:place - 1].decode()

    take("I"), text(), take("I") # version, architecture, its revision
    found = {}
    for _ in range(take("I")):
        name = text()
        shape = [take("I") for _ in range(take("B"))]
        size, count = take("B"), take("I")
        found[name] = np.frombuffer(data, {1: "i1", 2: "<i2", 4: "<f4"}[size], count, place).reshape(shape)
        place += size * count
    return found


def convert(found, rows):
    """Returns the variables under Heddle's names, which keep matrices with a row for each input. Both vocabularies have
    `rows` words, some of which do not occur. Positions are counted from 1, and all sines come first."""
    weights = {}

    def linear(source, *targets):
        parts = zip(targets, *(np.split(found[f"{source}/{kind}"], len(targets)) for kind in ("weight", "bias")))
        for target, matrix, bias in parts:
            weights[f"{target}.weight"], weights[f"{target}.bias"] = matrix.T, bias

    def norm(source, target):
        weights[f"{target}.gamma"], weights[f"{target}.beta"] = found[f"{source}/gamma"], found[f"{source}/beta"]

    for side in ("encoder", "decoder"):
        norm(f"{side}/layer_norm", f"{side}.norm")
        for layer in range(LAYERS):
            here, there = f"{side}/layer_{layer}", f"{side}.{layer}"
            norm(f"{here}/self_attention/layer_norm", f"{there}.norm1")
            linear(f"{here}/self_attention/linear_0", *(f"{there}.self.{part}" for part in ("query", "key", "value")))
            linear(f"{here}/self_attention/linear_1", f"{there}.self.output")
            if side == "decoder":
                norm(f"{here}/attention/layer_norm", f"{there}.norm2")
                linear(f"{here}/attention/linear_0", f"{there}.cross.query")
                linear(f"{here}/attention/linear_1", f"{there}.cross.key", f"{there}.cross.value")
                linear(f"{here}/attention/linear_2", f"{there}.cross.output")
            norm(f"{here}/ffn/layer_norm", f"{there}.norm{2 if side == 'encoder' else 3}")
            linear(f"{here}/ffn/linear_0", f"{there}.feed_forward.inner")
            linear(f"{here}/ffn/linear_1", f"{there}.feed_forward.outer")
    taller = lambda matrix, value=0.0: np.concatenate([matrix, np.full((rows - len(matrix), *matrix.shape[1:]), value, np.float32)])
    weights["source_embedding"], weights["target_embedding"] = (taller(found[f"{side}/embeddings/weight"]) for side in ("encoder", "decoder"))
    weights["projection"], weights["output.bias"] = taller(found["decoder/projection/weight"]), taller(found["decoder/projection/bias"], -1e9)
    angles = np.arange(1, LENGTH + 1)[:, None] * np.exp(-np.log(10000.0) * np.arange(WIDTH // 2) / (WIDTH // 2 - 1))
    weights["positions"] = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    return {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}


def beside_package(model, words, translate, report):
    """The best translations of random words, greedy and with a beam of 4, and their scores."""
    try:
        import ctranslate2
    except ImportError:
        print("the package ctranslate2 is not there: 2 words are compared, not 200")
        return
    source = random.Random(3)
    names = [source.choices(words, k=source.randrange(1, 12)) for _ in range(200)]
    peer = ctranslate2.Translator(str(model), compute_type="float32", inter_threads=1)
    for beam in (1, 4):
        expected = peer.translate_batch(names, beam_size=beam, length_penalty=1, return_scores=True, min_decoding_length=0,
                                        max_decoding_length=LENGTH - 2)
        found = translate([" ".join(name) for name in names], "--beam", str(beam), "--length-penalty=1", "--n-best=1", f"--max-length={LENGTH - 2}")
        differing = sum(text != " ".join(theirs.hypotheses[0]) for (_, text), theirs in zip(found, expected, strict=True))
        report.check(f"beam of {beam}: words that differ", differing, 0)
        report.check(f"beam of {beam}: scores", max(abs(score - theirs.scores[0]) for (score, _), theirs in zip(found, expected)), 1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    model, report = arguments.files / "aren-transliteration", Report()
    found = read_model(model / "model.bin")
    rows = max(len(found[f"{side}/embeddings/weight"]) for side in ("encoder", "decoder"))
    source, target = ((model / f"{side}_vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n") for side in ("source", "target"))
    with tempfile.TemporaryDirectory() as folder:
        description, artifact, weights = (f"{folder}/{name}" for name in ("model.toml", "model.heddle", "weights.safetensors"))
        Path(description).write_text(f"vocab_size = {rows}\n{DESCRIPTION}", encoding="utf-8")
        run([f"{arguments.bin}/heddle-compile", description, "-o", artifact, f"--target={arguments.target}", "--entries=inference"])
        tensor_files.save_safetensors(weights, convert(found, rows))

        def translate(lines, *flags):
            """Returns the score, if there are any, and the text for each line."""
            ids = "".join(" ".join(str(source.index(word)) for word in line.split()) + "\n" for line in lines)
            said = subprocess.run([f"{arguments.bin}/heddle-run", "translate", artifact, "--checkpoint", weights, "--ids", "--beam-rule=hugging-face",
                                   *flags], input=ids, capture_output=True, text=True)
            if said.returncode != 0:
                sys.exit(said.stderr)
            columns = [line.split("\t") for line in said.stdout.splitlines()]
            words = lambda text: " ".join(target[int(word)] for word in text.split() if target[int(word)] != "</s>")
            return [(float(line[1]) if len(line) > 1 else 0, words(line[-1])) for line in columns]

        for beam in (1, 4):
            found = translate(list(ANSWERS), "--beam", str(beam))
            report.check(f"beam of {beam}: answers that differ", sum(text != answer for (_, text), answer in zip(found, ANSWERS.values())), 0)
        beside_package(model, source[3:], translate, report)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
