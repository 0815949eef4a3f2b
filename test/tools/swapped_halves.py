"""A translation whose two halves swap: swapped_halves.py FOLDER [--pairs N] [--order reversed]

Writes train.src and train.tgt with sentences of 5 to 30 words, and test sentences NAME.src and NAME.tgt for the lengths
5 to 9, 15 to 19 and 25 to 30. A word's translation is always the same; the second half's translations come first or,
with --order reversed, the last word's. `--score NAME FILE` prints the share of the words of NAME.tgt that stand at the
right place in FILE."""

import argparse
import random
from pathlib import Path

RANGES = {"short": (5, 9), "middle": (15, 19), "long": (25, 30)}
WORDS = 20


def places(length, order):
    """Returns for each word of the target the index of the source word that it translates."""
    all_places = list(range(length))
    return all_places[length // 2:] + all_places[:length // 2] if order == "swapped" else all_places[::-1]


def translate(words, order):
    return ["t" + words[place][1:] for place in places(len(words), order)]


def pair(length, order):
    words = ["s" + chr(ord("a") + number) for number in random.choices(range(WORDS), k=length)]
    return " ".join(words), " ".join(translate(words, order))


def write(folder, name, pairs):
    for side, lines in zip(("src", "tgt"), zip(*pairs)):
        Path(folder, f"{name}.{side}").write_text("\n".join(lines) + "\n")


def write_all(folder, count, order):
    random.seed(11)
    write(folder, "train", [pair(random.randint(5, 30), order) for _ in range(count)])
    for name, (low, high) in RANGES.items():
        write(folder, name, [pair(random.randint(low, high), order) for _ in range(100)])


def score(expected, said):
    pairs = [(e.split(), s.split()) for e, s in zip(expected, said, strict=True)]
    right = sum(a == b for e, s in pairs for a, b in zip(e, s))
    return right / sum(len(e) for e, _ in pairs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--order", choices=("swapped", "reversed"), default="swapped")
    parser.add_argument("--score", nargs=2)
    arguments = parser.parse_args()
    if arguments.score:
        expected = Path(arguments.folder, f"{arguments.score[0]}.tgt").read_text().splitlines()
        print(f"{score(expected, Path(arguments.score[1]).read_text().splitlines()):.4f}")
    else:
        write_all(arguments.folder, arguments.pairs, arguments.order)


if __name__ == "__main__":
    main()
