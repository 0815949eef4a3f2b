#!/usr/bin/env python3
"""Times translation on a processor: Heddle and CTranslate2, in turns, in float32 or with int8 weights.

  bench/beside_ctranslate2.py [--shape marian|t5-base|nllb-600m] [--int8] [--rule hugging-face|paper] [--work greedy|beam|line|line-beam]... [--bin DIR]
                              [--target NAME] [--threads N] [--rounds N] [--lines N] [--tokens N] [--length N]

Run it with a Python that has torch, transformers and ctranslate2. The model has the shape of Marian's base models, T5-base
or NLLB-600M and random weights, the same on both sides, and never predicts its end mark: every translation has --length
tokens. Translates --lines lines of --tokens tokens together, and one line, greedily and with a beam of 4. With --int8 both
sides keep weights in 8 bits and multiply integers, Heddle on targets that can. Both programs have loaded the model and
answered a line before their time is taken. Prints a line per round, then medians with range and ratio, and how many
translations are the same on both sides (weights of real models decide more clearly than random ones).
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
from ctranslate2.converters.transformers import M2M100Loader, MarianMTLoader, T5Loader

ROOT = Path(__file__).resolve().parent.parent


def stacks(width, layers, heads, inner, **others):
    both = {"layers": layers, "attention_heads": heads, "ffn_dim": inner}
    return {"d_model": width, "scale_embedding": True, **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in both.items()},
            **others}


def marian():
    vocabulary = 58101
    return MarianMTLoader(), transformers.MarianMTModel(transformers.MarianConfig(
        **stacks(512, 6, 8, 2048), vocab_size=vocabulary, max_position_embeddings=512, activation_function="swish", bos_token_id=None,
        eos_token_id=0, forced_eos_token_id=0, pad_token_id=vocabulary - 1, decoder_start_token_id=vocabulary - 1))


def t5_base():
    return T5Loader(), transformers.T5ForConditionalGeneration(transformers.T5Config(
        d_model=768, d_ff=3072, d_kv=64, num_layers=12, num_heads=12, vocab_size=32128, decoder_start_token_id=0))


def nllb_600m():
    return M2M100Loader(), transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
        **stacks(1024, 12, 16, 4096), vocab_size=256206, max_position_embeddings=1024, activation_function="relu", decoder_start_token_id=2))


SHAPES = {"marian": marian, "t5-base": t5_base, "nllb-600m": nllb_600m}
WORKS = {"greedy": (1, None), "beam": (4, None), "line": (1, 1), "line-beam": (4, 1)} # the beam, and the number of lines


def write_model(arguments, folder):
    """Writes the model for both programs: folder/published and folder/ctranslate2. Returns the size of its vocabulary and
    its end mark."""
    torch.manual_seed(1)
    loader, model = SHAPES[arguments.shape]()
    size, end, first = model.config.vocab_size, model.config.eos_token_id, model.config.decoder_start_token_id
    with torch.no_grad():
        model.get_input_embeddings().weight[end] = 0 # far from the largest logit
    model.eval().save_pretrained(folder / "published")

    tokens = [str(number) for number in range(size)]
    spec = loader.get_model_spec(model)
    embeddings = spec.encoder.embeddings
    rows = (embeddings[0] if isinstance(embeddings, list) else embeddings).weight.shape[0] # Marian's lacks the padding
    loader.set_vocabulary(spec, tokens[:rows])
    spec.config.eos_token, spec.config.unk_token = str(end), "3"
    spec.config.decoder_start_token = str(first if first < rows else end)
    spec.config.add_source_eos = spec.config.add_source_bos = False
    spec.validate()
    spec.optimize(quantization="int8" if arguments.int8 else "float32")
    (folder / "ctranslate2").mkdir()
    spec.save(str(folder / "ctranslate2"))
    return size, end


class Heddle:
    """A translator that runs until the program ends."""

    def __init__(self, arguments, folder, beam):
        self.process = subprocess.Popen(
            [arguments.bin / "heddle-run", "translate", folder / "model.heddle", "--checkpoint", folder / "published", "--ids", "--beam", str(beam),
             "--max-length", str(arguments.length), "--threads", str(arguments.threads), f"--beam-rule={arguments.rule}"],
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
        self.end = str(arguments.end)
        self.translator = ctranslate2.Translator(str(folder / "ctranslate2"), device="cpu", compute_type="int8" if arguments.int8 else "float32", inter_threads=1,
                                                 intra_threads=arguments.threads)
        self.options = {"beam_size": beam, "max_decoding_length": arguments.length, "max_batch_size": arguments.lines,
                        "min_decoding_length": arguments.length, "length_penalty": 0.6, "return_scores": False}

    def translate(self, lines):
        answers = self.translator.translate_batch([[*line, self.end] for line in lines], **self.options)
        return [answer.hypotheses[0] for answer in answers]

    def close(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="marian")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--rule", choices=("hugging-face", "paper"), default="hugging-face",
                        help="Heddle's search; paper also follows the greedy hypothesis, a fifth one")
    parser.add_argument("--work", choices=WORKS, nargs="+", default=list(WORKS))
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
        size, arguments.end = write_model(arguments, folder)
        # Room for all lines at once: with a beam of 4 Heddle also follows the greedy hypothesis, and each position of each
        # hypothesis is a row of the caches, which have max_tokens rows.
        subprocess.run([arguments.bin / "heddle-compile", folder / "published", f"--target={arguments.target}", "--entries=inference",
                        f"--max-sequences={5 * arguments.lines}", f"--max-tokens={5 * arguments.lines * arguments.length}",
                        f"--set=max_length={max(arguments.length, arguments.tokens) + 1}", "-o", folder / "model.heddle",
                        *(["--weights=int8"] if arguments.int8 else [])],
                       check=True, stdout=subprocess.DEVNULL)
        draw = random.Random(1)
        lines = [[str(draw.randrange(4, size - 1)) for _ in range(arguments.tokens)] for _ in range(arguments.lines)]
        works = [(work, beam, lines[:count]) for work, (beam, count) in WORKS.items() if work in arguments.work]
        sides = {(kind, beam): kind(arguments, folder, beam) for beam in {beam for _, beam, _ in works} for kind in (Heddle, CTranslate2)}
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
