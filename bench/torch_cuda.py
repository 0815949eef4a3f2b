#!/usr/bin/env python3
"""PyTorch on this machine's GPU, on the shapes that bench/gpu-check.sh times: products, attention as
scaled_dot_product_attention runs it, and training steps with fused Adam. One process, CUDA events, medians.

  bench/torch_cuda.py [--models FOLDER] [--repeat N]

FOLDER holds the descriptions (models/*.toml). A line for each measurement: a name without spaces, and milliseconds. f32 is
without TF32, as Heddle computes; bf16 is the products' type under autocast, with f32 weights."""

import argparse
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

import torch_cpu


def median_ms(work, repeat):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeat):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


class Attention(torch_cpu.Attention):
    def forward(self, x, memory, mask):
        split = lambda t: t.view(t.shape[0], t.shape[1], self.heads, -1).transpose(1, 2)
        query, key, value = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
        # Sequences of equal length have no padding: without a mask the fast kernels are taken.
        result = F.scaled_dot_product_attention(query, key, value, is_causal=mask is not None)
        return self.output(result.transpose(1, 2).reshape(x.shape))


class Transformer(torch_cpu.Transformer):
    def forward(self, source, target):
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, None)
        y = self.embed(target)
        for layer in self.decoder:
            y = layer(y, True, x, None)
        return y @ self.embedding.t()


def training_step(path, autocast):
    description = torch_cpu.read_toml(path)
    tokens = int(description["max_tokens"])
    sequences = min(int(description["max_sequences"]), tokens // 25)  # as `heddle-run bench` fills a batch
    torch_cpu.Attention = Attention  # what its layers are made of
    torch.manual_seed(1)
    model = Transformer(description).cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    draw = lambda: torch.randint(int(description["vocab_size"]), (sequences, tokens // sequences), device="cuda")
    source, target, labels = draw(), draw(), draw()

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            logits = model(source, target)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                                   label_smoothing=description["label_smoothing"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def product(extent, dtype):
    a, b = (torch.randn(extent, extent, device="cuda", dtype=dtype) for _ in range(2))
    return lambda: a @ b


def attention(tokens, heads, width, dtype, causal, backward):
    query, key, value = (torch.randn(1, heads, tokens, width, device="cuda", dtype=dtype, requires_grad=backward)
                         for _ in range(3))
    forward = lambda: F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    if not backward:
        return forward
    result = forward()
    gradient = torch.randn_like(result)
    return lambda: torch.autograd.grad(result, (query, key, value), gradient, retain_graph=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=Path(__file__).resolve().parent.parent / "models", type=Path)
    parser.add_argument("--repeat", default=10, type=int)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    rate = 2e-9 * 4096**3 / median_ms(product(4096, torch.bfloat16), arguments.repeat)
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuBLAS: {rate:.0f} TFLOP/s in bf16 at 4096^3",
          file=sys.stderr)
    report = lambda name, work: print(name, f"{median_ms(work, arguments.repeat):.4f}", flush=True)
    for suffix, dtype in (("", torch.float32), ("-bf16", torch.bfloat16)):
        for extent in (1024, 4096, 8192):
            report(f"matmul-{extent}{suffix},forward", product(extent, dtype))
        for width in (64, 128):
            for mask in ("full", "causal"):
                for part in ("forward", "backward"):
                    report(f"attention-4096x16x{width}-{mask}{suffix},{part}",
                           attention(4096, 16, width, dtype, mask == "causal", part == "backward"))
        for model in ("numbers", "transformer-base", "transformer-big"):
            if (arguments.models / f"{model}.toml").exists():
                report(f"{model}{suffix},train_step", training_step(arguments.models / f"{model}.toml", bool(suffix)))


if __name__ == "__main__":
    main()
