"""Runs code for cpu:aarch64 under QEMU's emulation of the processor: aarch64.py SOURCE_DIR BUILD_DIR

Cross-compiles heddle-run by the preset `aarch64`. A training must have the losses of this machine's own target, and must
write the same checkpoint with one thread and with two. Greedy continuations must have the tokens of this machine's own
target. Conformance scripts compare kernels with PyTorch and numpy. Skipped if the compiler, the sysroot or QEMU is
missing."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFORMANCE = HERE.parent / "conformance"
sys.path.append(str(CONFORMANCE))
import run as runner

STEPS, BOUND = 5, 1e-5
TARGET = "cpu:aarch64"
SCRIPTS = ["arithmetic.py", "attention.py", "attention_score.py --widths 11", "one_query.py", "draw.py --columns 1 7 33",
           "windows.py --columns 1 7 64", "strides.py", "graphs.py", "pooling.py", "tensor_products.py --precision f32",
           "sums_of_products.py --precision f32", "packed_types.py Q8_0 Q4_0 Q6_K",
           "parity.py --model {models}/numbers.toml --case odd-widths --steps 2",
           "parity.py --model {models}/numbers.toml --case odd-widths --precision f16 --steps 2",
           "parity.py --model {models}/numbers.toml --case base --precision bf16 --smooth --steps 1"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def losses(log):
    records = map(json.loads, log.read_text().splitlines())
    return [record["loss"] for record in records if "loss" in record]


def check_training(own, emulated, models, folder):
    """Returns what is wrong with trainings on this machine and on the emulated processor."""
    run(own / "heddle-data", "numbers", "--out", folder / "data", "--train", 400, "--valid", 20, "--test", 1, "--maximum", 999999)
    for name, target in (("own", []), ("emulated", [f"--target={TARGET}"])):
        run(own / "heddle-compile", models / "numbers.toml", "--set", "max_tokens=320", *target, "-o", folder / f"{name}.heddle")
    found = {}
    for name, programs, threads in (("own", own, 1), ("emulated", emulated, 1), ("emulated", emulated, 2)):
        place = folder / f"{name}-{threads}"
        run(programs / "heddle-run", "train", folder / f"{name}.heddle", "--src", folder / "data/train.en", "--tgt", folder / "data/train.de",
            "--checkpoint", place, "--log", f"{place}.jsonl", "--steps", STEPS, "--seed", 1, f"--threads={threads}")
        found[name, threads] = losses(Path(f"{place}.jsonl"))
        print(f"losses, {name}, {threads} threads: {found[name, threads]}", flush=True)
    wrong = []
    if len(found["own", 1]) != STEPS:
        wrong.append(f"there are {len(found['own', 1])} losses")
    if not all(abs(a - b) <= BOUND for a, b in zip(found["own", 1], found["emulated", 1], strict=True)):
        wrong.append(f"losses differ by more than {BOUND}")
    for file in ("weights.safetensors", "optimizer.safetensors"):
        one, two = (folder / f"emulated-{threads}/step-{STEPS:08}/{file}" for threads in (1, 2))
        if one.read_bytes() != two.read_bytes():
            wrong.append(f"{file} depends on the number of threads")
    return wrong


def check_generation(own, emulated, file, folder):
    wrong = []
    for weights in ("f32", "int8", "int4"):
        tokens = {}
        for name, programs, target in (("own", own, []), ("emulated", emulated, [f"--target={TARGET}"])):
            artifact = folder / f"{name}-{weights}.heddle"
            run(own / "heddle-compile", file, "--entries=inference", f"--weights={weights}", "--max-tokens=64", "--max-sequences=4", *target,
                "-o", artifact)
            tokens[name] = run(programs / "heddle-run", "generate", artifact, "--checkpoint", file, "--ids", "--greedy", "--tokens", 40,
                               input="1 403 407 261 378\n")
        print(f"tokens, {weights}: {tokens['emulated'].strip()}", flush=True)
        if len(tokens["own"].split()) != 45 or tokens["own"] != tokens["emulated"]:
            wrong.append(f"a continuation with weights in {weights} is {tokens['emulated']}instead of {tokens['own']}")
    return wrong


def check_scripts(emulated, models):
    wrong = []
    for script in SCRIPTS:
        name, *words = script.format(models=models).split()
        done = subprocess.run([sys.executable, CONFORMANCE / name, "--bin", emulated, "--target", TARGET, *words], capture_output=True,
                              text=True, env={**os.environ, "HEDDLE_TARGET": TARGET})
        print("ok  " if done.returncode == 0 else "FAIL", script, flush=True)
        if done.returncode != 0:
            wrong.append(f"{script}\n{done.stdout}{done.stderr}")
    return wrong


def main():
    source, build = (Path(word).resolve() for word in sys.argv[1:])
    cross, own, models = source / "build-aarch64", build / "bin", source / "models"
    for needed in ("clang++-22", "ld.lld-22", "qemu-aarch64", cross / "sysroot"):
        if not shutil.which(needed) and not Path(needed).is_dir():
            print(f"there is no {needed}: tools/setup.sh --aarch64 installs it")
            sys.exit(runner.SKIPPED)
    run("cmake", "--preset", "aarch64", cwd=source)
    run("cmake", "--build", "--preset", "aarch64", "--target", "heddle-run", cwd=source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        emulated = folder / "bin"
        emulated.mkdir()
        for program in own.iterdir():
            (emulated / program.name).symlink_to(program)
        (emulated / "heddle-run").unlink()
        (emulated / "heddle-run").write_text(f'#!/bin/sh\nexec qemu-aarch64 -L "{cross}/sysroot" "{cross}/bin/heddle-run" "$@"\n')
        (emulated / "heddle-run").chmod(0o755)
        wrong = check_training(own, emulated, models, folder)
        file = runner.FOLDERS["files"] / "stories260K.gguf"
        if file.exists():
            wrong += check_generation(own, emulated, file, folder)
        else:
            print(f"skipped: generation: there is no {file}; HEDDLE_MODELS names another folder")
        wrong += check_scripts(emulated, models)
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
