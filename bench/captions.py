#!/usr/bin/python3
"""Captions by soft and hard attention (Show, Attend and Tell), and by the mean of all regions:

    captions.py --bin build/bin [--attention soft|hard|mean]... [--seed N]... [--steps N]

An image has sixteen regions, each with one of twelve things. Three regions bear the marks 1, 2 and 3, and the caption
names their things in the order of the marks. A region has a channel for each thing and each mark. So the mean of all
regions tells which things there are, but not which ones are marked. Trains on 20,000 images. On 400 unseen images,
prints the share of the caption's words that are right, and the share of words for which the region with the largest
weight is the marked one. Fails if a share is not as expected."""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import experiment
from experiment import Figure, Picture, run
from recurrent_translation import explained

SIDE, MARKS = 4, 3
REGIONS = SIDE * SIDE
THINGS = ["ball", "bell", "book", "boat", "cake", "coin", "drum", "fish", "kite", "lamp", "ring", "shoe"]
SETTINGS = {"vocab_size": 24, "max_length": 20, "max_sequences": 64, "max_tokens": 1024, "learning_rate": 0.004, "warmup": 100,
            "schedule": '"cosine"', "clip_norm": 1, "explain_entry": "true", "width": 32}
EXPECTED = {"soft": (0.99, 1), "hard": (0.99, 1), "mean": (0, 0.6)}
LEAST_RIGHT_REGIONS = 0.95
STEPS = {"soft": 800, "hard": 1400, "mean": 800}
TASK = "three of sixteen regions are marked, and the caption says what is there, one after the other"


def draw_image(draw):
    """Returns a record of the image, its caption, and the region of each word."""
    things, places = [draw.randrange(len(THINGS)) for _ in range(REGIONS)], draw.sample(range(REGIONS), MARKS)
    marks = [places.index(i) + 1 if i in places else 0 for i in range(REGIONS)]
    regions = [[int(thing == i) for i in range(len(THINGS))] + [int(mark == i) for i in range(MARKS + 1)]
               for thing, mark in zip(things, marks)]
    record = json.dumps({"image": [regions[i:i + SIDE] for i in range(0, REGIONS, SIDE)]}, separators=(",", ":"))
    return record, [THINGS[things[place]] for place in places], places


def write(folder, name, count, seed):
    draw = random.Random(seed)
    images = [draw_image(draw) for _ in range(count)]
    (folder / f"{name}.jsonl").write_text("".join(record + "\n" for record, _, _ in images))
    (folder / f"{name}.txt").write_text("".join(" ".join(caption) + "\n" for _, caption, _ in images))
    return images


def learn(tools, attention, steps, seed, folder):
    """Compiles and trains in a folder. Returns the artifact and the checkpoint."""
    model, checkpoint = folder / "model.heddle", folder / "checkpoint"
    sets = [word for key, value in (SETTINGS | {"decay_steps": steps, "attention": attention}).items()
            for word in ("--set", f"{key}={value}")]
    write(folder, "train", 20000, 1)
    run(tools / "heddle-compile", experiment.ROOT / "models/show-attend-tell.weft", *sets, "-o", model)
    run(tools / "heddle-run", "train", model, "--src", folder / "train.jsonl", "--tgt", folder / "train.txt", "--vocab-type", "word",
        "--checkpoint", checkpoint, "--steps", steps, "--seed", seed)
    return model, checkpoint


def words_right(tools, model, checkpoint, images):
    said = run(tools / "heddle-run", "translate", model, "--checkpoint", checkpoint,
               input="".join(record + "\n" for record, _, _ in images))
    pairs = list(zip((line.split() for line in said.splitlines()), (caption for _, caption, _ in images), strict=True))
    right = sum(word == wanted for line, caption in pairs for word, wanted in zip(line, caption))
    return right / sum(max(len(line), len(caption)) for line, caption in pairs)  # an extra word is wrong, too


def regions_right(tools, model, checkpoint, folder, images):
    """Returns the share of words whose region is right, and the weights of the first caption."""
    right, first = 0, None
    for record, caption, places in images:
        _, weights = explained(tools, model, checkpoint, folder, record, " ".join(caption))
        first = first or weights[:MARKS]
        right += sum(row.index(max(row)) == place for row, place in zip(weights, places))
    return right / (MARKS * len(images)), first


def figures(tools, attention, seed, steps=None, looked_at=40):
    """Returns the figures for words and, with attention, for regions, on this many images."""
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.time()
        steps = steps or STEPS[attention]
        model, checkpoint = learn(tools, attention, steps, seed, folder)
        seconds = time.time() - begin
        images = write(folder, "test", 400, 2)
        variant = f"attention={attention}"
        yield Figure("show-attend-tell.weft", f"{variant}, words", seed, words_right(tools, model, checkpoint, images), EXPECTED[attention],
                     steps, seconds)
        if attention == "mean":
            return
        share, weights = regions_right(tools, model, checkpoint, folder, images[:looked_at])
        names = [f"{i // SIDE + 1},{i % SIDE + 1}" for i in range(REGIONS)]
        yield Figure("show-attend-tell.weft", f"{variant}, regions", seed, share, (LEAST_RIGHT_REGIONS, 1), steps, seconds,
                     pictures=[Picture("where each word of a caption looks", images[0][1], names, weights)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=experiment.ROOT / "build/bin", type=Path)
    parser.add_argument("--attention", action="append", choices=sorted(EXPECTED))
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    unexpected = 0
    for attention in arguments.attention or EXPECTED:
        for seed in arguments.seed or [1]:
            for figure in figures(arguments.bin, attention, seed, arguments.steps):
                print(figure, flush=True)
                unexpected += not figure.is_expected()
    sys.exit(unexpected > 0)


if __name__ == "__main__":
    main()
