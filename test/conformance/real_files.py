"""Compares files that others wrote with llama.cpp's results. They are not in this repository; run.py says where they
are.

    real_files.py --bin build/bin --files FOLDER --case stories|quantised [--target=NAME]

stories      stories260K.gguf: the ids and the greedy continuation of a text
quantised    a small LLaMA in packed types: logits, whose reference was computed in f32 of the file's numbers and stored in f16"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from compiled import Model, Report, default_target, relative, rounds_rows, run

BEGINNING, IDS = "Once upon a time", [1, 403, 407, 261, 378]
CONTINUATION = (", there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, red ball. "
                "She wanted to play with it, but it was too high.")
BOUND = 3e-3  # relative norm: the references have 11 bits
BOUND_OF_PACKED, BOUND_OF_ROUNDED = 2e-5, 1e-4  # relative to the same numbers in f32


def stories(arguments, folder, report):
    file, artifact = f"{arguments.files}/stories260K.gguf", f"{folder}/stories.heddle"
    run([f"{arguments.bin}/heddle-compile", file, "-o", artifact, f"--target={arguments.target}", "--entries=inference",
         "--set", "max_tokens=256", "--set", "max_sequences=2"])
    ask = lambda *words: subprocess.run([f"{arguments.bin}/heddle-run", *words], input=BEGINNING + "\n", capture_output=True, text=True,
                                        check=True).stdout
    ids = [int(word) for word in ask("tokenize", file).split("\t")[0].split()]
    report.check("ids that differ", int(ids[-len(IDS) + 1:] != IDS[1:]), 0)
    text = ask("generate", artifact, "--checkpoint", file, "--tokens", "60")
    report.check("a continuation that differs", int(CONTINUATION not in text), 0)
    if CONTINUATION not in text:
        print(ids, text)


def quantised(arguments, folder, report):
    files = sorted(Path(arguments.files, "quantised").glob("*.gguf"))
    ids = np.load(f"{arguments.files}/quantised/ids.npy").astype(np.int32).reshape(-1)
    i32 = lambda values: np.asarray(values, np.int32)
    inputs = {"target_in": ids, "target_positions": np.arange(len(ids), dtype=np.int32), "target_starts": i32([0]),
              "target_lengths": i32([len(ids)])}
    overrides = {"max_tokens": 128, "max_sequences": 1, "logits_entry": True}
    model_of = lambda file, *flags: Model(SimpleNamespace(bin=arguments.bin, model=file), overrides, folder, arguments.target, flags=flags)
    for file in files:
        Path(folder, file.name).symlink_to(file)
    widened = {}
    # All files hold the same model, so an artifact that keeps numbers in f32 serves each of them.
    with model_of(files[0], "--weights=f32") as model:
        for file in files:
            (widened[file],) = model.call("logits", inputs, ["logits"], variables=file.name)
            report.check(f"{file.stem}: logits", relative(widened[file], np.load(file.with_suffix(".logits.npy"))), BOUND)
    for file in files:
        with model_of(file) as model:
            (logits,) = model.call("logits", inputs, ["logits"], variables=file.name)
            bound = BOUND_OF_ROUNDED if rounds_rows(arguments.bin, model.artifact) else BOUND_OF_PACKED
            report.check(f"{file.stem}: packed weights", relative(logits, widened[file]), bound)
    report.check("files that are absent", int(not files), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--files", required=True)
    parser.add_argument("--case", choices=("stories", "quantised"), required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        globals()[arguments.case](arguments, folder, report)
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
