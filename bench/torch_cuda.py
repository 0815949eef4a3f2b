#!/usr/bin/env python3
"""Measures PyTorch on this machine's GPU, on the shapes that bench/gpu-check.sh times: matmuls, attention by
scaled_dot_product_attention, and training steps with fused Adam. One process, CUDA events, medians after three calls.
Matmuls and attention are timed ten calls at a time, so that launch time does not count. A training step is timed both
as an ordinary call and as a CUDA graph; the faster one counts (standard error has both).

  bench/torch_cuda.py [--models FOLDER] [--repeat N] NAME...

NAME is a benchmark of bench/gpu-pack.sh, and FOLDER holds the descriptions (models/*.toml). Prints a line for each
measurement: a name without spaces, and milliseconds. f32 runs without TF32, as in Heddle. bf16 and f16 are the types of
matmuls under autocast, with f32 weights. Attention's backward pass is timed by itself, from results that the forward
pass has kept."""

import argparse
import re
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import torch_cpu

DEVICE = "cuda"
WARMUP = 3
TOGETHER = 10


def milliseconds(work, calls):
    if DEVICE == "cpu":
        begin = time.perf_counter()
        work()
        return 1e3 * (time.perf_counter() - begin)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def median_ms(work, repeat, calls=1):
    for _ in range(WARMUP):
        work()
    return statistics.median(milliseconds(work, calls) for _ in range(repeat))


def graph_of(work):
    """Captures `work` as a CUDA graph. Returns a function that replays it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARMUP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def training_step(path, dtype):
    description = torch_cpu.read_toml(path)
    tokens = int(description["max_tokens"])
    sequences = min(int(description["max_sequences"]), max(tokens // 25, 1))  # as `heddle-run bench` fills a batch
    torch.manual_seed(1)
    model = torch_cpu.Transformer(description).to(DEVICE).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9,
                                 **({"fused": True, "capturable": True} if DEVICE == "cuda" else {}))
    draw = lambda: torch.randint(int(description["vocab_size"]), (sequences, tokens // sequences), device=DEVICE)
    source, target, labels = draw(), draw(), draw()

    def step():
        with torch.autocast(DEVICE, dtype if dtype != torch.float32 else torch.bfloat16, enabled=dtype != torch.float32,
                            cache_enabled=False): # needed for the graph; a step casts each weight once in any case
            logits = model(source, None, target)  # sequences of equal length have no padding: without a mask, the fast kernels are used
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                                   label_smoothing=description["label_smoothing"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def product(extent, dtype, entry="forward"):
    a, b = (torch.randn(extent, extent, device=DEVICE, dtype=dtype) for _ in range(2))
    return {"forward": lambda: a @ b, "input_gradient": lambda: a @ b.t(), "weight_gradient": lambda: a.t() @ b}[entry]


def attention(tokens, heads, width, dtype, causal, backward):
    query, key, value = (torch.randn(1, heads, tokens, width, device=DEVICE, dtype=dtype, requires_grad=backward)
                         for _ in range(3))
    forward = lambda: F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    if not backward:
        return forward
    result = forward()
    gradient = torch.randn_like(result)
    return lambda: torch.autograd.grad(result, (query, key, value), gradient, retain_graph=True)


def works(name, models):
    """Returns what a benchmark of this name times: pairs of an entry and a function."""
    stem, _, suffix = name.partition("-bf16") if name.endswith("-bf16") else name.partition("-f16")
    dtype = torch.bfloat16 if name.endswith("-bf16") else torch.float16 if name.endswith("-f16") else torch.float32
    if match := re.fullmatch(r"matmul-(\d+)", stem):
        return [(entry, lambda entry=entry: product(int(match[1]), dtype, entry))
                for entry in ("forward", "input_gradient", "weight_gradient")]
    if match := re.fullmatch(r"attention-(\d+)x(\d+)x(\d+)-(full|causal)", stem):
        shape = [int(match[i]) for i in (1, 2, 3)]
        return [(part, lambda part=part: attention(*shape, dtype, match[4] == "causal", part == "backward"))
                for part in ("forward", "backward")]
    if not (models / f"{stem}.toml").exists():
        sys.exit(f"torch_cuda.py: there is no benchmark '{name}', and no '{stem}.toml' in '{models}'")
    return [("train_step", lambda: training_step(models / f"{stem}.toml", dtype))]


def main():
    global DEVICE
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--models", default=Path(__file__).resolve().parent.parent / "models", type=Path)
    parser.add_argument("--repeat", default=10, type=int)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    arguments = parser.parse_args()
    DEVICE = arguments.device
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if DEVICE == "cuda":
        rate = 2e-9 * 4096**3 / median_ms(product(4096, torch.bfloat16), arguments.repeat, TOGETHER)
        print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuBLAS: {rate:.0f} TFLOP/s in bf16 at 4096^3",
              file=sys.stderr)
    for name in arguments.names:
        for entry, make in works(name, arguments.models):
            work = make()
            best = median_ms(work, arguments.repeat, 1 if entry == "train_step" else TOGETHER)
            if entry == "train_step" and DEVICE == "cuda":
                graph = median_ms(graph_of(work), arguments.repeat)
                print(f"{name}: {best:.4f} ms as it is called, {graph:.4f} ms as a graph", file=sys.stderr)
                best = min(best, graph)
            print(f"{name},{entry} {best:.4f}", flush=True)


if __name__ == "__main__":
    main()
