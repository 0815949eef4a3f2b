"""Shows what recurrent translators learn of a translation whose two halves swap, or that is reversed:

    recurrent_translation.py --bin build/bin --model bahdanau.weft [--order swapped|reversed] [--steps N] [--set KEY=VALUE]...

Trains on 20,000 pairs of 5 to 30 words. For unseen sentences of 5 to 9, 15 to 19 and 25 to 30 words, prints the share
of words that stand at the right place in the translation, and how often the word that the model attends to most is the
right one, according to `heddle-run explain`. Settings are those of heddle-compile."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/tools"))
import swapped_halves

SETTINGS = {"width": 64, "vocab_size": 80, "max_length": 32, "max_sequences": 64, "max_tokens": 1280, "learning_rate": 0.004,
            "warmup": 200, "schedule": '"cosine"', "clip_norm": 1}


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def explained(tools, model, checkpoint, folder, source, target):
    """Returns the page data of `heddle-run explain`: the source's tokens, and the weights of each token of the
    target."""
    page = folder / "page.html"
    run(tools / "heddle-run", "explain", model, "--checkpoint", checkpoint, "--src", source, "--tgt", target, "--html", page,
        stderr=subprocess.DEVNULL)
    (data,) = re.findall(r'id="data">(.*?)</script>', page.read_text(), re.S)
    data = json.loads(data)
    maps = [map for map in data["maps"] if map["keys"] == "source" and map["queries"] == "target"]
    return data["source"], maps[0]["weights"][0] if maps else None


def weights_of(tools, model, checkpoint, folder, source, order):
    """Returns the weights over the source for each word of its translation; None if the tokens are not the words."""
    target = " ".join(swapped_halves.translate(source.split(), order))
    tokens, weights = explained(tools, model, checkpoint, folder, source, target)
    return weights if len(tokens) == len(source.split()) + 1 else None


def alignment(tools, model, checkpoint, folder, sources, order):
    """Returns the share of the target's words for which the source word with the largest weight is the one being
    translated."""
    right = words = 0
    for source in sources:
        weights = weights_of(tools, model, checkpoint, folder, source, order)
        if weights is None:
            return None
        for row, place in zip(weights, swapped_halves.places(len(source.split()), order)):
            right += row.index(max(row)) == place
            words += 1
    return right / words


def learn(tools, text, settings, order, steps, seed, folder):
    """Compiles and trains in a folder. Returns the artifact and the checkpoint."""
    swapped_halves.write_all(folder, 20000, order)
    model, checkpoint = folder / "model.heddle", folder / "checkpoint"
    sets = [word for key, value in (SETTINGS | {"decay_steps": steps, "explain_entry": "true"} | settings).items()
            for word in ("--set", f"{key}={value}")]
    source = Path(text) if Path(text).exists() else ROOT / "models" / text
    run(tools / "heddle-compile", source, *sets, "-o", model, stderr=subprocess.DEVNULL)
    run(tools / "heddle-run", "train", model, "--src", folder / "train.src", "--tgt", folder / "train.tgt", "--checkpoint", checkpoint,
        "--steps", steps, "--seed", seed, stderr=subprocess.DEVNULL)
    return model, checkpoint


def words_in_place(tools, model, checkpoint, folder, length):
    said = run(tools / "heddle-run", "translate", model, "--checkpoint", checkpoint, input=(folder / f"{length}.src").read_text(),
               stderr=subprocess.DEVNULL)
    return swapped_halves.score((folder / f"{length}.tgt").read_text().splitlines(), said.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=Path)
    parser.add_argument("--model", default="bahdanau.weft")
    parser.add_argument("--order", choices=("swapped", "reversed"), default="swapped")
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--explained", type=int, default=20, help="sentences of each length whose alignment is looked at")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.time()
        model, checkpoint = learn(arguments.bin, arguments.model, settings, arguments.order, arguments.steps, arguments.seed, folder)
        print(f"{arguments.model} {' '.join(arguments.set)}: {arguments.steps} steps in {time.time() - begin:.0f} s", flush=True)
        for length in swapped_halves.RANGES:
            share = words_in_place(arguments.bin, model, checkpoint, folder, length)
            sources = (folder / f"{length}.src").read_text().splitlines()[:arguments.explained]
            aligned = alignment(arguments.bin, model, checkpoint, folder, sources, arguments.order) if sources else None
            print(f"{length}: words {share:.4f}" + (f", alignment {aligned:.4f}" if aligned is not None else ""), flush=True)


if __name__ == "__main__":
    main()
