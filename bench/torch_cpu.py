#!/usr/bin/python3
"""Measures PyTorch on the same processor: tokens per second and the tensors' peak memory of a training step.

  bench/torch_cpu.py MODEL.toml [--threads N] [--steps N] [--sequences N] [--tokens N] [--bf16] [--compile] [--memory]

The model is that of the description (models/*.toml), written in the usual PyTorch way: padded batches, matmuls of whole
matrices, torch's fused attention and Adam if this PyTorch has them. With --compile, torch.compile makes kernels of
model and loss, which takes minutes. By default the sequences have equal lengths, so that no work is lost to padding, and
attention gets no mask for it: the best case for PyTorch. Prints one JSON object, with the BLAS library and its rate.
Reference BLAS is refused: it is 30 times slower than OpenBLAS, and no fair peer. The tokens of both sides are counted,
as heddle-run does.
"""

import argparse
import json
import math
import os
import re
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


def read_toml(path):
    """Reads a description. Descriptions use only this much of TOML: a key, a value, a comment. Absent keys have
    heddle-compile's defaults."""
    values = {"layer_norm_epsilon": 1e-5, "dropout": 0.1, "attention_dropout": 0, "label_smoothing": 0.1,
              "adam_beta1": 0.9, "adam_beta2": 0.98, "adam_epsilon": 1e-9, "norm": "post", "positions": "sinusoidal",
              "activation": "relu", "share_embeddings": True}
    with open(path) as file:
        for line in file:
            key, _, value = line.split("#")[0].partition("=")
            if value.strip():
                values[key.strip()] = json.loads(value.strip())
    for key, value in {"norm": "post", "positions": "sinusoidal", "activation": "relu", "share_embeddings": True,
                       "attention_dropout": 0}.items():
        if values[key] != value:
            raise SystemExit(f"{path}: {key} = {values[key]!r} is not measured here, only {value!r}")
    return values


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        width = d["d_model"]
        self.heads = d["heads"]
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, memory, mask, causal):
        """`mask` is null, or true where there is padding."""
        split = lambda t: t.view(t.shape[0], t.shape[1], self.heads, -1).transpose(1, 2)
        query, key, value = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
        if hasattr(F, "scaled_dot_product_attention"):  # since PyTorch 2.0
            result = F.scaled_dot_product_attention(query, key, value, attn_mask=None if mask is None else ~mask, is_causal=causal)
        else:
            scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
            if causal:
                mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            if mask is not None:
                scores = scores.masked_fill(mask, float("-inf"))
            result = torch.softmax(scores, -1) @ value
        return self.output(result.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, d, cross):
        super().__init__()
        width = d["d_model"]
        self.self_attention = Attention(d)
        self.cross_attention = Attention(d) if cross else None
        self.inner, self.outer = nn.Linear(width, d["d_ff"]), nn.Linear(d["d_ff"], width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=d["layer_norm_epsilon"]) for _ in range(3 if cross else 2))
        self.dropout = nn.Dropout(d["dropout"])

    def forward(self, x, memory, mask):
        """A decoder's layer attends to `memory`, an encoder's has none. `mask` is that of the source."""
        causal = self.cross_attention is not None
        x = self.norms[0](x + self.dropout(self.self_attention(x, x, None if causal else mask, causal)))
        if self.cross_attention:
            x = self.norms[1](x + self.dropout(self.cross_attention(x, memory, mask, False)))
        return self.norms[-1](x + self.dropout(self.outer(torch.relu(self.inner(x)))))


