"""Compares training with a scaled loss with PyTorch: steps that overflow change only the scale, and the others are
Adam's.

    loss_scale.py --bin build/bin --model models/numbers.toml [--target=NAME] [--precision=NAME]"""

import argparse
import sys
import tempfile

import numpy as np
import torch

import compiled
import parity
import reference
import tensor_files

CASES = {"plain": {}, "clipped": {"clip_norm": 0.05}, "accumulated": {"accumulate": True}}
INTERVAL = 3


def run_case(arguments, report, what, case, first_scale, good_steps):
    overrides = {**parity.COMMON, "accumulate": False, "norm": "post", "positions": "sinusoidal", "label_smoothing": 0.0,
                 "layer_norm_epsilon": 1e-5, "clip_norm": 0.0, "d_model": 34, "heads": 2, "d_ff": 39, "vocab_size": 43,
                 "encoder_layers": 1, "decoder_layers": 1, "warmup": 12, "ema_decay": 0.75,
                 "loss_scale": first_scale, "loss_scale_interval": INTERVAL, **case}
    bounds = parity.BOUNDS[arguments.precision]
    random = np.random.default_rng(11)
    with (tempfile.TemporaryDirectory() as folder,
          compiled.Model(arguments, overrides, folder, arguments.target, arguments.precision) as model):
        model.call("init", save="now.safetensors", extra=["--seed", "1"])
        state = tensor_files.load_safetensors(f"{folder}/now.safetensors")
        start = state
        torch_model = reference.Transformer(overrides, state)
        optimizer = torch.optim.Adam(torch_model.weights.values(), lr=1, betas=(0.9, 0.98), eps=1e-9)
        scale, good, skipped, errors, unchanged, wrong_counts = first_scale, 0, 0, [0.0], True, 0

        def call(entry, inputs=(), outputs=()):
            results = model.call(entry, inputs, outputs, save="after.safetensors")
            return results, {**state, **tensor_files.load_safetensors(f"{folder}/after.safetensors")}

        for step in range(1, 60):
            batches = [compiled.draw_batch(random, overrides["vocab_size"]) for _ in range(1 + overrides["accumulate"])]
            before, loss = state, 0.0
            if overrides["accumulate"]:
                tokens = sum(len(labels) for batch in batches for _, _, labels in batch)
                for batch in batches:
                    inputs = {**tensor_files.pack(batch), "token_scale": np.asarray([1 / tokens], np.float32)}
                    (part,), state = call("accumulate_step", inputs, ["loss"])
                    loss += float(part[0])
                _, state = call("apply_step")
            else:
                (part,), state = call("train_step", tensor_files.pack(batches[0]), ["loss"])
                loss = float(part[0])
            optimizer.zero_grad()
            expected = torch_model.loss([pair for batch in batches for pair in batch])
            expected.backward()
            errors.append(compiled.relative([loss], [expected.item()]))
            if state["skipped_steps"][0] > before["skipped_steps"][0]:
                kept = [name for name in state if tensor_files.is_weight(name) or name.startswith(("adam.", "ema."))]
                unchanged &= all(np.array_equal(state[name], before[name]) for name in kept)
                scale, good, skipped = scale / 2, 0, skipped + 1
            else:
                if overrides["clip_norm"] > 0:
                    torch.nn.utils.clip_grad_norm_(torch_model.weights.values(), overrides["clip_norm"])
                rate = overrides["learning_rate"] * min(step / overrides["warmup"], (overrides["warmup"] / step) ** 0.5)
                optimizer.param_groups[0]["lr"] = rate
                optimizer.step()
                good += 1
                if good == INTERVAL:
                    scale, good = scale * 2, 0
            wrong_counts += (float(state["loss_scale"][0]), state["good_steps"][0], state["skipped_steps"][0],
                             state["step"][0]) != (scale, good, skipped, step)
            if step - skipped == good_steps:
                break
        report.check(f"{what}: skipped {skipped} steps, some", skipped == 0, 0)
        report.check(f"{what}: took {step - skipped} steps", step - skipped != good_steps, 0)
        report.check(f"{what}: skipped steps change nothing", not unchanged, 0)
        report.check(f"{what}: steps of another scale or count", wrong_counts, 0)
        report.check(f"{what}: losses against PyTorch", max(errors), bounds["trained"])
        finite = all(np.isfinite(value).all() for value in state.values() if value.dtype == np.float32)
        report.check(f"{what}: all is finite", not finite, 0)
        # The gradient of a key's bias is zero except for rounding, which Adam turns into steps.
        expected = {name: value.detach().numpy() for name, value in torch_model.weights.items()
                    if not name.endswith(".key.bias")}
        def distance(weights):
            return np.sqrt(sum(((weights[name] - value) ** 2).sum() for name, value in expected.items()))
        report.check(f"{what}: weights, of the way that PyTorch's went", distance(state) / distance(start),
                     {"f32": 1e-4}.get(arguments.precision, 1e-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", choices=parity.BOUNDS, default="f32")
    parser.add_argument("--case", choices=CASES, action="append", help="default: all")
    arguments = parser.parse_args()
    report = compiled.Report()
    # In f32, the squares that are summed overflow first.
    first_scale = 2.0 ** 24 if arguments.precision == "f16" else 2.0 ** 68
    for what in arguments.case or CASES:
        run_case(arguments, report, what, CASES[what], first_scale, 4 if arguments.target.startswith("cuda") else 8)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
