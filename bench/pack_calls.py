#!/usr/bin/env python3
"""Replaces heddle-compile and heddle-run while a conformance test runs, and records its calls, so that they can be
repeated on a machine without a compiler, PyTorch or Python. bench/gpu-pack.sh links it under both names. It runs what
the test asks for, and stores every call with its inputs and outputs, beside the artifact, which is also compiled for
the targets of the pack. The test compares the outputs with PyTorch as usual, so the packed outputs have been checked.

Environment: HEDDLE_PACK_BIN, the programs' folder; HEDDLE_PACK_TARGETS; HEDDLE_PACK_CASE, the folder to write to;
HEDDLE_PACK_DEVICE, the device that computes the expected outputs; HEDDLE_PACK_PRECISION; HEDDLE_PACK_SMOOTH, set for a
model without ReLUs.

The folder has N.heddle for each artifact and N-K.calls for each session with it: the lines that `heddle-run call
N.heddle --calls` reads in that folder. Other files are named by a hash of their contents, so equal files are stored
once."""

import hashlib
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# Entries whose saved variables a test compares, too: only variables with this prefix.
COMPARED = {"accumulate_step": "grad."}
# How many calls of an entry are packed. All training steps are packed: they depend on each other, and are cheap. Their
# losses are compared as loosely as in the tests, because rounding adds up over the steps. With 16-bit operands the
# order of a sum decides how its result is rounded.
LIMITS = {"decode_step": 2, "encode": 1}
TRAINING = {"train_step", "accumulate_step"}
TOLERANCES = {"f32": (1e-4, 1e-3), "f16": (2e-3, 3e-2), "bf16": (1e-2, 5e-2)}  # of inference, and of training
# Tolerance for training in f16 without ReLUs: twice the test's, as both sides may be off from PyTorch in opposite
# directions.
SMOOTH_TRAINING = 1e-2

programs = Path(os.environ["HEDDLE_PACK_BIN"])
case = Path(os.environ["HEDDLE_PACK_CASE"])


def pack(path):
    path = Path(path)
    target = case / (hashlib.sha256(path.read_bytes()).hexdigest()[:16] + path.suffix)
    if not target.exists():
        shutil.copyfile(path, target)
    return target.name


def only(safetensors, prefix):
    """Returns the tensors of a .safetensors file whose names begin with `prefix`, as such a file."""
    (length,) = struct.unpack("<Q", safetensors[:8])
    data, header = b"", {}
    for name, entry in json.loads(safetensors[8:8 + length]).items():
        if name.startswith(prefix):
            begin, end = entry["data_offsets"]
            header[name] = {**entry, "data_offsets": [len(data), len(data) + end - begin]}
            data += safetensors[8 + length + begin:8 + length + end]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def number_file(artifact):
    """Returns the path of a file beside the test's own artifact, with the number of the packed artifact."""
    return Path(artifact + ".packed")


def compile_twice(words):
    """Compiles for the device that computes the expected outputs, as the test asks, and then for the targets of the
    pack."""
    done = subprocess.run([programs / "heddle-compile", *words])
    if done.returncode:
        return done.returncode
    artifact = words[words.index("-o") + 1]
    number = len(list(case.glob("*.heddle"))) + 1
    others = [word for word in words if not word.startswith("--target=")]
    others[others.index("-o") + 1] = str(case / f"{number}.heddle")
    number_file(artifact).write_text(str(number))
    return subprocess.run([programs / "heddle-compile", *others, f"--target={os.environ['HEDDLE_PACK_TARGETS']}"],
                          stdout=subprocess.DEVNULL).returncode


class Call:
    """A call's flags, as the test wrote them."""

    def __init__(self, line):
        self.files, self.flags = {"input": [], "output": []}, {}
        rest = shlex.split(line)
        while rest:
            word = rest.pop(0)
            if word.startswith(("--input=", "--output=")):
                kind, name, path = word[2:].split("=", 2)
                self.files[kind].append((name, path.removeprefix("@")))
            elif word in ("--entry", "--seed", "--variables", "--save-variables"):
                self.flags[word] = rest.pop(0)
            else:
                sys.exit(f"pack_calls.py: the option '{word}' cannot be packed")
        self.entry = self.flags["--entry"]

    def before(self):
        """Returns the packed call's flags for files that exist before the call."""
        precision, training = os.environ["HEDDLE_PACK_PRECISION"], self.entry in TRAINING
        tolerance = TOLERANCES[precision][training]
        if training and precision == "f16" and os.environ.get("HEDDLE_PACK_SMOOTH"):
            tolerance = SMOOTH_TRAINING
        words = ["--entry", self.entry, "--tolerance", str(tolerance)]
        if "--seed" in self.flags:
            words += ["--seed", self.flags["--seed"]]
        if "--variables" in self.flags:
            words += ["--variables", pack(self.flags["--variables"])]
        return words + [f"--input={name}=@{pack(path)}" for name, path in self.files["input"]]

    def after(self):
        """Returns the packed call's flags for files that the call has written."""
        words = [f"--expect={name}=@{pack(path)}" for name, path in self.files["output"]]
        if "--save-variables" in self.flags and self.entry in COMPARED:
            with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
                file.write(only(Path(self.flags["--save-variables"]).read_bytes(), COMPARED[self.entry]))
                file.flush()
                words += ["--expect-variables", pack(file.name)]
        return words


def answer(session):
    """Prints what heddle-run prints for a call. Returns False if heddle-run ended instead."""
    for line in session.stdout:
        print(line, end="", flush=True)
        if line.startswith("call ") and line.endswith(": done\n"):
            return True
    return False


def run_session(artifact):
    number = number_file(artifact).read_text()
    calls = case / f"{number}-{len(list(case.glob(f'{number}-*.calls'))) + 1}.calls"
    session = subprocess.Popen([programs / "heddle-run", "call", artifact, "--calls",
                                f"--device={os.environ['HEDDLE_PACK_DEVICE']}"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = {}
    with open(calls, "w") as file:
        for line in sys.stdin:
            call = Call(line)
            seen[call.entry] = seen.get(call.entry, 0) + 1
            packed = seen[call.entry] <= LIMITS.get(call.entry, 1 << 30)
            words = call.before() if packed else []
            session.stdin.write(line)
            session.stdin.flush()
            if not answer(session):
                return session.wait() or 1
            if packed:
                file.write(shlex.join(words + call.after()) + "\n")
    session.stdin.close()
    print(session.stdout.read(), end="", flush=True)
    return session.wait()


def main():
    if Path(sys.argv[0]).name == "heddle-compile":
        return compile_twice(sys.argv[1:])
    if len(sys.argv) != 4 or sys.argv[1] != "call" or sys.argv[3] != "--calls":
        sys.exit("pack_calls.py: only `heddle-run call ARTIFACT --calls` can be packed")
    return run_session(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
