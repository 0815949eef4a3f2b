#!/usr/bin/env python3
"""Stands in for heddle-compile and heddle-run while a conformance test runs, so that its calls can be replayed on a
machine without a compiler, PyTorch or Python: bench/gpu-pack.sh links it under both names. What the test asks for happens,
and every call is noted with its artifact, compiled for all targets, its inputs and its outputs. The test compares these
with PyTorch as ever, so what is packed has been checked.

Environment: HEDDLE_PACK_BIN, the programs' folder; HEDDLE_PACK_TARGETS; HEDDLE_PACK_CASE, the folder to write to;
HEDDLE_PACK_DEVICE, what makes the expected outputs; HEDDLE_PACK_PRECISION.

calls.txt has a line for each call, words without spaces: the artifact, the entry, the tolerance, then in:NAME=FILE,
expect:NAME=FILE, seed:N, variables:FILE, saved:N (the variables that the call of line N saved), save, and result:FILE,
the variables that there must be afterwards."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# What saves variables that a test compares as well: gradients.
VARIABLES = {"accumulate_step"}
# Calls of one entry that are packed; training steps follow one another, and cost little for it. Their losses are compared
# as loosely as the tests do, for rounding adds up over the steps. With factors of 16 bits a sum's order decides how its
# result is rounded.
LIMITS = {"decode_step": 2, "encode": 1}
TRAINING = {"train_step", "accumulate_step"}
TOLERANCES = {"f32": (1e-4, 1e-3), "f16": (2e-3, 3e-2), "bf16": (1e-2, 5e-2)}  # of inference, and of training

programs = Path(os.environ["HEDDLE_PACK_BIN"])
case = Path(os.environ["HEDDLE_PACK_CASE"])


def pack(path, suffix):
    """Copies a file to a name made of its contents, so that equal files are there once."""
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    target = case / (digest + suffix)
    if not target.exists():
        shutil.copyfile(path, target)
    return target.name


def compile_for_all(words):
    target = f"--target={os.environ['HEDDLE_PACK_TARGETS']}"
    done = subprocess.run([programs / "heddle-compile", *words, target])
    return done.returncode


def call(words):
    state_file = case / "state.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"calls": 0, "entries": {}, "saved": {}}
    noted, flags, rest = [], {}, list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.startswith(("--input=", "--output=")):
            kind, name, path = word[2:].split("=", 2)
            noted.append((kind, name, path[1:]))
        elif word in ("--entry", "--seed", "--variables", "--save-variables"):
            flags[word[2:]] = rest.pop(0)
        else:
            sys.exit(f"pack_calls.py: the option '{word}' cannot be packed")
    entry = flags["entry"]
    seen = state["entries"].get(entry, 0)
    packed = seen < LIMITS.get(entry, 1 << 30)
    line = [pack(words[0], ".heddle"), entry, str(TOLERANCES[os.environ["HEDDLE_PACK_PRECISION"]][entry in TRAINING])] if packed else []
    if packed:
        if "seed" in flags:
            line.append(f"seed:{flags['seed']}")
        if "variables" in flags:
            digest = hashlib.sha256(Path(flags["variables"]).read_bytes()).hexdigest()
            number = state["saved"].get(digest)
            line.append(f"variables:{pack(flags['variables'], '.safetensors')}" if number is None else f"saved:{number}")
        line += [f"in:{name}={pack(path, '.npy')}" for kind, name, path in noted if kind == "input"]

    done = subprocess.run([programs / "heddle-run", "call", *words, f"--device={os.environ['HEDDLE_PACK_DEVICE']}"])
    if done.returncode or not packed:
        return done.returncode
    line += [f"expect:{name}={pack(path, '.npy')}" for kind, name, path in noted if kind == "output"]
    state["calls"] += 1
    state["entries"][entry] = seen + 1
    if "save-variables" in flags:
        line.append("save")
        if entry in VARIABLES:
            line.append(f"result:{pack(flags['save-variables'], '.safetensors')}")
        state["saved"][hashlib.sha256(Path(flags["save-variables"]).read_bytes()).hexdigest()] = state["calls"]
    with open(case / "calls.txt", "a") as file:
        file.write(" ".join(line) + "\n")
    state_file.write_text(json.dumps(state))
    return 0


def main():
    if Path(sys.argv[0]).name == "heddle-compile":
        return compile_for_all(sys.argv[1:])
    if sys.argv[1] != "call":
        sys.exit("pack_calls.py: only `heddle-run call` can be packed")
    return call(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
