"""Trainings that show what a model can do with its idea, and what it cannot do without it. A script describes its
experiments. This module trains each variant, scores it on unseen records, and prints the figures; bench/gallery.py
makes a page of all of them."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/conformance"))
import calls


@dataclass
class Experiment:
    text: str  # the model's .weft file
    make: Callable  # returns a record, given a random.Random
    settings: dict
    steps: int
    variants: dict  # from a setting of the model to the lowest and highest expected figure
    task: str = ""  # what the model is asked to do
    above: bool = False  # the last variant must score higher than the first
    train: int = 4000  # records
    test: int = 400
    # Returns which answers of `predict` are right, if the figure is not the accuracy of `score`.
    answers: Callable = None
    pictures: Callable = None  # returns pictures of what a trained model attends to: (Trained) -> [Picture]
    explains: bool = True  # the pictures need the model's entry `explain`


@dataclass
class Trained:
    tools: Path
    folder: Path
    model: Path
    checkpoint: Path
    experiment: Experiment


@dataclass
class Picture:
    title: str
    rows: list  # names
    columns: list
    weights: list  # a list of numbers for each row


@dataclass
class Figure:
    name: str
    variant: str
    seed: int
    figure: float
    expected: tuple
    steps: int
    seconds: float
    what: str = "right"
    pictures: list = field(default_factory=list)

    def is_expected(self):
        return self.expected[0] <= self.figure <= self.expected[1]

    def __str__(self):
        return f"{self.name}, {self.variant}, seed {self.seed}: {self.figure:.4f} {self.what} after {self.steps} steps in {self.seconds:.0f} s"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          **options).stdout


def write_records(path, make, count, seed):
    draw = random.Random(seed)
    path.write_text("".join(json.dumps(make(draw)) + "\n" for _ in range(count)))


def compile_model(tools, experiment, variant, folder):
    model = folder / "model.heddle"
    sets = [word for key, value in (experiment.settings | {"decay_steps": experiment.steps}).items() for word in ("--set", f"{key}={value}")]
    explain = ["--set", "explain_entry=true"] if experiment.pictures and experiment.explains else []
    run(tools / "heddle-compile", ROOT / "models" / experiment.text, *sets, *explain, "--set", variant, "-o", model)
    return model


def score(trained):
    """Returns the figure (the accuracy, or the correlation of grades) and its name."""
    tool, records = trained.tools / "heddle-run", trained.folder / "test.jsonl"
    if trained.experiment.answers:
        said = run(tool, "predict", trained.model, "--checkpoint", trained.checkpoint, "--records", input=records.read_text())
        right = trained.experiment.answers(said, [json.loads(line) for line in records.read_text().splitlines()])
        return sum(right) / len(right), "right"
    log = trained.folder / "score.jsonl"
    log.unlink(missing_ok=True)
    run(tool, "score", trained.model, "--checkpoint", trained.checkpoint, "--data", records, "--log", log)
    scores = json.loads(log.read_text())
    return (scores["accuracy"], "right") if "accuracy" in scores else (scores["pearson"], "Pearson's correlation")


def measure(name, experiment, tools, seeds, with_pictures=False):
    """Yields the figures of each variant and seed, one after the other."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_records(folder / "train.jsonl", experiment.make, experiment.train, 1)
        write_records(folder / "test.jsonl", experiment.make, experiment.test, 2)
        for variant, expected in experiment.variants.items():
            model = compile_model(tools, experiment, variant, folder)
            for seed in seeds:
                begin, checkpoint = time.time(), folder / f"{variant}-{seed}"
                words = [] if "image" in experiment.make(random.Random(1)) else ["--vocab-type", "word"]
                run(tools / "heddle-run", "train", model, "--data", folder / "train.jsonl", *words, "--checkpoint", checkpoint,
                    "--steps", experiment.steps, "--seed", seed)
                seconds = time.time() - begin
                trained = Trained(tools, folder, model, checkpoint, experiment)
                figure, what = score(trained)
                pictures = experiment.pictures(trained) if with_pictures and experiment.pictures and seed == seeds[0] else []
                yield Figure(name, variant, seed, figure, expected, experiment.steps, seconds, what, pictures)


def count_unexpected(experiment, figures):
    variants = list(experiment.variants)
    of = {(figure.variant, figure.seed): figure.figure for figure in figures}
    seeds = {figure.seed for figure in figures}
    not_above = sum(of[variants[-1], seed] <= of[variants[0], seed] for seed in seeds) if experiment.above else 0
    return sum(not figure.is_expected() for figure in figures) + not_above


def main(description, experiments):
    """Runs a script's command line. The exit code is 1 if a figure is not as expected."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=Path)
    parser.add_argument("--task", action="append", choices=sorted(experiments))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, action="append")
    arguments = parser.parse_args()
    failures = 0
    for name in arguments.task or sorted(experiments):
        experiment = experiments[name]
        experiment.steps = arguments.steps or experiment.steps
        figures = []
        for figure in measure(name, experiment, arguments.bin, arguments.seed or [1]):
            print(figure, flush=True)
            figures.append(figure)
        failures += count_unexpected(experiment, figures)
    sys.exit(failures > 0)


#-- What a model attends to ------------------------------------------------------------------------------------------


def attended(trained, inputs, widths):
    """Returns the outputs of the entry `explain` by name, for inputs of a single record. `widths` maps each side's list
    of slots to its length; with it a query's weights are a row with one number per key."""
    slots = {name: np.arange(count, dtype=np.int32) for name, count in widths.items()}
    inspected = json.loads(run(trained.tools / "heddle-inspect", trained.model, "--json"))
    (entry,) = [entry for entry in inspected["entries"] if entry["name"] == "explain"]
    known, names = {port["name"] for port in entry["inputs"]}, [port["name"] for port in entry["outputs"]]
    variables = next(trained.checkpoint.glob("step-*/weights.safetensors"))
    with calls.Session(trained.tools, trained.model, trained.folder) as session:
        given = {name: value for name, value in (inputs | slots).items() if name in known}
        return dict(zip(names, session.call("explain", given, names, ["--variables", str(variables)])))
