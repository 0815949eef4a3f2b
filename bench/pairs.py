#!/usr/bin/python3
"""What models of two texts learn, beside what they would learn without attention between the two:

    pairs.py --bin build/bin [--task abcnn|coattention|mpcnn]... [--seed N]...

abcnn, coattention: the left text says which colour each of four people has, the right one names a person, and the label is the person's
colour. What is in a text does not say it, as all four colours are there; BCNN, which compares texts as wholes, can choose among four.
mpcnn: the grade is how many of its words a text shares with the other, from 0 to 5. Trains on 4,000 pairs and prints the share of
right labels, or the Pearson correlation of grades, of 400 that it has not seen. Fails where a figure is not what is expected, and where
attention is not above what there is without it."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = {"vocab_size": 60, "max_tokens": 1024, "max_length": 16, "max_sequences": 32, "warmup": 100, "schedule": '"cosine"',
            "clip_norm": 1}
PEOPLE, COLOURS = [f"person{i}" for i in range(8)], [f"colour{i}" for i in range(8)]


def colour_of(draw):
    people, colours = draw.sample(PEOPLE, 4), draw.sample(COLOURS, 4)
    asked = draw.randrange(4)
    return {"left": " ".join(word for both in zip(people, colours) for word in both), "right": people[asked], "label": colours[asked]}


def overlap(draw):
    words = draw.sample([f"w{i}" for i in range(400)], 16)
    shared = draw.randrange(9)
    left, right = words[:8], words[:shared] + words[8:16 - shared]
    draw.shuffle(left)
    draw.shuffle(right)
    return {"left": " ".join(left), "right": " ".join(right), "grade": 5 * shared / 8}


# Of each task: its text, its records, settings and steps, and what sets the idea apart, with the figures that are expected.
TASKS = {
    "abcnn": ("bcnn.weft", colour_of, {"classes": 8, "learning_rate": 0.01, "width": 32}, 1500,
              {"attention=none": (0, 0.4), "attention=inputs": (0.98, 1), "attention=pooling": (0.98, 1), "attention=both": (0.98, 1)}),
    "coattention": ("coattention.weft", colour_of, {"classes": 8, "learning_rate": 0.005, "width": 32}, 800,
                    {"attention=none": (0, 0.4), "attention=parallel": (0.98, 1)}),
    "mpcnn": ("mpcnn.weft", overlap, {"learning_rate": 0.005, "vocab_size": 420, "width": 16, "filters": 16, "hidden": 32}, 600,
              {"attention=none": (0, 1), "attention=inputs": (0.9, 1)}),
}


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          **options).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=Path)
    parser.add_argument("--task", action="append", choices=sorted(TASKS))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, action="append")
    arguments = parser.parse_args()
    tool, failures = arguments.bin / "heddle-run", 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in arguments.task or sorted(TASKS):
            text, make, settings, steps, variants = TASKS[task]
            steps = arguments.steps or steps
            for path, count, seed in (("train", 4000, 1), ("test", 400, 2)):
                draw = random.Random(seed)
                (folder / f"{path}.jsonl").write_text("".join(json.dumps(make(draw)) + "\n" for _ in range(count)))
            without = {}  # by seed
            for variant, (lowest, highest) in variants.items():
                sets = [word for key, value in (SETTINGS | settings | {"decay_steps": steps}).items() for word in ("--set", f"{key}={value}")]
                model = folder / "model.heddle"
                run(arguments.bin / "heddle-compile", ROOT / "models" / text, *sets, "--set", variant, "-o", model)
                for seed in arguments.seed or [1]:
                    begin, checkpoint = time.time(), folder / f"{task}-{variant}-{seed}"
                    run(tool, "train", model, "--data", folder / "train.jsonl", "--vocab-type", "word", "--checkpoint", checkpoint, "--steps",
                        steps, "--seed", seed)
                    took = time.time() - begin
                    log = folder / "score.jsonl"
                    log.unlink(missing_ok=True)
                    run(tool, "score", model, "--checkpoint", checkpoint, "--data", folder / "test.jsonl", "--log", log)
                    score = json.loads(log.read_text())
                    figure = score.get("accuracy", score.get("pearson"))
                    what = "right" if "accuracy" in score else f"Pearson, mean squared error {score['mean_squared_error']:.3f},"
                    print(f"{task}, {variant}, seed {seed}: {figure:.4f} {what} after {steps} steps in {took:.0f} s", flush=True)
                    failures += not lowest <= figure <= highest or figure <= without.get(seed, -1)
                    if variant == "attention=none":
                        without[seed] = figure
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
