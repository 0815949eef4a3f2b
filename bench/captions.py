#!/usr/bin/python3
"""Captions by soft and hard attention (Show, Attend and Tell), and by the mean of all regions:

    captions.py --bin build/bin [--attention soft|hard|mean]... [--seed N]... [--steps N]

An image has sixteen regions, each with one of twelve things, and three of them bear the marks 1, 2 and 3: the caption names the three
things in the order of their marks. Trains on 20,000 images and prints, of 400 that it has not seen, the share of the caption's words
that are right, and the share of words at which the region with the largest weight is the marked one. Fails where a share is not what is
expected."""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import experiment
from experiment import Figure, Picture, run
from recurrent_translation import weights_of_words

REGIONS, MARKS = 16, 3
THINGS = [first + second for first in "bcdfghklmnprst" for second in ("ad", "el", "in", "op", "un")]
SETTINGS = {"vocab_size": 400, "max_length": 20, "max_sequences": 64, "max_tokens": 1152, "learning_rate": 0.004, "warmup": 100,
            "schedule": '"cosine"', "clip_norm": 1, "explain_entry": "true", "width": 32}
EXPECTED = {"soft": (0.99, 1), "hard": (0.99, 1), "mean": (0, 0.6)}
LEAST_RIGHT_REGIONS = 0.95
STEPS = {"soft": 800, "hard": 2000, "mean": 800}
TASK = "three of sixteen regions are marked, and the caption says what is there, one after the other"


def image(draw):
    """Regions as words, the caption, and the regions that it is of."""
    things, places = [draw.choice(THINGS) for _ in range(REGIONS)], draw.sample(range(REGIONS), MARKS)
    regions = [f"{thing}{places.index(i) + 1}" if i in places else f"{thing}0" for i, thing in enumerate(things)]
    return regions, [things[place] for place in places], places


def write(folder, name, count, seed):
    draw = random.Random(seed)
    images = [image(draw) for _ in range(count)]
    for suffix, part in (("src", 0), ("tgt", 1)):
        (folder / f"{name}.{suffix}").write_text("".join(" ".join(one[part]) + "\n" for one in images))
    return images


def learn(tools, attention, steps, seed, folder):
    """Compiles and trains in a folder, and gives the artifact and the checkpoint."""
    model, checkpoint = folder / "model.heddle", folder / "checkpoint"
    sets = [word for key, value in (SETTINGS | {"decay_steps": steps, "attention": attention}).items()
            for word in ("--set", f"{key}={value}")]
    write(folder, "train", 20000, 1)
    run(tools / "heddle-compile", experiment.ROOT / "models/show-attend-tell.weft", *sets, "-o", model)
    run(tools / "heddle-run", "train", model, "--src", folder / "train.src", "--tgt", folder / "train.tgt", "--vocab-type", "word",
        "--checkpoint", checkpoint, "--steps", steps, "--seed", seed)
    return model, checkpoint


def words_right(tools, model, checkpoint, images):
    said = run(tools / "heddle-run", "translate", model, "--checkpoint", checkpoint,
               input="".join(" ".join(regions) + "\n" for regions, _, _ in images))
    lines = [line.split() for line in said.splitlines()]
    return sum(said == word for line, (_, caption, _) in zip(lines, images) for said, word in zip(line, caption)) / (MARKS * len(images))


def regions_right(tools, model, checkpoint, folder, images):
    """The share, and the weights of the first caption."""
    right, first = 0, None
    for regions, caption, places in images:
        weights = weights_of_words(tools, model, checkpoint, folder, " ".join(regions), " ".join(caption))
        first = first or weights[:MARKS]
        right += sum(row.index(max(row)) == place for row, place in zip(weights, places))
    return right / (MARKS * len(images)), first


def figures(tools, attention, seed, steps=None, explained=40):
    """Words and, with attention, regions."""
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.time()
        steps = steps or STEPS[attention]
        model, checkpoint = learn(tools, attention, steps, seed, folder)
        seconds = time.time() - begin
        images = write(folder, "test", 400, 2)
        variant = f"attention={attention}"
        yield Figure("show-attend-tell.weft", variant, seed, words_right(tools, model, checkpoint, images), EXPECTED[attention], steps, seconds,
                     "words right")
        if attention == "mean":
            return
        share, weights = regions_right(tools, model, checkpoint, folder, images[:explained])
        regions, caption, _ = images[0]
        yield Figure("show-attend-tell.weft", variant, seed, share, (LEAST_RIGHT_REGIONS, 1), steps, seconds, "regions right",
                     [Picture("where each word of a caption looks", caption, regions, weights)])


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
