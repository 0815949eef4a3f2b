"""Two ranks on the emulated CUDA driver, and also three with HEDDLE_LONG=1: ranks_cuda.py BIN MODELS EMULATOR

Gradients travel by MPI and by the emulated NCCL. The driver's log of launches, copies and exchanges shows that most
gradient bytes are sent before the backward pass ends. A sharded optimizer is bit-identical to an unsharded one, and its
launches touch only the rank's own rows, which the driver checks. If a rank is killed while devices wait for each other,
it is named.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mpi_ranks import ENVIRONMENT, fail, losses, need_mpirun, run, started_by_mpirun

LEAST = 0.8  # share of the gradients' bytes
ENTRY = "parallel_train_step"
NAMES = {"mpi": "Open MPI", "nccl": "NCCL"}


def share_before_the_end(log, inspected, transport):
    """Returns the share of gradient bytes that are on their way before the last launch of the backward pass, which is
    the last one before the last bucket. The log's last launches must be those of a step."""
    (entry,) = [entry for entry in inspected["entries"] if entry["name"] == ENTRY]
    lines = [line.split() for line in log.read_text().splitlines()]
    launches = [place for place, line in enumerate(lines) if line[0] == "launch"]
    begin = launches[-entry["launches"]]
    buckets = [bucket for bucket in entry["collectives"] if bucket["kind"] != "all-gather"]
    sent, of_last = ("exchange", 1) if transport == "nccl" else ("to-host", buckets[-1]["tensors"])
    sends = [(place, int(line[1])) for place, line in enumerate(lines) if line[0] == sent and place > begin]
    sends = sends[:len(buckets) if transport == "nccl" else sum(bucket["tensors"] for bucket in buckets)]
    total = sum(size for _, size in sends)
    if total != sum(bucket["bytes"] for bucket in buckets):
        fail(f"{total} bytes are sent where gradients have {sum(bucket['bytes'] for bucket in buckets)}")
    last_bucket = sends[-of_last][0]
    end = max(place for place in launches if place < last_bucket)
    return sum(size for place, size in sends if place < end) / total


