"""Kills one of two ranks with SIGKILL at 2 random moments, or at 10 with HEDDLE_LONG=1, and stops one: ranks_killed.py
BIN MODELS

Every time, the other rank must end with one message that names the failed rank. The training then resumes from the
newest checkpoint, and its result must equal that of an undisturbed training, bit for bit.
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mpi_ranks import ENVIRONMENT, fail, losses, need_mpirun, run, started_by_mpirun

STEPS, KILLS = (400, 10) if os.environ.get("HEDDLE_LONG") else (120, 2)
TIMEOUT = 20
STOPPED_TIMEOUT = 8  # seconds; for a stopped rank. 4 were too few on a busy machine for a rank that runs


def has_ended(process):
    """Returns True if the process does not exist, or is a zombie that waits for its parent."""
    if not process:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def main():
    tools, models = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    need_mpirun()
    seed = int(os.environ.get("HEDDLE_KILL_SEED", time.time()))
    print(f"HEDDLE_KILL_SEED={seed}")
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([tools / "heddle-data", "numbers", "--out", "data", "--train", "600", "--valid", "20", "--test", "1", "--maximum", "9999"], folder)
        run([tools / "heddle-compile", models / "numbers.toml", "--shard=none", "--set", "d_model=16", "--set", "heads=2", "--set",
             "d_ff=32", "--set", "encoder_layers=1", "--set", "decoder_layers=1", "--set", "max_tokens=128", "--set", "max_sequences=8",
             "--set", "dropout=0.1", "-o", "n.heddle"], folder)
        # Each rank writes its process id to a file.
        train = [*started_by_mpirun(2), "sh", "-c", 'echo $$ > "pid.$OMPI_COMM_WORLD_RANK"; exec "$@"', "sh", tools / "heddle-run",
                 "train", "n.heddle", "--src", "data/train.en", "--tgt", "data/train.de", "--valid-src", "data/valid.en",
                 "--valid-tgt", "data/valid.de", "--steps", STEPS, "--save-every", "2", "--validate-every", "20", "--shuffle-window", "200"]
        run([*train, "--checkpoint", "whole", "--log", "whole.jsonl"], folder)

        killed, log, slowest = folder / "killed", folder / "killed.jsonl", 0

        def newest():
            return max((int(path.name.removeprefix("step-")) for path in killed.glob("step-*") if path.name[-1].isdigit()), default=0)

        def last_logged():
            return max(losses(log) if log.exists() else {}, default=0)

        def disturbed(victim, when, how, timeout):
            """Lets one rank fail. Returns everyone's output, and the seconds until the other rank had ended."""
            for rank in (0, 1):
                (folder / f"pid.{rank}").unlink(missing_ok=True)
            before = newest()
            # The log still has the steps after the newest checkpoint. Only a later step shows that this start takes steps.
            logged = last_logged()
            command = [*train, "--checkpoint", "killed", "--log", "killed.jsonl", "--timeout", timeout, "--restart-from-checkpoint"]
            with open(folder / "said.txt", "w+") as said:
                program = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=said, stderr=said, env=ENVIRONMENT)
                deadline = time.time() + 60
                while not ((pid := folder / f"pid.{victim}").exists() and pid.read_text().strip()):
                    if time.time() > deadline:
                        fail("the ranks do not start")
                    time.sleep(0.001)
                if when == "start":
                    time.sleep(draw.uniform(0, 0.6))
                else:  # some steps after the first one since this start
                    steps = draw.randrange(1, 14)
                    while program.poll() is None and last_logged() < logged + steps:
                        if time.time() > deadline:
                            fail(f"no steps are taken: {(folder / 'said.txt').read_text()}")
                        time.sleep(0.002)
                    time.sleep(draw.uniform(0, 0.05))
                if program.poll() is not None:
                    fail(f"the training ends by itself: {(folder / 'said.txt').read_text()}")
                number = int(pid.read_text())
                moment = time.time()
                os.kill(number, how)
                other = folder / f"pid.{1 - victim}"
                while program.poll() is None and not (other.exists() and has_ended(other.read_text().strip())):
                    if time.time() > moment + 60:
                        fail(f"the other rank does not end: {(folder / 'said.txt').read_text()}")
                    time.sleep(0.01)
                seconds = time.time() - moment
                if how == signal.SIGSTOP:
                    try:
                        os.kill(number, signal.SIGKILL)
                    except ProcessLookupError:
                        pass  # mpirun has removed it
                try:
                    program.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    program.kill()
                    program.wait()
                    if when != "start":  # while MPI starts, Open MPI's mpirun itself may hang
                        fail("mpirun stays")
                    print("mpirun stays, and is ended")
                said.seek(0)
                text = said.read()
            messages = re.findall(r"^heddle-run train: .*$", text, re.M)
            if len(messages) != 1 or not re.search(rf"\branks? {victim} of 2\b", messages[0]):
                fail(f"rank {victim} came to grief ({when}), and the messages are {messages}: {text}")
            if program.returncode == 0:
                fail("mpirun ends well")
            if newest() < before:
                fail("checkpoints are lost")
            return messages[0], seconds

        for kill in range(KILLS):
            when = "start" if kill % 3 == 2 else "steps"
            message, seconds = disturbed(kill % 2, when, signal.SIGKILL, TIMEOUT)
            slowest = max(slowest, seconds)
            print(f"{seconds:.1f} s, {when}: {message}")
        if slowest > TIMEOUT:
            fail(f"the other rank took {slowest:.1f} s to end")
        message, seconds = disturbed(1, "steps", signal.SIGSTOP, STOPPED_TIMEOUT)
        print(f"stopped; {seconds:.1f} s: {message}")
        if seconds > STOPPED_TIMEOUT + 2:  # mpirun gives the stopped rank some time
            fail(f"the other rank took {seconds:.1f} s to end")

        # A signal to any rank ends all ranks after the same step, with a checkpoint.
        for rank in (0, 1):
            (folder / f"pid.{rank}").unlink(missing_ok=True)
        logged = last_logged()
        program = subprocess.Popen([str(part) for part in (*train, "--checkpoint", "killed", "--log", "killed.jsonl", "--resume")], cwd=folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        deadline = time.time() + 60
        while last_logged() < logged + 5 and time.time() < deadline:
            time.sleep(0.01)
        os.kill(int((folder / "pid.1").read_text()), signal.SIGTERM)
        said, _ = program.communicate(timeout=60)
        if program.returncode != 0 or not (stopped := re.search(r"stopped by a signal after step (\d+)", said)):
            fail(f"a signal does not stop the ranks: {said}")
        if newest() != int(stopped.group(1)):
            fail(f"there is no checkpoint of step {stopped.group(1)}")

        run([*train, "--checkpoint", "killed", "--log", "killed.jsonl", "--resume"], folder)
        if losses(folder / "whole.jsonl") != losses(log):
            fail("the losses are not those of a training that nobody disturbed")
        for file in ("weights.safetensors", "optimizer.safetensors", "manifest.json"):
            a, b = ((folder / kind / f"step-{STEPS:08d}" / file).read_bytes() for kind in ("whole", "killed"))
            if a != b:
                fail(f"{file} is not that of a training that nobody disturbed")
    print("all as expected")


main()
