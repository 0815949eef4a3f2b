"""Common code of the tests with several ranks: programs that mpirun starts on this machine."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# A test may have more ranks than there are cores, and root may run them.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_mpi_yield_when_idle="1")
TIGHT = 1e-6  # tolerance of losses, relative to those of one rank


def need_mpirun():
    if not shutil.which("mpirun"):
        print("no mpirun")
        sys.exit(77)


def fail(text):
    sys.exit(f"FAILED: {text}")


def started_by_mpirun(ranks):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []


def run(command, folder, succeeds=True, environment=None):
    """Runs a command. Returns its output on both streams."""
    done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=environment or ENVIRONMENT, timeout=300)
    if (done.returncode == 0) != succeeds:
        fail(f"{' '.join(map(str, command))} ends with {done.returncode}: {done.stdout}")
    return done.stdout


def losses(log):
    """Returns the losses of a log by step. A killed program may leave half a line."""
    found = {}
    for line in Path(log).read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "loss" in record:
            found[record["step"]] = record["loss"]
    return found


def logged(log, key):
    """Returns the values of a key in a log's steps."""
    return [record[key] for record in map(json.loads, Path(log).read_text().splitlines()) if key in record]


def compare(name, some, others, steps, bound=TIGHT):
    """Returns the largest relative difference of two trainings' losses; both must have the steps `steps`."""
    if sorted(some) != list(steps) or sorted(others) != list(steps):
        fail(f"{name}: the logs have other steps: {sorted(some)} and {sorted(others)}")
    worst = max(abs(some[step] - others[step]) / abs(others[step]) for step in steps)
    print(f"{name}: losses of {len(steps)} steps within {worst:.1e}")
    if worst > bound:
        fail(f"{name}: losses differ by {worst:.1e} where {bound:.0e} is allowed")
