#!/usr/bin/env python3
"""Times translation on a processor: Heddle and CTranslate2, in turns, in float32.

  bench/beside_ctranslate2.py [--bin DIR] [--target NAME] [--threads N] [--rounds N] [--lines N] [--tokens N] [--length N]

Run it with a Python that has torch, transformers and ctranslate2. The model has Marian-base's shape and random weights,
the same on both sides, and never predicts its end mark: every translation has --length tokens. Translates --lines lines
of --tokens tokens together, and one line, greedily and with a beam of 4. Both programs have loaded the model and answered
a line before their time is taken. Prints a line per round, then medians with range and ratio, and how many translations
are the same on both sides (weights of real models decide more clearly than random ones).
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ctranslate2
import torch
import transformers
from ctranslate2.converters.transformers import MarianMTLoader

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/conformance"))
import published

SHAPE = {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
         "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 58101, "max_position_embeddings": 512}


def write_model(folder):
    """Writes the model for both programs: folder/published and folder/ctranslate2. Returns the words of its vocabulary."""
    torch.manual_seed(1)
    end, padding = 0, SHAPE["vocab_size"] - 1
    model = transformers.MarianMTModel(transformers.MarianConfig(
        **SHAPE, activation_function="swish", scale_embedding=True, bos_token_id=None, eos_token_id=end, forced_eos_token_id=end,
        pad_token_id=padding, decoder_start_token_id=padding))
    model.final_logits_bias[0, [end, padding]] = -100
    model.eval().save_pretrained(folder / "published")
    words = [f"w{number}" for number in range(SHAPE["vocab_size"] - 3)]
    tokens = ["</s>", "<unk>", *("\u2581" + word for word in words), "<pad>"]
    for side in ("source", "target"):
        published.write_sentencepiece(folder / "published" / f"{side}.spm", words)
    (folder / "published/vocab.json").write_text(published.json.dumps({token: number for number, token in enumerate(tokens)}))

    loader = MarianMTLoader()
    spec = loader.get_model_spec(model)
    loader.set_vocabulary(spec, tokens[:-1])
    spec.config.eos_token = spec.config.decoder_start_token = "</s>"
    spec.config.unk_token = "<unk>"
    spec.validate()
    spec.optimize(quantization="float32")
    (folder / "ctranslate2").mkdir()
    spec.save(str(folder / "ctranslate2"))
    return words


class Heddle:
    """A translator that runs until the program ends."""

    def __init__(self, arguments, folder, beam):
        self.process = subprocess.Popen(
            [arguments.bin / "heddle-run", "translate", folder / "model.heddle", "--checkpoint", folder / "published", "--beam", str(beam),
             "--max-length", str(arguments.length), "--threads", str(arguments.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def translate(self, lines):
        self.process.stdin.write("".join(" ".join(line) + "\n" for line in lines).encode())
        self.process.stdin.flush()
        answers = [self.process.stdout.readline() for _ in lines]
        if not answers[-1]:
            sys.exit(f"heddle-run has ended with exit code {self.process.wait()}")
        return [answer.decode().split() for answer in answers]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class CTranslate2:
    def __init__(self, arguments, folder, beam):
        self.translator = ctranslate2.Translator(str(folder / "ctranslate2"), device="cpu", compute_type="float32", inter_threads=1,
                                                 intra_threads=arguments.threads)
        self.options = {"beam_size": beam, "max_decoding_length": arguments.length, "max_batch_size": arguments.lines,
                        "length_penalty": 0.6, "return_scores": False}

    def translate(self, lines):
        sources = [["\u2581" + word for word in line] + ["</s>"] for line in lines]
        answers = self.translator.translate_batch(sources, **self.options)
        return [[token.removeprefix("\u2581") for token in answer.hypotheses[0]] for answer in answers]

    def close(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=30, help="of a line")
    parser.add_argument("--length", type=int, default=64, help="tokens of a translation")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = write_model(folder)
        # Room for all lines at once: with a beam of 4 Heddle also follows the greedy hypothesis, and each position of each
        # hypothesis is a row of the caches, which have max_tokens rows.
        subprocess.run([arguments.bin / "heddle-compile", folder / "published", f"--target={arguments.target}", "--entries=inference",
                        f"--max-sequences={5 * arguments.lines}", f"--max-tokens={5 * arguments.lines * arguments.length}",
                        f"--set=max_length={max(arguments.length, arguments.tokens + 1)}", "-o", folder / "model.heddle"],
                       check=True, stdout=subprocess.DEVNULL)
        draw = random.Random(1)
        lines = [draw.choices(words, k=arguments.tokens) for _ in range(arguments.lines)]
        works = [("greedy", 1, lines), ("beam of 4", 4, lines), ("one line, greedy", 1, lines[:1]), ("one line, beam of 4", 4, lines[:1])]
        sides = {(kind, beam): kind(arguments, folder, beam) for beam in (1, 4) for kind in (Heddle, CTranslate2)}
        for side in sides.values():
            side.translate(lines[:1])
        times = {(kind, work): [] for work, *_ in works for kind in (Heddle, CTranslate2)}
        answers = {}
        for _ in range(arguments.rounds):
            for work, beam, texts in works:
                for kind in (Heddle, CTranslate2):
                    time.sleep(0.3)  # threads of the other side may wait in a loop for that long
                    start = time.perf_counter()
                    answers[kind, work] = sides[kind, beam].translate(texts)
                    times[kind, work].append(time.perf_counter() - start)
            print(", ".join(f"{work} {times[Heddle, work][-1]:.2f} and {times[CTranslate2, work][-1]:.2f} s" for work, *_ in works), flush=True)
        for side in sides.values():
            side.close()
    print(f"ctranslate2 {ctranslate2.__version__}, {arguments.threads} threads, medians of {arguments.rounds} rounds")
    for work, _, texts in works:
        ours, theirs = times[Heddle, work], times[CTranslate2, work]
        same = sum(a == b for a, b in zip(answers[Heddle, work], answers[CTranslate2, work]))
        print(f"{work}: Heddle {statistics.median(ours):.2f} s ({min(ours):.2f} to {max(ours):.2f}), CTranslate2 {statistics.median(theirs):.2f} s "
              f"({min(theirs):.2f} to {max(theirs):.2f}), ratio {statistics.median(theirs) / statistics.median(ours):.2f}; "
              f"{same} of {len(texts)} translations are the same")


if __name__ == "__main__":
    main()
