#!/usr/bin/env python3
"""Times matmuls on a processor, f32: Heddle, PyTorch (oneDNN or MKL) and numpy (OpenBLAS), in turns.

  bench/beside_blas.py [--bin DIR] [--target NAME] [--threads N] [--rounds N] [--repeat N] [MxNxK...]

Run it with a Python that has torch and numpy, as PyPI's packages have them. For each shape: the matmul and those of its
two gradients (bench/models/matmul.mlir.in). For the target cpu:x86-64-v3 the libraries use AVX2, too. Prints GFLOP/s,
medians of all rounds' calls, with the ratio to the faster library, and the geometric mean and the least of the ratios.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHAPES = ["768x768x768", "2048x512x2048", "2048x2048x512", "128x576x1536"]  # rows, columns, and the extent summed over


def compile_shape(arguments, folder, m, n, k):
    text = (ROOT / "bench/models/matmul.mlir.in").read_text()
    for name, extent in (("M", m), ("N", n), ("K", k)):
        text = text.replace(f"@{name}@", str(extent))
    module, artifact = Path(folder) / f"{m}x{n}x{k}.mlir", Path(folder) / f"{m}x{n}x{k}.heddle"
    module.write_text(text)
    subprocess.run([arguments.bin / "heddle-compile", module, f"--target={arguments.target}", "-o", artifact], check=True,
                   stdout=subprocess.DEVNULL)
    return artifact


def heddle(arguments, artifact):
    """Returns the median seconds of each entry."""
    done = subprocess.run([arguments.bin / "heddle-run", "bench", artifact, "--repeat", str(arguments.repeat), "--ceilings", "none",
                           "--threads", str(arguments.threads), "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return {entry["entry"]: entry["median_seconds"] for entry in json.loads(done.stdout)["entries"]}


def timed(repeat, work):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def library_works(random, multiply, empty, m, n, k):
    x, w, g = random(m, k), random(k, n), random(m, n)
    y, dx, dw = empty(m, n), empty(m, k), empty(k, n)
    return {"forward": lambda: multiply(x, w, y), "input_gradient": lambda: multiply(g, w.T, dx),
            "weight_gradient": lambda: multiply(x.T, g, dw)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", default=SHAPES, metavar="MxNxK")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=15, help="timed calls of each side a round, of which the median counts")
    arguments = parser.parse_args()
    if arguments.target == "cpu:x86-64-v3":
        os.environ.update(OPENBLAS_CORETYPE="Haswell", MKL_ENABLE_INSTRUCTIONS="AVX2", ONEDNN_MAX_CPU_ISA="AVX2")
    elif "avx512f" in Path("/proc/cpuinfo").read_text(): # OpenBLAS uses AVX2 on processors that it does not know
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    os.environ["OPENBLAS_NUM_THREADS"] = str(arguments.threads)
    import numpy
    import torch

    torch.set_num_threads(arguments.threads)
    draw = numpy.random.default_rng(1)
    libraries = {"OpenBLAS": (lambda *shape: draw.standard_normal(shape, numpy.float32), lambda a, b, to: numpy.matmul(a, b, out=to),
                              lambda *shape: numpy.empty(shape, numpy.float32)),
                 "PyTorch": (torch.randn, lambda a, b, to: torch.mm(a, b, out=to), torch.empty)}
    ratios = []
    print(f"numpy {numpy.__version__}, torch {torch.__version__}, {arguments.threads} threads, {arguments.target}")
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            m, n, k = map(int, shape.split("x"))
            artifact = compile_shape(arguments, folder, m, n, k)
            works = {name: library_works(*library, m, n, k) for name, library in libraries.items()}
            rounds = []
            for _ in range(arguments.rounds):
                rounds.append({"Heddle": heddle(arguments, artifact)})
                for name, entries in works.items():
                    time.sleep(0.2)  # threads of the other library may wait in a loop for that long
                    rounds[-1][name] = {entry: timed(arguments.repeat, work) for entry, work in entries.items()}
            for entry in ("forward", "input_gradient", "weight_gradient"):
                rates = {name: statistics.median(2e-9 * m * n * k / each[name][entry] for each in rounds) for name in rounds[0]}
                ratios.append(rates["Heddle"] / max(rates[name] for name in libraries))
                print(f"{shape} {entry}: " + ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()) +
                      f" GFLOP/s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
