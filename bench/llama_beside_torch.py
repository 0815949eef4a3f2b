#!/usr/bin/python3
"""Times a LLaMA-like decoder, by default with SmolLM2-135M's shape: a training step, and decoding token by token, in
Heddle and in PyTorch, in turns on the same processors.

  bench/llama_beside_torch.py [--tokens N] [--layers N] [--rounds N] [--repeat N] [--threads N] [--target NAME] [--decode N]
                              [--compile] [--moments=bf16] [--recompute=products]

Random weights, one sequence of --tokens tokens, f32, Adam; decoding also with 8-bit and 4-bit weights. PyTorch's training
step is that of the package transformers (LlamaForCausalLM with scaled_dot_product_attention) if this Python has it, else
a model written in the usual way: matmuls of whole matrices. The optimizer is fused if this PyTorch has a fused one. With
--compile, torch.compile's step is timed as well, after a minute of compiling. Decoding is the written model's, with a
cache of the keys and values of the key heads. The last --decode tokens are timed; 0: none. Prints a line per round and
the medians as JSON, with the peak memory of a training step: for Heddle the device memory that the compiler reports, for
PyTorch the growth of the resident set.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import torch_cpu

try:
    import transformers
except ImportError:
    transformers = None

ROOT = Path(__file__).resolve().parent.parent
SHAPE = {"d_model": 576, "layers": 30, "d_ff": 1536, "heads": 9, "key_heads": 3, "vocab_size": 49152, "rotary_base": 100000}


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * self.gain


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, self.heads, self.key_heads = shape["d_model"], shape["heads"], shape["key_heads"]
        self.head = width // self.heads
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.query, self.output = linear(width, width), linear(width, width)
        self.key, self.value = (linear(width, self.key_heads * self.head) for _ in range(2))
        self.gate, self.inner = (linear(width, shape["d_ff"]) for _ in range(2))
        self.outer = linear(shape["d_ff"], width)
        self.norm1, self.norm2 = Norm(width), Norm(width)

    def forward(self, x, cosines, sines, mask, cache=None):
        def turn(t):
            a, b = t.chunk(2, -1)
            return t * cosines + torch.cat([-b, a], -1) * sines

        split = lambda t, heads: t.view(len(t), heads, self.head).transpose(0, 1)
        normal = self.norm1(x)
        query, key = turn(split(self.query(normal), self.heads)), turn(split(self.key(normal), self.key_heads))
        value = split(self.value(normal), self.key_heads)
        if cache is not None:
            place, keys, values = cache
            keys[:, place], values[:, place] = key[:, 0], value[:, 0]
            key, value = keys[:, : place + 1], values[:, : place + 1]
        group = self.heads // self.key_heads  # a group's queries are stacked, so that no key is copied
        rows = query.shape[1]
        scores = query.reshape(self.key_heads, group * rows, self.head) @ key.transpose(1, 2) / math.sqrt(self.head)
        scores = scores.view(self.key_heads, group, rows, -1)
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        context = torch.softmax(scores, -1).view(self.key_heads, group * rows, -1) @ value
        x = x + self.output(context.view(self.heads, rows, self.head).transpose(0, 1).reshape(rows, -1))
        normal = self.norm2(x)
        return x + self.outer(F.silu(self.gate(normal)) * self.inner(normal))


class Decoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape["vocab_size"], shape["d_model"])
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape["layers"]))
        self.norm = Norm(shape["d_model"])
        head = shape["d_model"] // shape["heads"]
        frequencies = shape["rotary_base"] ** (-torch.arange(0, head, 2).double() / head)
        angles = (torch.arange(4096)[:, None] * frequencies[None]).repeat(1, 2)
        self.cosines, self.sines = angles.cos().float(), angles.sin().float()

    def forward(self, ids, place=0, caches=None):
        x, rows = self.embedding(ids), slice(place, place + len(ids))
        mask = torch.ones(len(ids), len(ids)).triu(1).bool() if caches is None else None
        for number, layer in enumerate(self.layers):
            x = layer(x, self.cosines[rows], self.sines[rows], mask, None if caches is None else (place, *caches[number]))
        return self.norm(x) @ self.embedding.weight.t()


def timed(action, repeat):
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def published_decoder(shape):
    """Returns the model of the package transformers, and a function from ids to logits."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=shape["d_model"], num_hidden_layers=shape["layers"], intermediate_size=shape["d_ff"],
        num_attention_heads=shape["heads"], num_key_value_heads=shape["key_heads"], vocab_size=shape["vocab_size"],
        rope_theta=shape["rotary_base"], tie_word_embeddings=True, attn_implementation="sdpa"))
    return model, lambda ids: model(ids[None], use_cache=False).logits[0]


def torch_side(arguments, shape):
    """Runs PyTorch in a process of its own, so that its memory can be measured."""
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if transformers:
        model, logits = published_decoder(shape)
    else:
        model = logits = Decoder(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **torch_cpu.fused_adam())
    ids = torch.randint(3, shape["vocab_size"], (arguments.tokens + 1,))
    loss = lambda ids: F.cross_entropy(logits(ids[:-1]), ids[1:])
    if arguments.compile:
        loss = torch.compile(loss)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(ids).backward()
        optimizer.step()

    seconds = timed(step, arguments.repeat)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    result = {"step_seconds": seconds, "peak_bytes": peak, "torch": torch.__version__,
              "model": "transformers" if transformers else "written", **torch_cpu.matmul_record()}
    if arguments.decode:
        result["decode_tokens_per_second"] = torch_decode(arguments, shape, Decoder(shape))
    print(json.dumps(result))


