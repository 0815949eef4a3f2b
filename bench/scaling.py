#!/usr/bin/env python3
"""Predicts how a training step scales over GPUs, from the compiler's counts and a machine's rates. Runs nothing.

    bench/scaling.py models/transformer-big.toml --machine h100 --target cuda:sm_90a --precision bf16
    bench/scaling.py models/transformer-big.toml --shard optimizer
    bench/scaling.py report.json --machine a100 --ranks 1,8,64      # of heddle-compile --shard=none --report=report.json

Every rank has a batch of the largest size that the model was compiled for (weak scaling). The printed page lists all
assumptions; it is a prediction, not a measurement.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass
class Machine:
    """Rates of one GPU and of its links, in one direction: data-sheet peaks, and the shares of them that kernels
    reach."""
    flops: float  # matmul FLOPs per second, in the training precision
    memory: float  # bytes per second
    node: int  # GPUs joined by the fast link
    link: float  # bytes per second and GPU within a node
    network: float  # bytes per second and GPU between nodes
    flops_share: float = 0.5  # share of the peak that kernels reach
    memory_share: float = 0.7
    link_share: float = 0.8
    launch: float = 3e-6  # seconds between two dependent launches
    link_latency: float = 3e-6  # seconds per hop
    network_latency: float = 8e-6
    contention: float = 0.1  # share of the arithmetic that running collectives take


MACHINES = {
    # 989 TFLOP/s bf16, 3.35 TB/s, NVLink 4 with 450 GB/s, one 400 Gb/s port per GPU
    "h100": Machine(989e12, 3.35e12, 8, 450e9, 50e9),
    # 312 TFLOP/s bf16, 2.0 TB/s, NVLink 3 with 300 GB/s, one 200 Gb/s port per GPU
    "a100": Machine(312e12, 2.0e12, 8, 300e9, 25e9),
    # 181 TFLOP/s bf16, 0.86 TB/s, PCIe 4 x16, one 100 Gb/s port per four GPUs
    "l40": Machine(181e12, 0.864e12, 4, 25e9, 3.1e9),
}


def all_reduce_seconds(machine, ranks, size):
    """Returns an all-reduce's time: rings within a node, then between nodes for each GPU's share, then within the node
    again. Many nodes use a tree."""
    if ranks == 1:
        return 0.0
    near = min(ranks, machine.node)
    nodes = math.ceil(ranks / machine.node)
    link, network = machine.link * machine.link_share, machine.network * machine.link_share
    seconds = 2 * (near - 1) / near * size / link + 2 * (near - 1) * machine.link_latency
    if nodes > 1:
        hops = min(2 * (nodes - 1), 2 * math.ceil(math.log2(nodes)))
        seconds += 2 * (nodes - 1) / nodes * (size / near) / network + hops * machine.network_latency
    return seconds


def collective_seconds(machine, ranks, item):
    """Returns a collective's time. An all-reduce is a reduce-scatter and an all-gather, which each send half of its
    bytes."""
    (kind, size), = item.items()
    return all_reduce_seconds(machine, ranks, size) * (1 if kind == "all_reduce" else 0.5)


def launch_seconds(machine, launch, ranks, slower=1.0):
    share = ranks if launch.get("shared_out") else 1
    arithmetic = launch["flops"] / share / (machine.flops * machine.flops_share)
    traffic = launch["bytes"] / share / (machine.memory * machine.memory_share)
    return machine.launch + max(arithmetic, traffic) * slower


def is_sum(item):
    return "all_reduce" in item or "reduce_scatter" in item


@dataclass
class Step:
    seconds: float
    waiting: float  # the part of these seconds in which nothing can be computed before sums arrive
    before_end: float  # share of the bytes that are sent before the last gradient is computed


def simulate(machine, order, ranks):
    """Simulates a step. Launches run one after the other, and so do collectives, concurrently with launches. Launches
    after the last sum wait for all sums, and the step's end waits for everything."""
    last = max((place for place, item in enumerate(order) if is_sum(item)), default=-1)
    backward = max((place for place, item in enumerate(order[:last + 1]) if "flops" in item), default=-1)
    now = link_free = waiting = 0.0
    size = early = 0
    for place, item in enumerate(order):
        if place == last + 1 and now < link_free:
            waiting += link_free - now
            now = link_free
        if "flops" in item:
            busy = ranks > 1 and now < link_free
            now += launch_seconds(machine, item, ranks, 1 + machine.contention if busy else 1.0)
            continue
        if is_sum(item):
            bucket, = item.values()
            size += bucket
            early += bucket if place < backward else 0
        link_free = max(now, link_free) + collective_seconds(machine, ranks, item)
    if now < link_free:
        waiting += link_free - now
        now = link_free
    return Step(now, waiting, early / size if size else 0.0)


