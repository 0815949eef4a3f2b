"""What recurrent translators learn of a translation whose two halves swap, or that is reversed:

    recurrent_translation.py --bin build/bin --model bahdanau.weft [--order swapped|reversed] [--steps N] [--set KEY=VALUE]...

Trains on 20,000 pairs of 5 to 30 words and prints, for sentences of 5 to 9, 15 to 19 and 25 to 30 words that it has not seen, the
share of the words that stand in the translation where they should, and how often the word that the model attends to most is the
right one, as `heddle-run explain` says. Settings are those of heddle-compile."""

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


def alignment(run_tool, model, checkpoint, folder, sources, order):
    """The share of the target's words at which the source's word with the largest weight is the one that is translated."""
    right = words = 0
    for source in sources:
        page = folder / "page.html"
        target = " ".join(swapped_halves.translate(source.split(), order))
        run(run_tool, "explain", model, "--checkpoint", checkpoint, "--src", source, "--tgt", target, "--html", page,
            stderr=subprocess.DEVNULL)
        (data,) = re.findall(r'id="data">(.*?)</script>', page.read_text(), re.S)
        data = json.loads(data)
        maps = [map for map in data["maps"] if map["keys"] == "source" and map["queries"] == "target"]
        if not maps or len(data["source"]) != len(source.split()) + 1:
            return None
        places = swapped_halves.places(len(source.split()), order)
        for query, place in enumerate(places):
            row = maps[0]["weights"][0][query]
            right += row.index(max(row)) == place
            words += 1
    return right / words


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
    settings = {**SETTINGS, "decay_steps": arguments.steps, "explain_entry": "true"}
    settings.update(setting.split("=", 1) for setting in arguments.set)
    tool = arguments.bin / "heddle-run"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        swapped_halves.write_all(folder, 20000, arguments.order)
        model, checkpoint = folder / "model.heddle", folder / "checkpoint"
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        source = Path(arguments.model) if Path(arguments.model).exists() else ROOT / "models" / arguments.model
        run(arguments.bin / "heddle-compile", source, *sets, "-o", model)
        begin = time.time()
        run(tool, "train", model, "--src", folder / "train.src", "--tgt", folder / "train.tgt", "--checkpoint", checkpoint,
            "--steps", arguments.steps, "--seed", arguments.seed, stderr=subprocess.DEVNULL)
        print(f"{arguments.model} {' '.join(arguments.set)}: {arguments.steps} steps in {time.time() - begin:.0f} s", flush=True)
        for length in swapped_halves.RANGES:
            lines = (folder / f"{length}.src").read_text()
            said = run(tool, "translate", model, "--checkpoint", checkpoint, input=lines, stderr=subprocess.DEVNULL)
            share = swapped_halves.score((folder / f"{length}.tgt").read_text().splitlines(), said.splitlines())
            aligned = alignment(tool, model, checkpoint, folder, lines.splitlines()[:arguments.explained], arguments.order) \
                if arguments.explained else None
            print(f"{length}: words {share:.4f}" + (f", alignment {aligned:.4f}" if aligned is not None else ""), flush=True)


if __name__ == "__main__":
    main()