def start_by_hand(folder, environments, command):
    """Starts the ranks as processes, without a launcher."""
    meeting = Path(tempfile.mkdtemp(dir=folder)) / "meeting"
    return [subprocess.Popen([str(part) for part in command] + ["--rank", str(rank), "--ranks", str(len(environments)), "--rendezvous", f"file:{meeting}"],
                             cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for rank, environment in enumerate(environments)]


def ended(processes, succeed):
    """Returns the output of the processes, the first one's first."""
    said = [process.communicate(timeout=300)[0] for process in processes]
    if any((process.returncode == 0) != succeed for process in processes):
        fail(f"the ranks end with {[process.returncode for process in processes]}: {said}")
    return said


def main():
    tools, models, emulator = (Path(path).resolve() for path in sys.argv[1:4])
    need_mpirun()
    environment = dict(ENVIRONMENT, LD_LIBRARY_PATH=f"{emulator}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([tools / "heddle-data", "numbers", "--out", "data", "--train", "40", "--valid", "2", "--test", "1", "--maximum", "9999"], folder)
        train = [tools / "heddle-run", "train", "n.heddle", "--src", "data/train.en", "--tgt", "data/train.de", "--batch-sequences", "2"]
        weights = {}
        cases = [(2, "none", "mpi"), (2, "optimizer", "nccl")]
        if os.environ.get("HEDDLE_LONG"):
            cases += [(3, "none", "nccl"), (3, "optimizer", "nccl")]
        for ranks, shard, transport in cases:
            run([tools / "heddle-compile", models / "numbers.toml", f"--shard={shard}", "--target=cuda:sm_80", "-o", "n.heddle"], folder)
            name = f"{ranks} ranks, --shard={shard}"
            step = [*train, "--checkpoint", name, "--steps", "1", "--transport", transport if transport == "mpi" else "auto"]
            if transport == "mpi":
                logged = ["sh", "-c", 'HEDDLE_EMULATOR_LOG="log.$OMPI_COMM_WORLD_RANK" exec "$@"', "sh"]
                said = run([*started_by_mpirun(ranks), *logged, *step], folder, environment=environment)
            else:
                logs = [dict(environment, HEDDLE_EMULATOR_LOG=f"log.{rank}") for rank in range(ranks)]
                said = ended(start_by_hand(folder, logs, step), True)[0]
            if f"the ranks exchange gradients by {NAMES[transport]}" not in said:
                fail(said)
            inspected = json.loads(run([tools / "heddle-inspect", "n.heddle", "--json"], folder))
            shares = [share_before_the_end(folder / f"log.{rank}", inspected, transport) for rank in range(ranks)]
            print(f"{name} by {NAMES[transport]}: {min(shares):.1%} of the gradients' bytes are on their way before the backward pass ends")
            if min(shares) < LEAST:
                fail(f"expected {LEAST:.0%}")
            state = [(folder / name / "step-00000001" / file).read_bytes() for file in ("weights.safetensors", "optimizer.safetensors")]
            if weights.setdefault(ranks, state) != state:
                fail(f"{name}: other weights or moments than those of a whole optimizer")

        # A rank is killed during a step.
        processes = start_by_hand(folder, [environment] * 2, [*train, "--checkpoint", "2 ranks, --shard=optimizer", "--steps", "100000", "--resume", "--log", "log.jsonl"])
        while processes[0].poll() is None and (not (folder / "log.jsonl").exists() or len(losses(folder / "log.jsonl")) < 2):
            time.sleep(0.05)
        processes[1].kill()
        begin = time.monotonic()
        said = ended(processes, False)
        print(f"a rank is killed: the other has ended {time.monotonic() - begin:.1f} s later")
        if said[0].count("heddle-run train: ") != 1 or "rank 1 of 2 (process" not in said[0] or "ended unexpectedly, at step" not in said[0]:
            fail(said)

        # A rank that cannot write its checkpoint says so, although the other rank's device waits for it.
        small = [*train, "--checkpoint", "too large", "--steps", "100", "--save-every", "1"]
        meeting = folder / "meeting of two"
        processes = []
        for rank, limit in (0, "ulimit -f 1000; "), (1, ""):
            command = ["sh", "-c", limit + 'exec "$@"', "sh", *small, "--rank", rank, "--ranks", 2, "--rendezvous", f"file:{meeting}"]
            processes.append(subprocess.Popen([str(part) for part in command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, text=True))
        said = ended(processes, False)
        if said[0].count("heddle-run train: ") != 1 or "File too large" not in said[0]:
            fail(said)

        # Two ranks share a GPU, or one rank has no NCCL.
        step = [*train, "--checkpoint", "wrong", "--steps", "1"]
        same = dict(environment, HEDDLE_EMULATOR_PCI_DOMAIN="7")
        said = ended(start_by_hand(folder, [same] * 2, [*step, "--transport", "nccl"]), False)
        if "--transport=nccl cannot be: ranks 0 and 1 share a GPU" not in said[0]:
            fail(said)
        alone = folder / "without NCCL"
        alone.mkdir()
        (alone / "libcuda.so.1").symlink_to(emulator / "libcuda.so.1")
        (alone / "libnccl.so.2").write_text("no library, and found before any other")
        without = dict(environment, LD_LIBRARY_PATH=str(alone))
        said = ended(start_by_hand(folder, [environment, without], [*step, "--transport", "nccl"]), False)
        if "rank 1 of 2" not in said[0] or "libnccl.so.2 cannot be opened" not in said[0]:
            fail(said)
        said = ended(start_by_hand(folder, [without] * 2, step), False)
        if "libnccl.so.2 cannot be opened" not in said[0] or "start the ranks by mpirun" not in said[0]:
            fail(said)
    print("all as expected")


main()
