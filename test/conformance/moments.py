"""Tests Adam's moments in bf16: each step, bit by bit, against rounding in numpy; that small changes are not lost; 20
losses against PyTorch with the same rounding; checkpoints.

    moments.py --bin build/bin --model models/numbers.toml [--target=NAME] [--steps=N]"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import compiled
import parity
import reference
import tensor_files

SIZES = {"d_model": 32, "heads": 2, "d_ff": 44, "vocab_size": 41, "positions": "learned", "encoder_layers": 1,
         "decoder_layers": 1, "dropout": 0.0, "attention_dropout": 0.0, "max_tokens": 64, "max_sequences": 8, "max_length": 64,
         "warmup": 5, "learning_rate": 0.01, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "accumulate": True,
         "logits_entry": True, "norm": "post", "attention_window": 0, "attention_soft_cap": 0.0, "label_smoothing": 0.0,
         "clip_norm": 0.0, "layer_norm_epsilon": 1e-5}
BETA1, BETA2, EPSILON = (float(np.float32(SIZES[f"adam_{name}"])) for name in ("beta1", "beta2", "epsilon"))


def mix(x):
    """The final mix of MurmurHash3."""
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return x ^ x >> np.uint32(16)


def random_of(weight, step):
    """Returns 32 random bits per element of a weight, from its value before the step."""
    with np.errstate(over="ignore"):
        return mix(weight.astype(np.float32).view(np.uint32) ^ mix(np.uint32([step]) * np.uint32(0x9E3779B9)))


def cut(value, added):
    """Rounds f32 to bf16 by adding the given numbers to the lower 16 bits."""
    with np.errstate(over="ignore"):
        return ((value.astype(np.float32).view(np.uint32) + added) & np.uint32(0xFFFF0000)).view(np.float32)


def is_rounded(name, shape):
    return name.startswith("adam.") and len(shape) == 2 and shape[-1] % 2 == 0 and np.prod(shape) % 128 == 0


def exact(state, name, gradient):
    """Returns both new moments before rounding, and the possible error of f32 arithmetic."""
    first, second, gradient = (value.astype(np.float64) for value in (state["adam.m." + name], state["adam.v." + name], gradient))
    terms = (BETA1 * first, (1 - BETA1) * gradient), (BETA2 * second, (1 - BETA2) * gradient ** 2)
    return [old + new for old, new in terms], [2.0 ** -22 * (np.abs(old) + np.abs(new)) for old, new in terms]


def bits(arguments, report, overrides, steps):
    """Checks the moments after each step against those before it."""
    random = np.random.default_rng(3)
    with (tempfile.TemporaryDirectory() as folder,
          compiled.Model(arguments, {**SIZES, **overrides}, folder, arguments.target, flags=arguments.flags) as model):
        def state():
            return tensor_files.load_safetensors(f"{folder}/now.safetensors")

        model.call("init", save="init.safetensors", extra=["--seed", "1"])
        elements = exactly = outside = changed = 0
        worst = 0.0
        for step in range(1, steps + 1):
            model.call("accumulate_step", tensor_files.pack(compiled.draw_batch(random, SIZES["vocab_size"])), save="gradients.safetensors")
            gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
            if step == 1:
                before = tensor_files.load_safetensors(f"{folder}/init.safetensors")
            (rate,) = model.call("apply_step", (), ["learning_rate"], save="now.safetensors")
            after = state()
            for name in filter(tensor_files.is_weight, after):
                moments, errors = exact(before, name, gradients["grad." + name])
                drawn = random_of(before[name], step)
                for role, moment, error, added in zip("mv", moments, errors, (drawn >> np.uint32(16), drawn & np.uint32(0xFFFF))):
                    key = f"adam.{role}.{name}"
                    actual = after[key]
                    if not is_rounded(key, actual.shape):
                        worst = max(worst, compiled.relative(actual, moment))
                        continue
                    elements += actual.size
                    exactly += (actual == cut(moment, added)).sum()
                    outside += ((actual < cut(moment - error, added)) | (actual > cut(moment + error, added))).sum()
                    changed += (actual != before[key]).sum()
                    assert not (actual.view(np.uint32) & np.uint32(0xFFFF)).any(), key
                # Weights are updated from the unrounded moments.
                correction1, correction2 = 1 / (1 - BETA1 ** step), 1 / (1 - BETA2 ** step)
                expected = before[name] - rate[0] * moments[0] * correction1 / (np.sqrt(moments[1] * correction2) + EPSILON)
                worst = max(worst, compiled.relative(after[name] - before[name], expected - before[name]) / 100)
            before = after
        what = ", ".join(overrides) or "plain"
        report.check(f"{what}: rounded otherwise", int(outside), 0)
        report.check(f"{what}: share that the last bits of f32 decide", 1 - exactly / elements, 1e-3)
        report.check(f"{what}: numbers of f32", worst, 1e-6)
        report.check(f"{what}: moments that never change", 1 - changed / elements, 0.5)


def decay(arguments, report, steps):
    """Without gradients, second moments shrink by a thousandth per step, less than half of bf16's last bit."""
    with (tempfile.TemporaryDirectory() as folder,
          compiled.Model(arguments, SIZES, folder, arguments.target, flags=arguments.flags) as model):
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        moments = {name for name, value in start.items() if is_rounded(name, value.shape) and name.startswith("adam.v.")}
        tensor_files.save_safetensors(f"{folder}/ones.safetensors", {name: np.full(start[name].shape, 1.5, np.float32) for name in moments})
        for step in range(steps):
            model.call("apply_step", variables="ones.safetensors" if step == 0 else None,
                       save="end.safetensors" if step == steps - 1 else None)
        end = tensor_files.load_safetensors(f"{folder}/end.safetensors")
        values = np.concatenate([end[name].ravel() for name in sorted(moments)]).astype(np.float64)
        # For numbers in [1, 2), a step subtracts one unit of the last bit, or nothing.
        last, mean, variance = 2.0 ** -7, 1.5, 0.0
        for _ in range(steps):
            down = (1 - BETA2) * mean / last
            mean, variance = BETA2 * mean, BETA2 ** 2 * variance + down * (1 - down) * last ** 2
        assert mean - 6 * variance ** 0.5 > 1
        report.check(f"{steps} steps without gradients, mean of {mean:.3f}", abs(values.mean() - mean), 5 * (variance / values.size) ** 0.5)
        report.check(f"their deviation, of {variance ** 0.5:.4f}", abs(values.std() / variance ** 0.5 - 1), 0.05)


