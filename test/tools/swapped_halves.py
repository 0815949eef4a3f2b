"""A translation whose two halves swap: swapped_halves.py FOLDER [--pairs N]

Writes train.src and train.tgt with sentences of 5 to 30 words, and for the lengths 5 to 9, 15 to 19 and 25 to 30 test sentences
NAME.src and NAME.tgt. A word's translation is always the same; those of the second half come first. With `--score NAME FILE`
prints the share of the words of NAME.tgt that stand in FILE where they should."""

import argparse
import random
from pathlib import Path

RANGES = {"short": (5, 9), "middle": (15, 19), "long": (25, 30)}
WORDS = 20


def pair(length):
    words = random.choices(range(WORDS), k=length)
    half = length // 2
    return " ".join(f"s{w}" for w in words), " ".join(f"t{w}" for w in words[half:] + words[:half])


def write(folder, name, pairs):
    for side, lines in zip(("src", "tgt"), zip(*pairs)):
        Path(folder, f"{name}.{side}").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--score", nargs=2)
    arguments = parser.parse_args()
    if arguments.score:
        expected = Path(arguments.folder, f"{arguments.score[0]}.tgt").read_text().splitlines()
        said = Path(arguments.score[1]).read_text().splitlines()
        pairs = [(e.split(), s.split()) for e, s in zip(expected, said, strict=True)]
        right = sum(a == b for e, s in pairs for a, b in zip(e, s))
        print(f"{right / sum(len(e) for e, _ in pairs):.4f}")
        return
    random.seed(11)
    write(arguments.folder, "train", [pair(random.randint(5, 30)) for _ in range(arguments.pairs)])
    for name, (low, high) in RANGES.items():
        write(arguments.folder, name, [pair(random.randint(low, high)) for _ in range(100)])


if __name__ == "__main__":
    main()
