"""Trains the numbers task with 1, 2 and 4 ranks: ranks.py BIN MODELS

Any number of ranks has the same losses as one rank, also with clipping, a scaled loss and accumulated gradients. Two
trainings are bit-identical. A checkpoint can be resumed with any number of ranks. Mistakes are reported once. Without
HEDDLE_LONG=1 there are fewer steps, and only 2 ranks, or 3 with a sharded optimizer.
"""
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from mpi_ranks import ENVIRONMENT, compare, fail, logged, losses, need_mpirun, run, started_by_mpirun

LONG = bool(os.environ.get("HEDDLE_LONG"))
STEPS = 12 if LONG else 6


def threads_of(said):
    """Returns the number of threads that kernels run on, as the line of the device says; 0 if the device is not a processor."""
    found = re.search(r"device cpu:0: .*, (\d+) threads?;", said)
    if "device cpu:" in said and not found:
        fail(f"the line of the device does not say how many threads it has: {said}")
    return int(found.group(1)) if found else 0


def main():
    tools, models = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    need_mpirun()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([tools / "heddle-data", "numbers", "--out", "data", "--train", "3000", "--valid", "40", "--test", "1"], folder)

        def compile(name, *settings):
            run([tools / "heddle-compile", models / "numbers.toml", *([] if "--shard=optimizer" in settings else ["--shard=none"]), "--set", "accumulate=true", *settings,
                 "-o", f"{name}.heddle"], folder)

        def train(ranks, artifact, checkpoint, *flags, steps=STEPS, succeeds=True, environment=None):
            return run([*started_by_mpirun(ranks), tools / "heddle-run", "train", f"{artifact}.heddle", "--src", "data/train.en", "--tgt",
                        "data/train.de", "--checkpoint", checkpoint, "--log", f"{checkpoint}.jsonl", "--steps", steps, "--seed", "3",
                        *flags], folder, succeeds, environment)

        def trained(checkpoint):
            return losses(folder / f"{checkpoint}.jsonl")

        def state(checkpoint, step=STEPS):
            files = ("weights.safetensors", "optimizer.safetensors")
            return [(folder / checkpoint / f"step-{step:08d}" / file).read_bytes() for file in files]

        steps = range(1, STEPS + 1)
        compile("numbers")
        half = STEPS // 2
        validated = ["--valid-src", "data/valid.en", "--valid-tgt", "data/valid.de", "--validate-every", "5", "--save-every", str(half)]
        most = 4 if LONG else 2
        shared = {key: value for key, value in ENVIRONMENT.items() if key != "HEDDLE_THREADS"}
        alone = threads_of(train(1, "numbers", "one", *validated, environment=shared))
        for ranks in (2, 4) if LONG else (2,):
            said = train(ranks, "numbers", f"{ranks}", *validated, "--keep-last", "9", environment=shared)
            if alone and threads_of(said) != max(1, alone // ranks):
                fail(f"{ranks} ranks do not divide the {alone} threads of one: {said}")
            compare(f"{ranks} ranks", trained(f"{ranks}"), trained("one"), steps)
            for once in ("learning a vocabulary", "validation loss", f"trained {STEPS} steps"):
                if not 1 <= said.count(once) <= 3 or (once.startswith("trained") and said.count(once) != 1):
                    fail(f"'{once}' is not said by one rank alone: {said}")
        train(2, "numbers", "again", *validated)
        if state("2") != state("again"):
            fail("2 ranks twice are not equal bit for bit")
        if trained("2") != trained("again"):
            fail("2 ranks twice have other losses")

        # Resume the checkpoint that several ranks wrote after half of the steps.
        for ranks in (1, 2, 4) if LONG else (1, 2):
            resumed = folder / f"resumed{ranks}"
            resumed.mkdir()
            os.rename(folder / f"{most}/step-{half:08d}", resumed / f"step-{half:08d}")
            run([*started_by_mpirun(ranks), tools / "heddle-run", "train", "numbers.heddle", "--src", "data/train.en", "--tgt",
                 "data/train.de", "--checkpoint", resumed, "--log", f"resumed{ranks}.jsonl", "--steps", STEPS, "--resume"], folder)
            os.rename(resumed / f"step-{half:08d}", folder / f"{most}/step-{half:08d}")
            compare(f"resumed with {ranks}", trained(f"resumed{ranks}"), {step: loss for step, loss in trained(f"{most}").items() if step > half},
                    range(half + 1, STEPS + 1))
        if state(f"resumed{most}") != state(f"{most}"):
            fail(f"{most} ranks that were resumed are not those that never stopped, bit for bit")

        if LONG:
            # Clipping uses the gradient norm over all ranks, and all ranks skip a step whose scaled loss overflows.
            compile("clipped", "--set", "clip_norm=0.05", "--set", "loss_scale=1e20", "--set", "loss_scale_interval=3")
            train(1, "clipped", "clipped1", steps=9)
            train(2, "clipped", "clipped2", steps=9)
            compare("clipped, scaled", trained("clipped2"), trained("clipped1"), range(1, 10))
            skipped = [logged(folder / f"clipped{ranks}.jsonl", "skipped_steps") for ranks in (1, 2)]
            if skipped[0] != skipped[1] or not 0 < max(skipped[0]) < 9:
                fail(f"steps are skipped otherwise with two ranks: {skipped}")

            # Four batches per step: each of two ranks takes two batches; each of three ranks takes a part of every
            # batch.
            train(1, "numbers", "sum1", "--accumulate", "4", steps=4)
            for ranks in (2, 3) if LONG else (3,):
                train(ranks, "numbers", f"sum{ranks}", "--accumulate", "4", steps=4)
                compare(f"{ranks} ranks, 4 batches a step", trained(f"sum{ranks}"), trained("sum1"), range(1, 5))

        # A sharded optimizer: each rank keeps a part of the moments, and all bits equal those of an unsharded one. 12,
        # 3 and 7 divide no extent of the model, so some parts overlap, and some tensors stay whole.
        compile("sharded", "--shard=optimizer", "--set", "clip_norm=0.5", "--set", "ema_decay=0.9", "--set", "d_ff=180", "--set", "vocab_size=123")
        compile("whole", "--set", "clip_norm=0.5", "--set", "ema_decay=0.9", "--set", "d_ff=180", "--set", "vocab_size=123")
        if LONG:
            compile("scattered", "--shard=optimizer", "--set", "d_ff=180", "--set", "vocab_size=123")
            compile("summed", "--set", "d_ff=180", "--set", "vocab_size=123")
            train(3, "scattered", "scattered3", steps=6)
            train(3, "summed", "summed3", steps=6)
            if trained("scattered3") != trained("summed3") or state("scattered3", 6) != state("summed3", 6):
                fail("3 ranks with a sharded optimizer and no clipping have other weights, moments or losses than with a whole one")
        for optimizer in ("lion", "adamw") if LONG else ("lion",):  # texts: an update is a kernel of its own
            sizes = ("--set", f"optimizer={optimizer}", "--set", "clip_norm=0.5", "--set", "ema_decay=0.9", "--set", "d_ff=180", "--set", "vocab_size=123")
            compile(f"sharded-{optimizer}", "--shard=optimizer", *sizes)
            compile(f"whole-{optimizer}", *sizes)
            for kind in ("sharded", "whole"):
                said = train(3, f"{kind}-{optimizer}", f"{kind}-{optimizer}3", steps=4)
                if ("each rank keeps" in said) != (kind == "sharded"):
                    fail(f"3 ranks with {optimizer}, {kind}: {said}")
            if trained(f"sharded-{optimizer}3") != trained(f"whole-{optimizer}3") or state(f"sharded-{optimizer}3", 4) != state(f"whole-{optimizer}3", 4):
                fail(f"3 ranks with the states of {optimizer} sharded have other weights, states or losses than with whole ones")
        last = 20 if LONG else 6
        for ranks in (3, 4) if LONG else (3,):
            train(ranks, "whole", f"whole{ranks}", steps=last)
            said = train(ranks, "sharded", f"sharded{ranks}", "--save-every", str(last // 2), "--keep-last", "9", steps=last)
            if trained(f"sharded{ranks}") != trained(f"whole{ranks}") or state(f"sharded{ranks}", last) != state(f"whole{ranks}", last):
                fail(f"{ranks} ranks with a sharded optimizer have other weights, moments or losses than with a whole one")
            kept = re.search(r"of the optimizer's state, ([\d.]+) (\w+), each rank keeps ([\d.]+) (\w+)", said)
            if not kept:
                fail(f"it is not said what a rank keeps: {said}")
            units = {"KiB": 1, "MiB": 1024}
            share = float(kept[3]) * units[kept[4]] / float(kept[1]) / units[kept[2]]
            print(f"{ranks} ranks keep {share:.3f} of the optimizer's state each")
            if not 1 / ranks <= share < 1.25 / ranks:  # in such small tensors, a few rows are a large part
                fail(f"{ranks} ranks keep {share:.3f} of the optimizer's state each")
        most = 4 if LONG else 3
        for ranks in (1, 2, 4) if LONG else (3,):
            resumed = folder / f"sharded-resumed{ranks}"
            resumed.mkdir()
            name = f"step-{last // 2:08d}"
            shutil.copytree(folder / f"sharded{most}" / name, resumed / name)
            run([*started_by_mpirun(ranks), tools / "heddle-run", "train", "sharded.heddle", "--src", "data/train.en", "--tgt",
                 "data/train.de", "--checkpoint", resumed, "--log", f"sharded-resumed{ranks}.jsonl", "--steps", last, "--resume"], folder)
            compare(f"sharded, resumed with {ranks}", trained(f"sharded-resumed{ranks}"),
                    {step: loss for step, loss in trained(f"sharded{most}").items() if step > last // 2}, range(last // 2 + 1, last + 1))
        if state(f"sharded-resumed{most}", last) != state(f"sharded{most}", last):
            fail(f"{most} ranks with a sharded optimizer that were resumed are not those that never stopped, bit for bit")
        if LONG:
            train(2, "sharded", "sharded-sum", "--accumulate", "4", steps=4)
            train(2, "whole", "whole-sum", "--accumulate", "4", steps=4)
            if state("sharded-sum", 4) != state("whole-sum", 4):
                fail("with several batches a step, a sharded optimizer is another than a whole one")

            # 16-bit moments with a 32-bit average: they have the same rows, and the same random numbers wherever a
            # rank's part begins.
            for name in ("sharded", "whole"):
                compile(f"narrow-{name}", "--moments=bf16", *(["--shard=optimizer"] if name == "sharded" else []), "--set", "ema_decay=0.9", "--set",
                        "d_ff=180", "--set", "vocab_size=123")
                train(3, f"narrow-{name}", f"narrow-{name}", steps=5)
            if trained("narrow-sharded") != trained("narrow-whole") or state("narrow-sharded", 5) != state("narrow-whole", 5):
                fail("3 ranks with moments of bf16 in parts have other weights, moments or losses than with whole ones")

            # Batches with fewer sequences than ranks.
            train(1, "numbers", "few1", "--batch-sequences", "2", steps=4)
            train(4, "numbers", "few4", "--batch-sequences", "2", steps=4)
            compare("2 sequences for 4 ranks", trained("few4"), trained("few1"), range(1, 5))

        # Given weights, and the variables of other launchers; MPI is mpirun's here.
        train(1, "numbers", "from1", "--weights", "one", steps=2)
        as_torch = ["sh", "-c", 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=' + str(20000 + os.getpid() % 9000) +
                    ' exec "$@"', "sh"]
        said = run([*started_by_mpirun(2), *as_torch, tools / "heddle-run", "train", "numbers.heddle", "--src", "data/train.en", "--tgt",
                    "data/train.de", "--checkpoint", "from2", "--log", "from2.jsonl", "--steps", "2", "--seed", "3", "--weights", "one"],
                   folder, environment=dict(ENVIRONMENT, HEDDLE_RANKS_SECRET="0123456789abcdef"))
        compare("with weights, by torchrun's variables", trained("from2"), trained("from1"), range(1, 3))
        if "2 ranks, started by torchrun" not in said or "the ranks exchange gradients by Open MPI" not in said:
            fail(said)
        flags = ["sh", "-c", 'exec "$@" --rank $((1 - OMPI_COMM_WORLD_RANK)) --ranks 2 --rendezvous file:' + str(folder / "meet"), "sh"]
        run([*started_by_mpirun(2), *flags, tools / "heddle-run", "train", "numbers.heddle", "--src", "data/train.en", "--tgt",
             "data/train.de", "--checkpoint", "flags", "--log", "flags.jsonl", "--steps", "2", "--seed", "3"], folder)
        compare("by flags", trained("flags"), {step: loss for step, loss in trained("one").items() if step <= 2}, range(1, 3))

        # One rank reports a mistake, in one message.
        def mistake(text, *command, environment=None):
            said = run(command, folder, succeeds=False, environment=environment)
            if said.count("heddle-run train: ") != 1 or text not in said:
                fail(f"expected '{text}' once: {said}")

        start = [tools / "heddle-run", "train"]
        data = ["--src", "data/train.en", "--tgt", "data/train.de", "--steps", "2", "--checkpoint", "wrong"]
        run([tools / "heddle-compile", models / "numbers.toml", "-o", "alone.heddle"], folder)
        mistake("compile the model with --shard=none", *started_by_mpirun(2), *start, "alone.heddle", *data)
        mistake("is not between 1 and", *started_by_mpirun(2), *start, "numbers.heddle", *data, "--batch-tokens", "99999")
        other = ["sh", "-c", 'exec "$@" --shuffle-window $((1000 + OMPI_COMM_WORLD_RANK))', "sh"]
        mistake("the ranks do not have the same --shuffle-window", *started_by_mpirun(2), *other, *start, "numbers.heddle", *data)
        mistake("have no secret to know each other by", *start, "numbers.heddle", *data, "--rank", "0", "--ranks", "2", "--rendezvous",
                "tcp:127.0.0.1:20001")
        mistake("cannot listen at 192.0.2.1:20001", *start, "numbers.heddle", *data, "--rank", "0", "--ranks", "2", "--rendezvous",
                "tcp:192.0.2.1:20001", environment=dict(ENVIRONMENT, HEDDLE_RANKS_SECRET="0123456789abcdef"))
        mistake("MPI's launcher has not started it", *start, "numbers.heddle", *data, "--rank", "0", "--ranks", "2", "--rendezvous",
                "mpi", environment={key: value for key, value in ENVIRONMENT.items() if not key.startswith(("PMI", "OMPI_COMM"))})
    print("all as expected")


main()