def train(arguments, report, steps):
    """Compares losses with PyTorch's, with Adam in numpy."""
    random = np.random.default_rng(7)
    with (tempfile.TemporaryDirectory() as folder,
          compiled.Model(arguments, SIZES, folder, arguments.target, flags=arguments.flags) as model):
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        torch_model = reference.Transformer(SIZES, start)
        moments = {name: value for name, value in start.items() if name.startswith("adam.")}
        for step in range(1, steps + 1):
            batch = compiled.draw_batch(random, SIZES["vocab_size"])
            (loss, rate) = model.call("train_step", tensor_files.pack(batch), ["loss", "learning_rate"])
            for weight in torch_model.weights.values():
                weight.grad = None
            expected = torch_model.loss(batch)
            expected.backward()
            report.check(f"loss of step {step}", compiled.relative(loss, [expected.item()]), parity.BOUNDS["f32"]["trained"])
            for name, weight in torch_model.weights.items():
                old = weight.detach().numpy().copy()
                new, _ = exact(moments, name, weight.grad.numpy())
                drawn = random_of(old, step)
                correction1, correction2 = 1 / (1 - BETA1 ** step), 1 / (1 - BETA2 ** step)
                with torch.no_grad():
                    weight.copy_(torch.from_numpy(
                        (old - rate[0] * new[0] * correction1 / (np.sqrt(new[1] * correction2) + EPSILON)).astype(np.float32)))
                for role, moment, added in zip("mv", new, (drawn >> np.uint32(16), drawn & np.uint32(0xFFFF))):
                    key = f"adam.{role}.{name}"
                    moments[key] = cut(moment, added) if is_rounded(key, moment.shape) else moment.astype(np.float32)


def types_of(path):
    data = Path(path).read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return {name: entry["dtype"] for name, entry in header.items() if name != "__metadata__"}


def checkpoints(arguments, report):
    """Resumes a training bit by bit, and one with moments of the other type."""
    with tempfile.TemporaryDirectory() as folder:
        def tool(name, *words):
            done = subprocess.run([f"{arguments.bin}/{name}", *words], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{name} {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")

        tool("heddle-data", "numbers", "--out", "data", "--train", "300", "--valid", "10", "--test", "10", "--maximum", "9999")
        sets = [word for key, value in {**SIZES, "vocab_size": 80, "max_tokens": 256, "max_sequences": 16, "dropout": 0.1}.items()
                for word in ("--set", f"{key}={compiled.toml(value)}")]
        model = str(Path(arguments.model).resolve())
        for moments in ("f32", "bf16"):
            tool("heddle-compile", model, "-o", f"{moments}.heddle", f"--target={arguments.target}", f"--moments={moments}", *sets)
        common = ["--src", "data/train.en", "--tgt", "data/train.de", "--save-every", "1", "--keep-last", "9"]
        tool("heddle-run", "train", "bf16.heddle", *common, "--checkpoint", "proof", "--steps", "6", "--verify-resume")
        for before, after in (("f32", "bf16"), ("bf16", "f32")):
            tool("heddle-run", "train", f"{before}.heddle", *common, "--checkpoint", f"from-{before}", "--steps", "3")
            saved = f"{folder}/from-{before}/step-00000003/optimizer.safetensors"
            kinds = {kind for name, kind in types_of(saved).items() if name.startswith("adam.")}
            report.check(f"types of moments of {before}", int(kinds != ({"F32", "BF16"} if before == "bf16" else {"F32"})), 0)
            tool("heddle-run", "train", f"{after}.heddle", *common, "--checkpoint", f"from-{before}", "--steps", "5", "--resume")
            saved = f"{folder}/from-{before}/step-00000005/optimizer.safetensors"
            kinds = {kind for name, kind in types_of(saved).items() if name.startswith("adam.")}
            report.check(f"types of moments of {after} from {before}", int(kinds != ({"F32", "BF16"} if after == "bf16" else {"F32"})), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    arguments.bin = str(Path(arguments.bin).resolve())
    arguments.flags = ["--moments=bf16"]
    report = compiled.Report()
    bits(arguments, report, {}, arguments.steps)
    if not arguments.target.startswith("cuda"): # CUDA is emulated here, and slow
        bits(arguments, report, {"d_model": 33, "heads": 3, "d_ff": 128, "ema_decay": 0.9}, 2)
        decay(arguments, report, 150)
        train(arguments, report, arguments.steps)
        checkpoints(arguments, report)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
