"""Kills a training with SIGKILL at 4 random moments, or at 20 with HEDDLE_LONG=1: kill_training.py BIN MODELS

Every restart must resume from the newest checkpoint, which must be complete. The result must equal that of an
undisturbed training: the same losses, and bit-identical weights and moments.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONG = bool(os.environ.get("HEDDLE_LONG"))
KILLS = 20 if LONG else 4
STEPS, SECONDS = (350, 4) if LONG else (80, 1.5)  # at least this many steps and seconds of training
FILES = {"manifest.json", "optimizer.safetensors", "spm.model", "weights.safetensors"}


def losses(log):
    """Returns the steps of a log and their losses; other fields depend on the clock. A killed program may leave half a
    line."""
    result = {}
    for line in log.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "loss" in record:
            result[record["step"]] = record["loss"]
    return result


def checkpoints(folder):
    found = sorted(path for path in folder.glob("step-*") if re.fullmatch(r"step-\d+", path.name))
    for path in found:
        names = {file.name for file in path.iterdir()}
        if names != FILES:
            sys.exit(f"{path.name} is not whole: it holds {names}")
    return found


def main():
    tools, models = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    seed = int(os.environ.get("HEDDLE_KILL_SEED", time.time()))
    print(f"HEDDLE_KILL_SEED={seed}")
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = lambda *command: subprocess.run(command, cwd=folder, check=True, capture_output=True)
        run(tools / "heddle-data", "numbers", "--out", "data", "--train", "600", "--valid", "20", "--test", "1", "--maximum", "9999")
        # A step takes several milliseconds, so that a kill can fall within it.
        run(tools / "heddle-compile", models / "numbers.toml", "--set", "d_model=64", "--set", "heads=4", "--set", "d_ff=256",
            "--set", "encoder_layers=1", "--set", "decoder_layers=1", "--set", "max_tokens=512", "--set",
            "max_sequences=32", "--set", "dropout=0.1", "-o", "n.heddle")
        # Small windows, so that the kills fall into different windows and epochs.
        train = [tools / "heddle-run", "train", "n.heddle", "--src", "data/train.en", "--tgt", "data/train.de",
                 "--valid-src", "data/valid.en", "--valid-tgt", "data/valid.de", "--save-every", "2", "--validate-every", "5",
                 "--shuffle-window", "200"]
        # Measures this machine's speed: a watcher that is slightly late must not find the training finished.
        began = time.monotonic()
        run(*train, "--checkpoint", "trial", "--log", "trial.jsonl", "--steps", "20")
        taken = time.monotonic() - began
        seconds = [json.loads(line).get("seconds", 0) for line in (folder / "trial.jsonl").read_text().splitlines()]
        one_step, start = sorted(seconds)[len(seconds) // 2], max(taken - sum(seconds), 0.02)
        last = max(STEPS, min(1000, int(SECONDS / one_step / 2) * 2))
        train += ["--steps", str(last)]
        run(*train, "--checkpoint", "whole", "--log", "whole.jsonl")

        killed, log, in_step = folder / "killed", folder / "killed.jsonl", 0
        resumed = []
        for _ in range(KILLS):
            have = checkpoints(killed) if killed.exists() else []
            with open(folder / "said.txt", "w+") as said:
                program = subprocess.Popen(train + ["--checkpoint", "killed", "--log", "killed.jsonl"] +
                                           (["--resume"] if have else []), cwd=folder, stderr=said, stdout=said)
                # During the start; the short form first needs a checkpoint.
                if (LONG or resumed) and draw.random() < 0.2:
                    time.sleep(draw.uniform(0, start))
                else:  # some steps after the first, at any moment of a step
                    steps, deadline = draw.randrange(0 if LONG or resumed else 6, 14), time.time() + 60
                    while program.poll() is None and time.time() < deadline:
                        if first := re.search(rf"step (\d+) of {last}  loss", (folder / "said.txt").read_text()):
                            if max(losses(log), default=0) >= int(first.group(1)) + steps:
                                break
                        time.sleep(0.001)
                    time.sleep(draw.uniform(0, 2 * one_step))
                    in_step += 1
                ended = program.poll()
                program.send_signal(signal.SIGKILL)
                program.wait()
                said.seek(0)
                text = said.read()
            if ended not in (None, 0):
                sys.exit(f"a restart fails: {text}")
            if "resuming after step" in text:
                resumed.append(int(re.search(r"resuming after step (\d+)", text).group(1)))
                if resumed[-1] != int(have[-1].name.removeprefix("step-")):
                    sys.exit(f"resumed from step {resumed[-1]} where there is {have[-1].name}")
        print(f"{in_step} kills between steps; resumed after steps {resumed}")
        if resumed[-1] >= last or len(set(resumed)) < KILLS // 4:
            sys.exit("the kills do not fall into the training: change SECONDS")

        run(*train, "--checkpoint", "killed", "--log", "killed.jsonl", "--resume")
        if losses(folder / "whole.jsonl") != losses(log) or len(losses(log)) != last:
            sys.exit("the losses are not those of a training that nobody killed")
        for file in FILES:
            a, b = (folder / kind / f"step-{last:08d}" / file for kind in ("whole", "killed"))
            if a.read_bytes() != b.read_bytes():
                sys.exit(f"{file} is not that of a training that nobody killed")
        if os.readlink(folder / "whole/best") != os.readlink(killed / "best"):
            sys.exit("another checkpoint is the best")
        if left := [path.name for path in killed.iterdir() if path.name.endswith(".tmp")]:
            sys.exit(f"unfinished checkpoints stay: {left}")
    print("all as expected")


main()
