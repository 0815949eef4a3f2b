"""Compares `heddle-run score --hyp` with BLEU and chrF written from their definitions: scores.py HEDDLE_RUN

BLEU: Papineni et al. (2002) with the tokenization of mteval-v13a and exponential smoothing; chrF: Popović (2015) with
beta 2. The details (what is summed, the effect of an order without n-grams, how results are printed) are those that
sacreBLEU documents. Everything is counted in the simplest way, with fractions instead of floating point.
"""
import math
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path


def tokens_13a(line):
    for entity, character in (("<skipped>", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(entity, character)
    line = f" {line} "
    # ASCII punctuation other than ' , - . is a token of its own; the rest depends on its neighbours.
    line = re.sub(r"""([{|}~\[\\\]^_` !"#$%&()*+:;<=>?@/])""", r" \1 ", line)
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)
    line = re.sub(r"([0-9])(-)", r"\1 \2 ", line)
    return line.split()


def ngrams(sequence, order):
    return Counter(tuple(sequence[i : i + order]) for i in range(len(sequence) - order + 1))


def bleu(pairs):
    hits, totals, ours, theirs = [0] * 4, [0] * 4, 0, 0
    for translation, reference in pairs:
        a, b = tokens_13a(translation), tokens_13a(reference)
        ours += len(a)
        theirs += len(b)
        for order in range(1, 5):
            counts = ngrams(a, order)
            totals[order - 1] += sum(counts.values())
            hits[order - 1] += sum((counts & ngrams(b, order)).values())
    penalty = 1.0 if ours >= theirs else math.exp(1 - theirs / ours) if ours else 0.0
    precisions, halves = [Fraction(0)] * 4, 1
    if hits[0]:
        for i in range(4):
            if totals[i] == 0:
                break
            if hits[i] == 0:
                halves *= 2
            precisions[i] = Fraction(hits[i], totals[i]) if hits[i] else Fraction(1, halves * totals[i])
    if totals[3] == 0:
        return "BLEU is left out: it counts sequences of four words, and no translation has four words"
    score = 0.0
    if all(precisions):
        score = 100 * penalty * math.exp(sum(math.log(p) for p in precisions) / 4)
    shown = "/".join(f"{float(100 * p):.1f}" for p in precisions)
    return (f"BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle.1 = {score:.2f} {shown} "
            f"(BP = {penalty:.3f} ratio = {ours / theirs if theirs else 0:.3f} hyp_len = {ours} ref_len = {theirs})")


def chrf(pairs):
    hits, ours, theirs = [0] * 6, [0] * 6, [0] * 6
    for translation, reference in pairs:
        a, b = "".join(translation.split()), "".join(reference.split())
        for order in range(1, 7):
            left, right = ngrams(a, order), ngrams(b, order)
            if not right:
                continue
            ours[order - 1] += sum(left.values())
            theirs[order - 1] += sum(right.values())
            hits[order - 1] += sum((left & right).values())
    orders = [i for i in range(6) if ours[i] and theirs[i]]
    score = 0.0
    if any(hits[i] for i in orders):
        precision = sum(Fraction(hits[i], ours[i]) for i in orders) / len(orders)
        recall = sum(Fraction(hits[i], theirs[i]) for i in orders) / len(orders)
        score = float(100 * 5 * precision * recall / (4 * precision + recall))
    return f"chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:heddle.1 = {score:.2f}"


WORDS = ("the The cat sat on a mat Straße größer naïve 日本 語 été 3.14 1,000 1990-2000 -5 a-b well-known don't it's "
         "&quot; &amp; &lt;b&gt; &amp;quot; <skipped> U.S. e.g., ... -- (x) [y] {z} a/b 50% $5 #1 *bold* a_b `q` ^ ~ | \\ "
         "\"quoted\" 'single' ? ! ; : @ = + 9. .9 9, ,9 9- 2.- ., .. ,, ٣.٤ “ ” … ").split(" ")
SPACES = [" "] * 12 + ["  ", "\t", "\u00a0", "\u3000", "\u2009", "\u2028", "\u0085", "\x1f"]


def sentence(draw):
    words = [draw.choice(WORDS) for _ in range(draw.randrange(0, 14))]
    return "".join(word + draw.choice(SPACES) for word in words) if draw.random() < 0.9 else " ".join(words)


def translated(draw, reference):
    """Returns the reference with words removed, inserted and moved."""
    words = reference.split(" ")
    for _ in range(draw.randrange(0, 5)):
        at = draw.randrange(0, len(words) + 1)
        words[at : at + draw.randrange(0, 2)] = [draw.choice(WORDS)] * draw.randrange(0, 2)
    if draw.random() < 0.2:
        draw.shuffle(words)
    return " ".join(words)


def check(program, folder, name, pairs):
    for side, index in (("hyp", 0), ("ref", 1)):
        text = "".join(pair[index] + "\n" for pair in pairs)
        (folder / side).write_bytes(text.encode())
    done = subprocess.run([program, "score", "--hyp", folder / "hyp", "--tgt", folder / "ref"], capture_output=True,
                          check=True)
    lines = done.stdout.decode().splitlines()
    for expected, got in zip((bleu(pairs), chrf(pairs)), lines):
        if got != expected:
            sys.exit(f"{name}:\n  expected {expected}\n  got      {got}")
    return lines


def main():
    program = sys.argv[1]
    draw = random.Random(1)
    references = [sentence(draw) for _ in range(1000)]
    pairs = [(translated(draw, reference), reference) for reference in references]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = check(program, folder, "1,000 lines", pairs)
        for i in range(0, 1000, 50):
            check(program, folder, f"lines from {i + 1}", pairs[i : i + 50])
        for i in range(0, 1000, 40):
            check(program, folder, f"line {i + 1}", pairs[i : i + 1])
        check(program, folder, "unrelated lines", list(zip(references[:100], reversed(references[:100]))))
        check(program, folder, "no translation", [("", reference) for reference in references[:20]])
        check(program, folder, "no reference", [(reference, "") for reference in references[:20]])
        check(program, folder, "nothing", [])
        check(program, folder, "lines of a word", [(word, word) for word in ("eins", "zwei", "drei")])
    print("\n".join(lines))


main()