def torch_decode(arguments, shape, model):
    head = shape["d_model"] // shape["heads"]
    room = arguments.tokens
    caches = [[torch.randn(shape["key_heads"], room, head) for _ in range(2)] for _ in model.layers]
    with torch.inference_mode():
        def decode():
            for place in range(room - arguments.decode, room):
                model(torch.tensor([3]), place, caches).argmax(-1)

        return arguments.decode / timed(decode, 1)


def heddle_side(arguments, artifacts):
    """Returns the decoded tokens per second for each weight format, and the seconds of a training step."""
    def seconds(weights, entry, repeat):
        words = [arguments.bin / "heddle-run", "bench", artifacts[weights], "--entry", entry, "--repeat",
                 str(repeat), "--ceilings", "none", "--sequences", "1", "--json"]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(done.stdout)["entries"][0]["median_seconds"]

    decode = {weights: 1 / seconds(weights, "decode_step", max(arguments.repeat, arguments.decode)) for weights in artifacts
              if arguments.decode}
    return {"step_seconds": seconds("f32", "train_step", arguments.repeat), "decode": decode}


def ask_torch(arguments, *flags):
    words = [f"--{name}={getattr(arguments, name)}" for name in ("tokens", "layers", "repeat", "decode", "threads")]
    done = subprocess.run([sys.executable, __file__, "--torch", *words, *flags], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of heddle-compile and heddle-run")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--layers", type=int, default=SHAPE["layers"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="timed steps of each side a round, of which the median counts")
    parser.add_argument("--decode", type=int, default=16, help="tokens to decode; 0: only training")
    parser.add_argument("--compile", action="store_true", help="time torch.compile as well (PyTorch 2 with a C++ compiler)")
    parser.add_argument("--target", default="native", help="of Heddle")
    parser.add_argument("--moments", default="f32", help="of Heddle's training: the format of Adam's moments")
    parser.add_argument("--recompute", default="cheap", help="of Heddle's training")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both sides")
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = {**SHAPE, "layers": arguments.layers}
    if arguments.torch:
        torch_side(arguments, shape)
        return
    os.environ["HEDDLE_THREADS"] = str(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "model.weft"
        artifacts = {name: Path(folder) / f"{name}.heddle" for name in ("f32", "int8", "int4")[:3 if arguments.decode else 1]}
        text.write_text("use llama\n")
        settings = {**shape, "max_tokens": arguments.tokens, "max_length": arguments.tokens, "max_sequences": 1}
        report = Path(folder) / "report.json"
        for weights, artifact in artifacts.items():
            trained = [f"--report={report}", f"--moments={arguments.moments}", f"--recompute={arguments.recompute}"]
            kept = trained if weights == "f32" else [f"--weights={weights}"]
            subprocess.run([arguments.bin / "heddle-compile", text, "-o", artifact, f"--target={arguments.target}", *kept,
                            *(f"--set={key}={value}" for key, value in settings.items())], check=True, stdout=subprocess.DEVNULL)
        (memory,) = (entry["memory_bytes"] for entry in json.loads(report.read_text()) if entry["entry"] == "train_step")
        rounds = []
        for number in range(1, arguments.rounds + 1):
            heddle = heddle_side(arguments, artifacts)
            ours, decode = heddle["step_seconds"], heddle["decode"]
            other = ask_torch(arguments)
            figures = {"heddle": ours, "torch": other["step_seconds"], "times": ours / other["step_seconds"],
                       "matmul_gflops": other["matmul_gflops"], "torch_peak_bytes": other["peak_bytes"]}
            said = "round {}: a step takes Heddle {heddle:.2f} s, PyTorch {torch:.2f} s, {times:.2f} times"
            if arguments.compile:
                compiled = ask_torch(arguments, "--compile", "--decode=0")["step_seconds"]
                figures.update(torch_compiled=compiled, times_compiled=ours / compiled)
                said += ", torch.compile {torch_compiled:.2f} s, {times_compiled:.2f} times"
            if decode:
                theirs = other["decode_tokens_per_second"]
                figures.update(decode=decode["f32"], torch_decode=theirs, decode_ratio=decode["f32"] / theirs,
                               int8=decode["int8"] / decode["f32"], int4=decode["int4"] / decode["f32"])
                said += ("; tokens decoded a second {decode:.1f} and {torch_decode:.1f}, ratio {decode_ratio:.2f}; with weights of int8 "
                         "{int8:.2f} and of int4 {int4:.2f} times as many as with f32")
            rounds.append(figures)
            print(said.format(number, **figures), file=sys.stderr, flush=True)
    median = {key: statistics.median(item[key] for item in rounds) for key in rounds[0]}
    print(json.dumps({"shape": shape, "tokens": arguments.tokens, "moments": arguments.moments, "recompute": arguments.recompute,
                      "heddle_memory_bytes": memory,
                      "memory_ratio": memory / median["torch_peak_bytes"], "torch": other["torch"], "model": other["model"], "blas": other["blas"], "median": median,
                      "rounds": rounds}))


if __name__ == "__main__":
    main()