def compiled_report(arguments):
    compiler = Path(__file__).resolve().parent.parent / "build/bin/heddle-compile"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [compiler, arguments.model, f"--shard={arguments.shard}", f"--target={arguments.target}", f"--precision={arguments.precision}",
                   f"--report={report}", "-o", f"{folder}/model.heddle"]
        command += [part for setting in arguments.set for part in ("--set", setting)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"scaling: {done.stderr.strip()}")
        return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model, or the report (.json) of its compilation")
    parser.add_argument("--machine", choices=sorted(MACHINES), default="h100")
    parser.add_argument("--ranks", default="1,2,4,8,16,32,64,128,256,512,1024", help="numbers of GPUs, with commas")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--shard", choices=("none", "optimizer"), default="none", help="as heddle-compile's")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as heddle-compile's; may be repeated")
    for field in fields(Machine):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, help="another value of the machine's")
    arguments = parser.parse_args()
    try:
        counts = [int(count) for count in arguments.ranks.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        parser.error(f"--ranks: '{arguments.ranks}' is no list of numbers from 1 on")

    machine = MACHINES[arguments.machine]
    for field in fields(Machine):
        if (value := getattr(arguments, field.name)) is not None:
            if value <= 0:
                parser.error(f"--{field.name.replace('_', '-')}: {value} is not above 0")
            setattr(machine, field.name, int(value) if field.name == "node" else value)

    report = json.loads(Path(arguments.model).read_text()) if arguments.model.endswith(".json") else compiled_report(arguments)
    entries = {entry["entry"]: entry for entry in report}
    if "parallel_train_step" not in entries:
        sys.exit("scaling: the report has no entry 'parallel_train_step'; compile the model with --shard=none")
    order = entries["parallel_train_step"]["order"]
    sums = [sum(item.values()) for item in order if is_sum(item)]
    gathered = [item["all_gather"] for item in order if "all_gather" in item]
    launches = [item for item in order if "flops" in item]
    flops = sum(item.get("flops", 0) for item in order)

    print(f"{arguments.model}: {len(launches)} launches, {flops / 1e12:.3f} TFLOP and {sum(sums) / 2**20:.1f} MiB of "
          f"gradients in {len(sums)} buckets a step, the largest batch of the model on every GPU")
    if gathered:
        print(f"updates are shared out, and {sum(gathered) / 2**20:.1f} MiB of weights gathered")
    print()
    print("Assumed:")
    for field in fields(Machine):
        print(f"  {field.name.replace('_', ' '):16} {getattr(machine, field.name):.3g}")
    print("  a launch takes the longer of its arithmetic and its traffic, at these shares of the peaks, and a pause\n"
          "  sums go from GPU to GPU, by NCCL; by Open MPI, through host memory, they are slower\n"
          "  sums travel in rings within a node and between nodes, one bucket after the other, beside the launches\n"
          "  updates wait for all sums, and the next step for all weights; reading text, validation and checkpoints take no time; all GPUs are equally fast\n")
    print(f"{'GPUs':>6} {'step, ms':>10} {'waiting, ms':>12} {'efficiency':>11}")
    alone = simulate(machine, order, 1).seconds
    for count in counts:
        step = simulate(machine, order, count)
        print(f"{count:6} {1e3 * step.seconds:10.2f} {1e3 * step.waiting:12.2f} {alone / step.seconds:11.3f}")
    print(f"\n{simulate(machine, order, 2).before_end:.1%} of the bytes are on their way before the last gradient is made.")


if __name__ == "__main__":
    main()
