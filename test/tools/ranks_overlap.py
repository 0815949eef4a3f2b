"""Two ranks on the emulated CUDA driver: ranks_overlap.py BIN MODELS EMULATOR

The driver's order of launches and copies shows that most bytes of gradients leave the device before the backward pass ends. A sharded
optimizer gives the bits of a whole one, and its launches touch nothing but the rank's own rows, which the driver checks.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

from mpi_ranks import ENVIRONMENT, fail, need, run, started_by_mpirun

LEAST = 0.8  # of the gradients' bytes
ENTRY = "parallel_train_step"


def share_before_the_end(log, inspected):
    """Of a log whose last launches are those of a step: the share of the gradients' bytes that are copied before the last launch of the
    backward pass, which is the last one before the last bucket."""
    (entry,) = [entry for entry in inspected["entries"] if entry["name"] == ENTRY]
    lines = [line.split() for line in log.read_text().splitlines()]
    launches = [place for place, line in enumerate(lines) if line[0] == "launch"]
    begin = launches[-entry["launches"]]
    buckets = [bucket for bucket in entry["collectives"] if bucket["kind"] == "all-reduce"]
    copies = [(place, int(line[1])) for place, line in enumerate(lines) if line[0] == "to-host" and place > begin]
    copies = copies[:sum(bucket["tensors"] for bucket in buckets)]
    total = sum(size for _, size in copies)
    if total != sum(bucket["bytes"] for bucket in buckets):
        fail(f"{total} bytes are copied where gradients have {sum(bucket['bytes'] for bucket in buckets)}")
    last_bucket = copies[-buckets[-1]["tensors"]][0]
    end = max(place for place in launches if place < last_bucket)
    return sum(size for place, size in copies if place < end) / total


def main():
    tools, models, emulator = (Path(path).resolve() for path in sys.argv[1:4])
    need(tools)
    environment = dict(ENVIRONMENT, LD_LIBRARY_PATH=f"{emulator}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([tools / "heddle-numbers", "--out", "data", "--train", "40", "--valid", "2", "--test", "1", "--maximum", "9999"], folder)
        logged = ["sh", "-c", 'HEDDLE_EMULATOR_LOG="log.$OMPI_COMM_WORLD_RANK" exec "$@"', "sh"]
        for shard in ("none", "optimizer"):
            run([tools / "heddle-compile", models / "numbers.toml", f"--shard={shard}", "--target=cuda:sm_80", "-o", "n.heddle"], folder)
            run([*started_by_mpirun(2), *logged, tools / "heddle-run", "train", "n.heddle", "--src", "data/train.en", "--tgt", "data/train.de",
                 "--checkpoint", shard, "--steps", "1", "--batch-sequences", "2"], folder, environment=environment)
            inspected = json.loads(run([tools / "heddle-inspect", "n.heddle", "--json"], folder))
            for rank in (0, 1):
                share = share_before_the_end(folder / f"log.{rank}", inspected)
                print(f"--shard={shard}, rank {rank}: {share:.1%} of the gradients' bytes are on their way before the backward pass ends")
                if share < LEAST:
                    fail(f"expected {LEAST:.0%}")
        for file in ("weights.safetensors", "optimizer.safetensors"):
            if len({(folder / shard / "step-00000001" / file).read_bytes() for shard in ("none", "optimizer")}) != 1:
                fail(f"a sharded optimizer gives other {file}")
    print("all as expected")


main()
