"""Compares the learning rate used in each step with formulas and PyTorch's schedulers: the paper's, constant, linear,
cosine, and a model text's own; 200 steps of each, with train_step and with accumulated gradients.

    schedules.py --bin build/bin --model models/numbers.toml [--target=NAME]"""

import argparse
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import compiled
import tensor_files

SIZES = {"d_model": 32, "heads": 4, "d_ff": 16, "vocab_size": 41, "encoder_layers": 1, "decoder_layers": 1,
         "max_tokens": 16, "max_sequences": 2, "max_length": 16, "dropout": 0.0, "accumulate": True}
STEPS = 200
PEAK, WARMUP, END, FINAL = 0.0123, 17, 160, 0.0011
TEXT = """use transformer
rate(step) {
  fall = max(0, min(1, (step - 20) / 100))
  0.02 * min(step / 20, 1) * (1 + cos(3.14159265358979 * fall)) / 2 + 0.001
}
"""


def paper(step):
    return PEAK * min(step / WARMUP, math.sqrt(WARMUP / step))


def constant(step):
    return PEAK * min(step / WARMUP, 1)


def fallen(step):
    return min(max(step - WARMUP, 0) / (END - WARMUP), 1)


def linear(step):
    return min(constant(step), PEAK + (FINAL - PEAK) * fallen(step))


def cosine(step):
    return min(constant(step), FINAL + (PEAK - FINAL) * (1 + math.cos(math.pi * fallen(step))) / 2)


def own(step):
    fall = max(0, min(1, (step - 20) / 100))
    return 0.02 * min(step / 20, 1) * (1 + math.cos(math.pi * fall)) / 2 + 0.001


def by_torch(name):
    """Returns the rates of steps WARMUP to STEPS by PyTorch's scheduler, which starts at the peak."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    length = END - WARMUP
    if name == "linear":
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, FINAL / PEAK, length)
    else:
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, length, FINAL)
    rates = []
    for step in range(WARMUP, STEPS + 1):
        # After its end PyTorch's cosine rises again; ours stays constant.
        rates.append(optimizer.param_groups[0]["lr"] if step <= END else FINAL)
        optimizer.step()
        scheduler.step()
    return rates


def check(report, arguments, name, overrides, formula):
    """Takes steps of a tiny model and reads the output `learning_rate`; the batch hardly matters."""
    inputs = tensor_files.pack([([5, 6, 7], [1, 8], [8, 2])])
    expected = np.array([formula(step) for step in range(1, STEPS + 1)])
    if name in ("linear", "cosine"):
        difference = np.abs(expected[WARMUP - 1:] - by_torch(name)).max() / PEAK
        report.check(f"{name}: formula against PyTorch's scheduler", difference, 1e-9)
    with tempfile.TemporaryDirectory() as folder, \
            compiled.Model(arguments, {**SIZES, **overrides}, folder, arguments.target) as model:
        for accumulated in (False, True):
            model.call("init", extra=["--seed", "1"])
            rates = []
            for _ in range(STEPS):
                if accumulated:
                    model.call("accumulate_step", inputs)
                    model.call("accumulate_step", inputs)
                    (rate,) = model.call("apply_step", {}, ["learning_rate"])
                else:
                    (rate,) = model.call("train_step", inputs, ["learning_rate"])
                rates.append(float(np.ravel(rate)[0]))
            what = f"{name}{', accumulated' if accumulated else ''}"
            report.check(f"{what}: {STEPS} rates, of the peak", np.abs(rates - expected).max() / expected.max(), 1e-6)
            for step in (1, WARMUP, END, STEPS):
                report.check(f"{what}: rate of step {step}", abs(rates[step - 1] / expected[step - 1] - 1), 1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    arguments = parser.parse_args()
    report = compiled.Report()
    common = {"learning_rate": PEAK, "warmup": WARMUP}
    falls = {**common, "decay_steps": END, "final_learning_rate": FINAL}
    check(report, arguments, "unnamed", common, paper)
    check(report, arguments, "paper", {**common, "schedule": "paper"}, paper)
    check(report, arguments, "constant", {**common, "schedule": "constant"}, constant)
    check(report, arguments, "linear", {**falls, "schedule": "linear"}, linear)
    check(report, arguments, "cosine", {**falls, "schedule": "cosine"}, cosine)
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = f"{folder}/own.weft"
        Path(arguments.model).write_text(TEXT)
        check(report, arguments, "a text's own", {}, own)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