class Transformer(nn.Module):
    """The paper's model: post-norm, sinusoidal positions, one matrix for both embeddings and the logits."""

    def __init__(self, d):
        super().__init__()
        width, length = d["d_model"], d["max_length"]
        self.width = width
        self.embedding = nn.Parameter(torch.randn(d["vocab_size"], width) / math.sqrt(width))
        place, column = torch.arange(length)[:, None], torch.arange(width)
        angle = place / 10000 ** ((column // 2 * 2) / width)
        self.register_buffer("positions", torch.where(column % 2 == 0, angle.sin(), angle.cos()))
        self.encoder = nn.ModuleList(Layer(d, False) for _ in range(d["encoder_layers"]))
        self.decoder = nn.ModuleList(Layer(d, True) for _ in range(d["decoder_layers"]))
        self.dropout = nn.Dropout(d["dropout"])

    def embed(self, ids):
        return self.dropout(F.embedding(ids, self.embedding) * math.sqrt(self.width) + self.positions[: ids.shape[1]])

    def forward(self, source, source_padding, target):
        mask = None if source_padding is None else source_padding[:, None, None, :]
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, None, mask)
        y = self.embed(target)
        for layer in self.decoder:
            y = layer(y, x, mask)
        return y @ self.embedding.t()


def draw_batch(d, sequences, tokens, even, generator):
    """Returns the ids of the source, which of them are padding (null: none), the ids of the target, their labels (-100 for
    padding), and the number of tokens of both sides."""
    def lengths():
        mean = tokens // sequences
        if even:
            return torch.full((sequences,), mean)
        return torch.randint(max(1, mean // 2), min(d["max_length"], mean + mean // 2) + 1, (sequences,),
                             generator=generator)

    def side(length):
        padding = torch.arange(int(length.max())) >= length[:, None]
        return torch.randint(d["vocab_size"], padding.shape, generator=generator), padding

    source_length, target_length = lengths(), lengths()
    source, source_padding = side(source_length)
    target, target_padding = side(target_length)
    labels = torch.randint(d["vocab_size"], target.shape, generator=generator).masked_fill(target_padding, -100)
    return source, None if even else source_padding, target, labels, int(source_length.sum() + target_length.sum())


def fused_adam():
    """Returns the option that makes Adam one kernel on processors (PyTorch 2.4 and newer)."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    try:
        torch.optim.Adam([parameter], fused=True)
    except (TypeError, RuntimeError):
        return {}
    return {"fused": True}


class Training:
    def __init__(self, d, sequences, tokens, even, compiled=False, bf16=False):
        self.d, self.bf16 = d, bf16
        self.model = Transformer(d)
        self.loss = torch.compile(self.find_loss) if compiled else self.find_loss
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, betas=(d["adam_beta1"], d["adam_beta2"]),
                                          eps=d["adam_epsilon"], **fused_adam())
        *self.batch, self.tokens = draw_batch(d, sequences, tokens, even, torch.Generator().manual_seed(1))

    def find_loss(self, source, padding, target, labels):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = self.model(source, padding, target)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), label_smoothing=self.d["label_smoothing"])

    def step(self):
        loss = self.loss(*self.batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def state_bytes(self):
        """Returns the bytes of weights and moments, which persist between steps. Gradients are freed at the next step's
        backward pass."""
        tensors = list(self.model.parameters()) + list(self.model.buffers())
        for state in self.optimizer.state.values():
            tensors += [value for value in state.values() if torch.is_tensor(value)]
        return sum(t.numel() * t.element_size() for t in tensors)

    def peak_bytes(self):
        """Returns the peak of tensor bytes during a step: the bytes before it, plus the largest sum of allocations and
        frees since, as PyTorch's profiler records them."""
        self.step()  # the first step allocates the moments
        self.optimizer.zero_grad(set_to_none=True)
        before = self.state_bytes() + sum(t.numel() * t.element_size() for t in self.batch if t is not None)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            self.step()
        held = peak = 0
        changes = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
        # PyTorch 2.6 counts time in nanoseconds, earlier versions in microseconds.
        for event in sorted(changes, key=lambda e: e.start_ns() if hasattr(e, "start_ns") else e.start_us()):
            held += event.nbytes()
            peak = max(peak, held)
        return before, before + peak


def matmul_record(extent=768):
    """Returns PyTorch's BLAS and its GFLOP/s, the best of ten matmuls. Exits if it is reference BLAS."""
    a, b = torch.randn(extent, extent), torch.randn(extent, extent)
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - start)
    with open("/proc/self/maps") as maps:
        loaded = {os.path.realpath(line.split()[-1]) for line in maps if re.search(r"/[^/]*(blas|mkl)[^/]*\.so", line)}
    if any("/blas/libblas.so" in path for path in loaded):
        raise SystemExit("PyTorch multiplies matrices by reference BLAS here, which is no baseline. Install OpenBLAS "
                         "(Debian: apt-get install libopenblas0-pthread) and run this again.")
    libraries = sorted({os.path.basename(path) for path in loaded if not re.search(r"/lib(blas|lapack)\.so", path)})
    mkl = torch.backends.mkl.is_available()  # built into PyTorch; the other libraries belong to numpy and CUDA
    return {"blas": "MKL" if mkl else " ".join(libraries) or "built into PyTorch", "matmul_gflops": 2 * extent**3 / min(seconds) / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=7, help="timed steps, of which the median counts")
    parser.add_argument("--sequences", type=int, help="default: as many as make them 25 tokens long")
    parser.add_argument("--tokens", type=int, help="of each side (default: the description's max_tokens)")
    parser.add_argument("--random-lengths", action="store_true", help="pad sequences of different lengths")
    parser.add_argument("--bf16", action="store_true", help="autocast to bf16: matmuls and attention round their operands")
    parser.add_argument("--compile", action="store_true", help="torch.compile model and loss (PyTorch 2 with a C++ compiler)")
    parser.add_argument("--memory", action="store_true", help="measure the peak memory instead of the time")
    arguments = parser.parse_args()
    if arguments.compile and not hasattr(torch, "compile"):
        parser.error(f"PyTorch {torch.__version__} has no torch.compile; PyTorch 2 has")
    d = read_toml(arguments.model)
    tokens = arguments.tokens or d["max_tokens"]
    sequences = arguments.sequences or min(d["max_sequences"], max(-(-tokens // d["max_length"]), tokens // 25, 1))
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    blas = matmul_record()
    training = Training(d, sequences, tokens, not arguments.random_lengths, arguments.compile, arguments.bf16)
    record = {"model": arguments.model, "torch": torch.__version__, "compiled": arguments.compile, "bf16": arguments.bf16,
              "threads": arguments.threads, **blas, "sequences": sequences, "tokens": training.tokens,
              "parameters": sum(p.numel() for p in training.model.parameters())}
    if arguments.memory:
        state, peak = training.peak_bytes()
        record.update(state_bytes=state, peak_bytes=peak)
    else:
        for _ in range(2):
            training.step()
        seconds = []
        for _ in range(arguments.steps):
            start = time.perf_counter()
            training.step()
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        record.update(median_seconds=median, minimum_seconds=min(seconds), maximum_seconds=max(seconds),
                      tokens_per_second=training.tokens / median)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
