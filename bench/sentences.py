#!/usr/bin/python3
"""What models that know sentences learn, beside what they would learn without the idea of their papers:

    sentences.py --bin build/bin [--task memory|hierarchical]... [--seed N]...

memory: a memory network of two hops, beside one hop, is told who took what and who went where, and asked where a thing is. hierarchical:
in each sentence one word is behind "mark", and in one sentence there is "here"; hierarchical attention, beside attention to all words alike, says which
word is marked in that sentence. Trains on 4,000 texts and prints the share of right answers in 400 that it has not seen. Fails where a
share is not what is expected."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = {"vocab_size": 60, "max_tokens": 2048, "max_length": 80, "max_sequences": 32, "warmup": 100, "schedule": '"cosine"',
            "clip_norm": 1}
NAMES, THINGS, PLACES = ([f"{kind}{i}" for i in range(8)] for kind in ("name", "thing", "place"))


def who_has_what(draw):
    people, things, places = (draw.sample(words, 5) for words in (NAMES, THINGS, PLACES))
    told = [f"{name} took {thing}" for name, thing in zip(people, things)] + [f"{name} went {place}" for name, place in zip(people, places)]
    draw.shuffle(told)
    asked = draw.randrange(5)
    return {"text": told + [f"where is {things[asked]}"], "label": places[asked]}


def marked_word(draw):
    words = [f"w{i}" for i in range(12)]
    lines, chosen = [], draw.randrange(6)
    for i in range(6):
        line = draw.choices(words, k=6)
        line[draw.randrange(6)] = marked = f"mark-{draw.choice(words)}"
        if i == chosen:
            line.insert(draw.randrange(7), "here")
            label = marked
        lines.append(" ".join(line))
    return {"text": lines, "label": label}


# Of each task: its text, its records, settings and steps, and what sets the idea apart, with the share that is expected.
TASKS = {
    "memory": ("memory-network.weft", who_has_what, {"classes": 8, "learning_rate": 0.01, "width": 32}, 1500,
               {"hops=2": (0.98, 1), "hops=1": (0, 0.5)}),
    "hierarchical": ("hierarchical-attention.weft", marked_word, {"classes": 12, "learning_rate": 0.005, "width": 32}, 1000,
                     {"levels=2": (0.95, 1), "levels=1": (0, 0.5)}),
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
            records = (folder / "test.jsonl").read_text()
            expected = [json.loads(line)["label"] for line in records.splitlines()]
            for variant, (lowest, highest) in variants.items():
                sets = [word for key, value in (SETTINGS | settings | {"decay_steps": steps}).items() for word in ("--set", f"{key}={value}")]
                model = folder / "model.heddle"
                run(arguments.bin / "heddle-compile", ROOT / "models" / text, *sets, "--set", variant, "-o", model)
                for seed in arguments.seed or [1]:
                    begin, checkpoint = time.time(), folder / f"{task}-{variant}-{seed}"
                    run(tool, "train", model, "--data", folder / "train.jsonl", "--vocab-type", "word", "--checkpoint", checkpoint, "--steps",
                        steps, "--seed", seed)
                    took = time.time() - begin
                    said = run(tool, "predict", model, "--checkpoint", checkpoint, "--records", input=records).splitlines()
                    share = sum(line.split("\t")[0] == right for line, right in zip(said, expected, strict=True)) / len(expected)
                    print(f"{task}, {variant}, seed {seed}: {share:.4f} right after {steps} steps in {took:.0f} s", flush=True)
                    failures += not lowest <= share <= highest
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
