"""Compares a compiled Transformer with PyTorch on the same weights: logits, every gradient, and 20 steps of Adam.

    parity.py --bin build/bin --model models/numbers.toml --case NAME [--target=NAME] [--precision=NAME] [--off fuse-attention]

Every case overrides parameters to make sizes odd: lengths of 1, 7 and 33, one head, widths that no tile divides."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import torch

import changed
import compiled
import reference
import tensor_files

COMMON = {"dropout": 0.0, "attention_dropout": 0.0, "encoder_layers": 2, "decoder_layers": 2, "max_tokens": 64,
          "max_sequences": 8, "max_length": 64, "warmup": 10, "learning_rate": 0.003, "accumulate": True, "logits_entry": True}
CASES = {
    "base": {"d_model": 64, "heads": 4, "d_ff": 256, "vocab_size": 120},
    "one-head": {"d_model": 24, "heads": 1, "d_ff": 40, "vocab_size": 53, "label_smoothing": 0.1, "share_embeddings": False},
    "odd-widths": {"d_model": 33, "heads": 3, "d_ff": 37, "vocab_size": 41, "positions": "learned", "label_smoothing": 0.1},
    "pre-norm": {"d_model": 36, "heads": 2, "d_ff": 50, "vocab_size": 70, "norm": "pre", "positions": "learned"},
    "clipped": {"d_model": 32, "heads": 2, "d_ff": 64, "vocab_size": 60, "clip_norm": 0.5},
    "decayed": {"d_model": 32, "heads": 2, "d_ff": 64, "vocab_size": 60, "clip_norm": 0.5, "weight_decay": 0.3},
    "soft-cap": {"d_model": 48, "heads": 3, "d_ff": 50, "vocab_size": 60, "attention_soft_cap": 0.5},
    # Rows that 32 lanes share, with four columns or one each, and that end within such a group.
    "shared-rows": {"d_model": 132, "heads": 3, "d_ff": 36, "vocab_size": 301, "label_smoothing": 0.1, "encoder_layers": 1,
                    "decoder_layers": 1},
    # Heads wider than an attention kernel supports.
    "wide-head": {"d_model": 262, "heads": 1, "d_ff": 36, "vocab_size": 41, "encoder_layers": 1, "decoder_layers": 1},
    # Room for so many tokens that tensor cores use tiles of 256 x 128, most of which lies outside.
    "large-tiles": {"d_model": 128, "heads": 2, "d_ff": 256, "vocab_size": 300, "max_tokens": 16384, "encoder_layers": 1,
                    "decoder_layers": 1},
    "window": {"d_model": 32, "heads": 2, "d_ff": 48, "vocab_size": 60, "attention_window": 5},
}
# Allowed relative errors, by precision. bf16 keeps 8 bits of an operand: the forward pass may be off by a hundredth,
# and the training loss by a fiftieth.
BOUNDS = {"f32": {"logits": 1e-4, "loss": 1e-4, "gradient": 1e-3, "nothing": 1e-5, "trained": 1e-3},
          # These keep 10 bits of the fraction. Gradients differ more if a ReLU's input near 0 falls on the other side.
          "f16": {"logits": 2e-3, "loss": 2e-3, "gradient": 3e-2, "nothing": 1e-4, "trained": 4e-3},
          "tf32": {"logits": 2e-3, "loss": 2e-3, "gradient": 3e-2, "nothing": 1e-4, "trained": 4e-3},
          "bf16": {"logits": 1e-2, "loss": 1e-2, "gradient": 5e-2, "nothing": 1e-4, "trained": 2e-2}}
BOUNDS["bf16x3"] = BOUNDS["f32"]  # 16 bits of the fraction
SMOOTH_GRADIENT = 5e-3  # for f16 and tf32 without ReLUs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", help="a description; without --text")
    parser.add_argument("--text", choices=changed.TEXTS, help="a Transformer with one thing changed, of texts/")
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", choices=BOUNDS, default="f32")
    parser.add_argument("--steps", type=int, default=20, help="of Adam")
    parser.add_argument("--smooth", action="store_true", help="GELU instead of ReLU, whose kinks tip gradients over")
    parser.add_argument("--off", nargs="*", default=[], help="fusion passes to switch off")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    arguments = parser.parse_args()
    if bool(arguments.model) == bool(arguments.text):
        parser.error("give either --model or --text")
    if arguments.text:
        arguments.model = f"{pathlib.Path(__file__).parent}/texts/{arguments.text}.weft"
    bounds = dict(BOUNDS[arguments.precision])
    if arguments.smooth and arguments.precision in ("f16", "tf32"):
        bounds["gradient"] = SMOOTH_GRADIENT
    overrides = {**COMMON, "norm": "post", "positions": "sinusoidal", "attention_window": 0, "attention_soft_cap": 0.0,
                 "label_smoothing": 0.0, "clip_norm": 0.0, "layer_norm_epsilon": 1e-5, "adam_beta1": 0.9,
                 "adam_beta2": 0.98, "adam_epsilon": 1e-9, **CASES[arguments.case],
                 **({"activation": "gelu"} if arguments.smooth else {})}
    random = np.random.default_rng(7)
    report = compiled.Report()
    flags = [f"--{flag}=false" for flag in arguments.off] + ([f"--lanes={arguments.lanes}"] if arguments.lanes else [])
    with (tempfile.TemporaryDirectory() as folder,
          compiled.Model(arguments, overrides, folder, arguments.target, arguments.precision, flags) as model):
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        # Biases start at zero and gains at one. Draw them, too, or a wrong gradient through them would not show.
        for name, value in start.items():
            if tensor_files.is_weight(name) and name.endswith((".bias", ".beta", ".gamma", ".gain")):
                start[name] = (value + 0.1 * random.standard_normal(value.shape)).astype(np.float32)
        tensor_files.save_safetensors(f"{folder}/start.safetensors", start)
        torch_model = changed.TEXTS.get(arguments.text, reference.Transformer)(overrides, start)
        batch = compiled.draw_batch(random, overrides["vocab_size"])

        (logits,) = model.call("logits", tensor_files.without_labels(tensor_files.pack(batch, token_scale=False)), ["logits"],
                               variables="start.safetensors")
        (losses,) = model.call("eval", tensor_files.pack(batch, token_scale=False), ["token_loss"])
        expected = torch_model.batch_logits(batch)
        labels = torch.tensor([label for _, _, labels in batch for label in labels])
        report.check("logits", compiled.relative(logits, expected.detach()), bounds["logits"])
        report.check("loss of each token", compiled.relative(
            losses, torch.nn.functional.cross_entropy(expected, labels, reduction="none").detach()), bounds["logits"])

        steps = 12
        report.check("logits with a cache", compiled.relative(compiled.decode_with_cache(model, batch, steps), np.concatenate(
            [rows[:steps].detach() for rows in expected.split([len(target) for _, target, _ in batch])])), bounds["logits"])

        (loss,) = model.call("accumulate_step", tensor_files.pack(batch), ["loss"], save="gradients.safetensors")
        expected = torch_model.loss(batch)
        expected.backward()
        report.check("loss", compiled.relative(loss, [expected.item()]), bounds["loss"])
        gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
        scale = start.get("loss_scale", [1])[0]
        gradients = {name: value / scale for name, value in gradients.items() if name.startswith("grad.")}
        total = np.sqrt(sum(float((w.grad ** 2).sum()) for w in torch_model.weights.values()))
        for name, weight in torch_model.weights.items():
            # A key's bias shifts all scores of a query equally, so its gradient is zero except for rounding.
            if np.linalg.norm(weight.grad) < 1e-6 * total:
                report.check(f"gradient of {name} (zero)", float(np.linalg.norm(gradients["grad." + name])),
                             bounds["nothing"] * total)
            else:
                report.check(f"gradient of {name}", compiled.relative(gradients["grad." + name], weight.grad), bounds["gradient"])

        decay = overrides.get("weight_decay", 0.0)
        parts = [{"params": [w for w in torch_model.weights.values() if (w.dim() == 2) == is_matrix],
                  "weight_decay": decay * is_matrix} for is_matrix in (False, True)]
        optimizer = torch.optim.AdamW(parts, lr=1, betas=(0.9, 0.98), eps=1e-9)
        for step in range(1, arguments.steps + 1):
            batch = compiled.draw_batch(random, overrides["vocab_size"])
            loss, rate = model.call("train_step", tensor_files.pack(batch), ["loss", "learning_rate"])
            optimizer.zero_grad()
            expected = torch_model.loss(batch)
            expected.backward()
            if overrides["clip_norm"] > 0:
                torch.nn.utils.clip_grad_norm_(torch_model.weights.values(), overrides["clip_norm"])
            warmup = overrides["warmup"]
            for group in optimizer.param_groups:
                group["lr"] = overrides["learning_rate"] * min(step / warmup, (warmup / step) ** 0.5)
            report.check(f"learning rate of step {step}", compiled.relative(rate, [optimizer.param_groups[0]["lr"]]), 1e-5)
            optimizer.step()
            report.check(f"loss of step {step}", compiled.relative(loss, [expected.item()]), bounds["trained"])
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
