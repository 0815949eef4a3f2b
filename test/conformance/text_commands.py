"""`heddle-run generate` and `fill` on Hugging Face folders with random weights against PyTorch's models (published.py) and
the vocabularies of subwords.py.

    text_commands.py --bin build/bin --case NAME"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import published
import subwords
from parity import Report, run
from tokenize_lines import CORPUS, escape


class Text:
    """A compiled folder and the command that answers lines with it."""

    def __init__(self, arguments, folder, command, sizes):
        self.tool, self.folder, self.command = f"{arguments.bin}/heddle-run", folder, command
        sets = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
        run([f"{arguments.bin}/heddle-compile", f"{folder}/published", "-o", f"{folder}/model.heddle",
             "--target=vulkan:software", *sets])

    def start(self, *flags):
        return [self.tool, self.command, f"{self.folder}/model.heddle", "--checkpoint", f"{self.folder}/published", *flags]

    def lines(self, texts, *flags):
        data = b"".join(text.encode() + b"\n" for text in texts)
        done = subprocess.run(self.start(*flags), input=data, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"exit code {done.returncode}: {done.stderr.decode()}")
        self.said = done.stderr.decode()
        return done.stdout.decode().split("\n")[:-1]

    def in_pipe(self, texts):
        """Each line is answered before the next one is there."""
        process = subprocess.Popen(self.start(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        answers = []
        for text in texts:
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()
            answers.append(process.stdout.readline().decode().rstrip("\n"))
        process.stdin.close()
        return answers if process.wait() == 0 else []


def differ(actual, expected):
    for a, b in zip(actual, expected):
        if a != b:
            print(f"is  {a!r}\nnot {b!r}")
    return sum(a != b for a, b in zip(actual, expected)) + abs(len(actual) - len(expected))


def generate(arguments, folder):
    report, vocabulary = Report(), subwords.BytePairs.learn(CORPUS, 90)
    end, positions = vocabulary.vocabulary[subwords.END], 60
    config = {**published.GPT2, "vocab_size": end + 1, "n_positions": positions, "bos_token_id": end, "eos_token_id": end}
    tensors = published.draw_gpt2(config)
    tensors["transformer.wte.weight"] *= 2  # so that the answer depends on the prompt
    tensors["transformer.wte.weight"][end] *= 1.5  # and ends at times
    oracle = published.Gpt2(config, published.write_folder(folder / "published", config, tensors))
    vocabulary.write(folder / "published")
    # Caches for three of the longest sequences, calls of seven tokens: prompts wait, and are read in several calls.
    model = Text(arguments, folder, "generate", {"max_tokens": 200, "max_sequences": 7})

    gaps = []

    @torch.no_grad()
    def continuation(prompt):
        """All tokens until the end mark or the last position, and whether it was the mark."""
        ids = vocabulary.encode(prompt) or [end]
        new = []
        while len(ids) < positions:
            logits = oracle.logits(torch.tensor(ids))[-1]
            best, second = logits.topk(2).values.tolist()
            gaps.append(best - second)
            ids.append(int(logits.argmax()))
            if ids[-1] == end:
                return new, True
            new.append(ids[-1])
        return new, False

    # One replacement stands for each byte of a broken character, where Python's stands for several.
    squeeze = lambda lines: [re.sub("\ufffd+", "\ufffd", line) for line in lines]
    answer = lambda prompt, ids: escape(prompt + vocabulary.decode(ids).decode(errors="replace"))

    words = CORPUS.split()
    prompts = ["", "T", "The", "They're weaving; we've", " ".join(words[:9]), " ", "a\nb \\n \r", "naïve 東京 🙂",
               " ".join(words[30:33]), "x" + subwords.END + "y", "12 34", " ".join(words[3:7]), "weft", "ü" * 24]
    prompts += [" ".join(words[i:i + 1 + i % 5]) for i in range(40, 60)]
    # Two tokens less than the model has positions, one less, and as many: the last one is not continued.
    prompts += ["T" + "\x01" * (positions - 1 - room) for room in (2, 1, 0)]
    escaped = [escape(prompt) for prompt in prompts]
    told = [continuation(prompt) for prompt in prompts]
    ends = sum(ended and len(new) < 33 for new, ended in told)
    report.check("neither some nor all end with the end mark", int(ends in (0, len(told))), 0)
    for most in (20, 33):
        said = model.lines(escaped, "--tokens", str(most))
        report.check(f"continuations by {most} tokens that differ", differ(
            squeeze(said), squeeze([answer(prompt, new[:most]) for prompt, (new, _) in zip(prompts, told)])), 0)
    cut = sum(len(vocabulary.encode(prompt) or [end]) + len(new) == positions and len(new) < 33 and not ended
              for prompt, (new, ended) in zip(prompts, told))
    report.check("lines cut off that nothing is said of", abs(model.said.count("tokens only") +
                                                              model.said.count("is not continued") - cut), 0)
    print(f"{ends} of {len(told)} end, {cut} are cut off; smallest gap between two best logits {min(gaps):.1e}")
    report.check("a prompt that is too long", differ(model.lines(["weft " * 100, "T"], "--tokens", "3"),
                                                     ["weft " * 100, answer("T", told[1][0][:3])]), 0)
    report.check("lines in a pipe that differ", differ(model.in_pipe(escaped[:5]), model.lines(escaped[:5])), 0)

    # Samples depend on the seed and the line's number alone; of the most probable token alone they are greedy.
    sampled = model.lines(escaped, "--sample", "--seed", "3", "--temperature", "0.8")
    report.check("samples that differ", differ(model.lines(escaped, "--sample", "--seed", "3", "--temperature", "0.8"), sampled), 0)
    report.check("a sample that depends on other lines", differ(
        model.lines(escaped[:2], "--sample", "--seed", "3", "--temperature", "0.8"), sampled[:2]), 0)
    report.check("another seed's samples are the same", int(model.lines(escaped, "--sample", "--seed", "4") == sampled), 0)
    report.check("samples of one token that are not greedy", differ(
        model.lines(escaped, "--sample", "--top-k", "1"), model.lines(escaped)), 0)

    tensors["transformer.ln_f.weight"][3] = np.nan
    published.write_folder(folder / "published", config, tensors)
    done = subprocess.run(model.start(), input=b"The\n", capture_output=True)
    report.check("NaN that is not said", int(done.returncode != 1 or b"not numbers" not in done.stderr), 0)
    return report


def fill(arguments, folder):
    report, vocabulary = Report(), subwords.WordPieces.learn(CORPUS, 350)
    longest = 48
    config = {**published.BERT, "vocab_size": len(vocabulary.pieces), "max_position_embeddings": longest}
    oracle = published.Bert(config, published.write_folder(folder / "published", config, published.draw_bert(config)))
    vocabulary.write(folder / "published")
    model = Text(arguments, folder, "fill", {"max_tokens": 70, "max_sequences": 5})
    mask = vocabulary.ids["[MASK]"]
    lines = ["The loom's [MASK] is lifted.", "[MASK]", "no mask here", "", "[MASK] wea[MASK]  [MASK]", "Быстрая [MASK] 東京[MASK]!",
             "weaving " * 60 + "[MASK]", "[MASK] " + "weft under " * 30 + " [MASK]", "[mask] [MASK][SEP] café"] * 3

    top, expected, filled = 4, [], []
    for number, line in enumerate(lines, 1):
        ids = vocabulary.encode(line)
        ids = ids if len(ids) <= longest else ids[:longest - 1] + ids[-1:]
        logits = oracle.logits(torch.tensor(ids), torch.zeros(len(ids), dtype=torch.long)).detach()
        masks, text, place = [i for i, token in enumerate(ids) if token == mask], line, 0
        for which, i in enumerate(masks, 1):
            best = torch.softmax(logits[i], -1).topk(top)
            pieces = [vocabulary.pieces[token] for token in best.indices]
            expected += [(number, which, p, piece) for p, piece in zip(best.values.tolist(), pieces)]
            before, after = text[:place] + text[place:].split("[MASK]", 1)[0], text[place:].split("[MASK]", 1)[1]
            before, piece = (before.rstrip(" "), pieces[0][2:]) if pieces[0].startswith("##") else (before, pieces[0])
            text, place = before + piece + after, len(before + piece)
        if not masks:
            expected.append((number, 0, float("nan"), ""))
        filled.append(text)
    report.check("filled lines that differ", differ(model.lines(lines), filled), 0)
    report.check("what is said of lines without a mask and of long ones",
                 int(not ("line 3 has no [MASK]" in model.said and "line 7 has" in model.said and "line 4 " not in model.said)),
                 0)
    report.check("lines in a pipe that differ", differ(model.in_pipe(lines[:5]), filled[:5]), 0)

    said = [line.split("\t") for line in model.lines(lines, "--top-k", str(top))]
    report.check("choices that differ", differ([(int(n), int(m), piece) for n, m, _, piece in said],
                                               [(n, m, piece) for n, m, _, piece in expected]), 0)
    errors = [abs(float(row[2]) - p) for row, (_, _, p, _) in zip(said, expected) if p == p]
    report.check("probabilities", max(errors), 1e-4)
    report.check("lines without a mask", sum((row[2] == "nan") != (p != p) for row, (_, _, p, _) in zip(said, expected)), 0)
    return report


CASES = {"generate": generate, "fill": fill}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = CASES[arguments.case](arguments, Path(folder))
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
