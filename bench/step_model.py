#!/usr/bin/env python3
"""Predicts a training step's time from the compiler's counts and a GPU's rates. Runs no kernel.

    bench/step_model.py models/transformer-big.toml --max-tokens=16384 --set max_length=128
    bench/step_model.py before.json after.json      # of heddle-compile --report=before.json

A launch takes its FLOPs at --flops and its bytes at --memory. For a matmul both times are added up, because its traffic
is not hidden behind its arithmetic (with --overlap=0.7, 0.7 of it is); other kernels take the longer of the two. In a
matmul with producers only the traffic of epilogues counts, because operands come all the time. It is hidden behind the
steps that one warpgroup can multiply while the other is in its epilogue. The column "hidden" has the times if all
traffic were hidden. Launches have no pauses between them. With two reports, the table shows what changes.

Flags that the script does not know go to heddle-compile.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# The rows of the table: a kernel belongs to the first row whose expression matches its name.
ROWS = [
    ("attention's delta", r"attention_delta"),
    ("attention and its gradients", r"attention"),
    ("weights' gradients and their Adam", r"^(partial_matmul|sum_parts|matmul|project)\w*_\d+(x\d+)+(_\d+)?$"),
    ("matmuls of activations and logits", r"^(partial_matmul|sum_parts|matmul|project)"),  # with T rows
    ("cross entropy", r"^cross_entropy"),
    ("layer norms' gradients", r"^layer_norm_grad"),
    ("layer norms", r"^layer_norm"),
    ("sums over rows: first part", r"^partial_sum"),
    ("sums over rows: second part", r"^sum"),
    ("scatters of embeddings' gradients", r"^(scatter|find_first|sum_equal|densify)"),
    ("kernels that only round", r"^truncf_(T|\d)"),
    ("embeddings, updates that are apart, numbers", r""),
]
MATMULS = r"^(partial_)?(matmul|project)"
# The second warpgroup is a step behind the first. It multiplies that step while the first is in its epilogue, and the first
# is a step ahead when it waits for the second's. A step of one warpgroup is half a step of both.
STEPS_BESIDE_EPILOGUES = (1 + 1) / 2
DEPTH = 64  # of a step


@dataclass
class Row:
    launches: int = 0
    flops: int = 0
    bytes: int = 0
    added: float = 0.0  # ms
    hidden: float = 0.0  # ms with full overlap

    def add(self, other):
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def row_of(kernel):
    return next(name for name, expression in ROWS if re.search(expression, kernel))


def epilogue_bytes(launch):
    """Returns the bytes of a matmul with producers without those of its 16-bit operands."""
    columns, depth = int(re.search(r"x(\d+)(_\d+)?$", launch["kernel"])[1]), DEPTH * launch["steps"]
    columns *= launch.get("matmuls", 1)  # that read the same rows
    rows = launch["flops"] / (2 * columns * depth)
    return max(0, launch["bytes"] - 2 * depth * (rows + columns))


def count(launches, arguments):
    """Returns the table's rows by name, and the row of all launches."""
    rows, whole = {name: Row() for name, _ in ROWS}, Row()
    for launch in launches:
        arithmetic, traffic = 1e3 * launch["flops"] / arguments.flops, 1e3 * launch["bytes"] / arguments.memory
        longer = max(arithmetic, traffic)
        visible = (1 - arguments.overlap) * traffic if re.search(MATMULS, launch["kernel"]) else 0
        if "steps" in launch:  # of a tile of the result
            hidden = arithmetic * STEPS_BESIDE_EPILOGUES / launch["steps"]
            visible = min(visible, max(0, 1e3 * epilogue_bytes(launch) / arguments.memory - hidden))
        one = Row(1, launch["flops"], launch["bytes"], max(longer, arithmetic + visible), longer)
        rows[row_of(launch["kernel"])].add(one)
        whole.add(one)
    return rows, whole


def compiled_report(arguments, flags):
    compiler = Path(__file__).resolve().parent.parent / "build/bin/heddle-compile"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run([compiler, arguments.models[0], f"--target={arguments.target}", "--entries=training", "--ptxas=none",
                               f"--precision={arguments.precision}", f"--report={report}", "-o", f"{folder}/model.heddle", *flags],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"step_model: {done.stderr.strip()}")
        return json.loads(report.read_text())


def read_launches(path, arguments, flags):
    report = json.loads(Path(path).read_text()) if path.endswith(".json") else compiled_report(arguments, flags)
    entry = next((entry for entry in report if entry["entry"] == arguments.entry), None)
    if not entry:
        sys.exit(f"step_model: {path} has no entry '{arguments.entry}'")
    return [item for item in entry["order"] if "kernel" in item]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a model; or a report, or two reports to compare")
    parser.add_argument("--entry", default="train_step")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--flops", type=float, default=720e12, help="of matmuls, per second")
    parser.add_argument("--memory", type=float, default=2.9e12, help="bytes per second")
    parser.add_argument("--overlap", type=float, default=0.0, help="the part of a matmul's traffic that is hidden, from 0 to 1")
    parser.add_argument("--kernels", action="store_true", help="a line for each kernel, the slowest first")
    arguments, flags = parser.parse_known_args()
    if len(arguments.models) > 2 or (len(arguments.models) == 2 and not all(path.endswith(".json") for path in arguments.models)):
        parser.error("expects a model, a report (.json), or two reports")
    if arguments.flops <= 0 or arguments.memory <= 0:
        parser.error("--flops and --memory are above 0")
    if not 0 <= arguments.overlap <= 1:
        parser.error("--overlap is from 0 to 1")
    steps = [read_launches(path, arguments, flags) for path in arguments.models]

    if arguments.kernels:
        kernels = {}
        for launch in steps[-1]:
            kernels.setdefault(launch["kernel"], []).append(launch)
        found = [(count(launches, arguments)[1], name) for name, launches in kernels.items()]
        for row, name in sorted(found, key=lambda each: -each[0].added):
            print(f"{row.added:7.3f} ms {row.launches:4} launches {row.flops / 1e12:7.3f} TFLOP {row.bytes / 1e9:7.3f} GB  {row_of(name)}: {name}")
        return
    counts = [count(launches, arguments) for launches in steps]
    print("| kernels | launches | TFLOP | GB | ms | hidden, ms |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in [name for name, _ in ROWS] + ["all"]:
        rows = [whole if name == "all" else table[name] for table, whole in counts]
        cells = [[f"{row.launches}", f"{row.flops / 1e12:.2f}", f"{row.bytes / 1e9:.1f}", f"{row.added:.1f}", f"{row.hidden:.1f}"]
                 for row in rows]
        if any(row.launches for row in rows):
            print(f"| {name} | " + " | ".join(" to ".join(dict.fromkeys(column)) for column in zip(*cells)) + " |")


if __name__ == "__main__":
    main()
