#!/usr/bin/env python3
"""Checks and measures Heddle's bf16 kernels on a GPU, and PyTorch's beside them, from a pack of `bench/gpu-pack.sh
--preset=lease`. bench/gpu-lease.sh runs it. Needs PyTorch with a GPU; the rows of ncu and compute-sanitizer need these
tools.

Part 1: the device's ceilings; attention compared with f32 arithmetic in PyTorch; times of attention, matmuls and
transformer-big's step, each in the order Heddle, PyTorch, Heddle; ncu's counters for the attention kernels. Part 2:
compute-sanitizer; transformer-base. PyTorch's step is a CUDA graph, without torch.compile.

Each row is appended to OUT/lease.jsonl as soon as it is measured: part, what, variant, milliseconds (median of n; the
smallest), error (relative norm, against f32), peer and its milliseconds, ratio (above 1: Heddle is faster), the SM
clock in MHz, result (ok, FAIL, absent, 'cut off'). Exit code: 0, all rows are ok or absent; 1, some row is not."""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import torch_cuda

PACK = Path(__file__).resolve().parent.parent
BACKENDS = {"cuDNN": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"} # names of torch.nn.attention.SDPBackend
# Relative norm of the error of a bf16 result with bf16 operands: each rounding adds up to 2^-9, and a backward pass has
# five.
LARGEST_ERROR = 8e-3
LONGEST_SANITIZED = 512  # tokens; shapes this short are not timed on a GPU


class Lease:
    def __init__(self, arguments):
        self.part, self.device, self.repeat, self.out = arguments.part, arguments.device, arguments.repeat, arguments.out
        self.match = re.compile(arguments.match)
        self.deadline = time.monotonic() + 60 * arguments.minutes
        self.failures = 0
        self.torch_device = torch.device(arguments.torch_device)
        self.rows = open(self.out / "lease.jsonl", "a", encoding="utf-8")
        revision = PACK / "revision"
        self.revision = revision.read_text(encoding="utf-8").strip() if revision.exists() else ""

    def left(self):
        return self.deadline - time.monotonic()

    def row(self, what, variant="", result="ok", **values):
        clock = tool(["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"])
        row = {"revision": self.revision, "part": self.part, "what": what, "variant": variant, "result": result, **values,
               "clock": clock and clock.split()[0], "date": datetime.datetime.now(datetime.timezone.utc).isoformat()[:19]}
        self.rows.write(json.dumps(row) + "\n")
        self.rows.flush()
        self.failures += result in ("FAIL", "cut off")
        shown = ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                          for key, value in values.items())
        print(f"{what:44} {variant:12} {result:8} {shown}", flush=True)

    def run(self, *command, **options):
        return subprocess.run(command, check=True, text=True, capture_output=True, timeout=max(1, self.left()), **options)

    def heddle(self, *arguments):
        return self.run(str(PACK / "heddle-run"), *map(str, arguments), f"--device={self.device}").stdout


def tool(command):
    try:
        return subprocess.run(command, check=True, text=True, capture_output=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def artifacts(lease, prefix):
    """Yields pairs of a benchmark's name and its artifacts by variant: NAME.heddle, NAME@VARIANT.heddle."""
    found = {}
    for path in sorted((PACK / "bench").glob(f"{prefix}*.heddle")):
        name, _, variant = path.stem.partition("@")
        if lease.match.search(path.stem):
            found.setdefault(name, {})[variant or "default"] = path
    return sorted(found.items())


def attention_shape(name):
    tokens, heads, width, mask = re.fullmatch(r"attention-(\d+)x(\d+)x(\d+)-(full|causal)-bf16", name).groups()
    return int(tokens), int(heads), int(width), mask == "causal"


def relative(result, expected):
    """Returns the norm of the error divided by the norm of the expected values; infinity if a value is not finite or
    the shapes differ."""
    result = torch.as_tensor(result, device=expected.device, dtype=torch.float32)
    if result.shape != expected.shape or not torch.isfinite(result).all():
        return float("inf")
    return float((result - expected).norm() / expected.norm())


def check_attention(lease, name, variant, artifact, length):
    """Checks both passes on random values of `length` tokens against f32 arithmetic on the inputs rounded to bf16."""
    tokens, heads, width, causal = attention_shape(name)
    torch.manual_seed(length)
    draw = lambda *shape: torch.randn(shape, device=lease.torch_device).to(torch.bfloat16).float()
    query, key, value, gradient = (draw(length, heads * width) for _ in range(4))
    weight = draw(heads * width, 16)
    split = lambda t: t.view(length, heads, width).transpose(0, 1).contiguous().requires_grad_()
    q, k, v = split(query), split(key), split(value)
    joined = lambda t: t.transpose(0, 1).reshape(length, heads * width)
    mask = torch.ones(length, length, dtype=torch.bool, device=q.device).tril() if causal else None
    scores = q @ k.transpose(1, 2) / width**0.5
    if causal:
        scores = scores.masked_fill(~mask, float("-inf"))
    sums = torch.logsumexp(scores, -1)
    result = torch.softmax(scores, -1) @ v
    result.backward(split(gradient))
    rounded = joined(result.detach()).to(torch.bfloat16).float()
    expected = {"y": joined(result.detach()) @ weight, "log_sum_exp": sums.detach().t().contiguous(),
                **{name: joined(t.grad) @ weight for name, t in (("dq", q), ("dk", k), ("dv", v))}}
    inputs = {"q": query, "k": key, "v": value, "w": weight, "g": gradient, "r": rounded,
              "log_sum_exp": expected["log_sum_exp"]}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for what, tensor in inputs.items():
            np.save(folder / f"{what}.npy", tensor.cpu().numpy())
        np.save(folder / "source_starts.npy", np.array([0], np.int32))
        np.save(folder / "source_lengths.npy", np.array([length], np.int32))
        errors = {}
        for entry, given, results in (("forward", "qkvw", ("y", "log_sum_exp")), ("backward", "qkvwgr", ("dq", "dk", "dv"))):
            flags = [f"--input={what}=@{folder / what}.npy" for what in (*given, "source_starts", "source_lengths")]
            if entry == "backward":
                flags.append(f"--input=log_sum_exp=@{folder / 'log_sum_exp'}.npy")
            flags += [f"--output={what}=@{folder / what}.out.npy" for what in results]
            lease.heddle("call", artifact, "--entry", entry, *flags)
            for what in results:
                errors[what] = relative(np.load(folder / f"{what}.out.npy"), expected[what])
    worst = max(errors, key=errors.get)
    lease.row(f"{name} of {length}", variant, "ok" if errors[worst] < LARGEST_ERROR else "FAIL", error=errors[worst],
              of=worst, bound=LARGEST_ERROR)


def time_heddle(lease, artifact, entry, kernels=None):
    """Returns milliseconds (median, smallest, n) of the kernels whose names begin with `kernels`, by the device's
    clock, or of whole calls."""
    said = lease.heddle("bench", artifact, "--entry", entry, "--repeat", lease.repeat, "--ceilings", "none", "--json")
    measured = json.loads(said[said.index("{"):])["entries"][0]
    if kernels:
        own = [kernel["seconds"] for kernel in measured["kernels"]
               if kernel["kernel"].startswith(kernels) and not kernel["kernel"].startswith("attention_delta")]
        if not own:
            raise ValueError(f"{entry} has no kernel {kernels}")
        return {"median": 1e3 * sum(own), "n": measured["profiled_calls"], "times": "kernels"}
    return {"median": 1e3 * measured["median_seconds"], "smallest": 1e3 * measured["minimum_seconds"],
            "n": measured["repeat"], "times": "calls"}


def compare(lease, what, variants, entry, kernels, peers):
    """Times Heddle, each peer, and Heddle again; Heddle's second row has the ratio to the fastest peer."""
    best, peer_name = float("inf"), ""
    for turn in (1, 2):
        for variant, artifact in variants.items():
            ours = time_heddle(lease, artifact, entry, kernels)
            beside = {"peer": peer_name, "peer_median": best, "ratio": best / ours["median"]} if turn == 2 and peer_name else {}
            lease.row(what, variant, turn=turn, **ours, **beside)
        for name, measure in peers.items() if turn == 1 else ():
            try:
                median = measure()
            except (RuntimeError, ValueError) as error:
                lease.row(what, name, "absent", why=str(error).splitlines()[0])
                continue
            lease.row(what, name, median=median)
            if median < best:
                best, peer_name = median, name


def attention_peers(lease, name, backward):
    from torch.nn.attention import SDPBackend, sdpa_kernel # PyTorch 2.3 or newer
    tokens, heads, width, causal = attention_shape(name)

    def measure(backend):
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch_cuda.median_ms(torch_cuda.attention(tokens, heads, width, torch.bfloat16, causal, backward),
                                        lease.repeat, torch_cuda.TOGETHER)
    return {name: lambda backend=backend: measure(backend) for name, backend in BACKENDS.items()}


def step_peers(lease, model):
    step = torch_cuda.training_step(PACK / "torch" / f"{model}.toml", torch.bfloat16)
    return {"graph": lambda: torch_cuda.median_ms(torch_cuda.graph_of(step), lease.repeat)}


def ceilings(lease):
    if lease.torch_device.type != "cuda":
        return
    source = torch.randn(1 << 29, device="cuda")
    target = torch.empty_like(source)
    copied = torch_cuda.median_ms(lambda: target.copy_(source), lease.repeat)
    lease.row("copy of 2 GiB", "PyTorch", median=copied, gigabytes_per_second=2 * source.nbytes / copied / 1e6)
    del source, target
    for extent in (4096, 8192):
        taken = torch_cuda.median_ms(torch_cuda.product(extent, torch.bfloat16), lease.repeat, torch_cuda.TOGETHER)
        lease.row(f"matmul-{extent}-bf16", "cuBLAS", median=taken, teraflops=2e-9 * extent**3 / taken)


def check_attentions(lease):
    for name, variants in artifacts(lease, "attention-"):
        for variant, artifact in variants.items():
            for length in sorted({33, 450, attention_shape(name)[0]}):
                if length <= attention_shape(name)[0]:
                    check_attention(lease, name, variant, artifact, length)


def time_attentions(lease):
    for name, variants in artifacts(lease, "attention-"):
        if attention_shape(name)[0] <= LONGEST_SANITIZED and lease.torch_device.type == "cuda":
            continue
        for entry in ("forward", "backward"):
            peers = attention_peers(lease, name, entry == "backward") if lease.torch_device.type == "cuda" else {}
            compare(lease, f"{name},{entry}", variants, entry, "attention", peers)


def time_matmuls(lease):
    for name, variants in artifacts(lease, "matmul-"):
        extent = int(name.split("-")[1])
        for entry in ("forward", "input_gradient", "weight_gradient"):
            peer = torch_cuda.product(extent, torch.bfloat16, entry)
            compare(lease, f"{name},{entry}", variants, entry, "matmul_truncf",
                    {"cuBLAS": lambda: torch_cuda.median_ms(peer, lease.repeat, torch_cuda.TOGETHER)})


def time_steps(lease, model):
    for name, variants in artifacts(lease, f"{model}-bf16"):
        compare(lease, f"{name},train_step", variants, "train_step", None, step_peers(lease, model))


def count_by_ncu(lease):
    """Records Nsight Compute's speed-of-light section and stall reasons of the attention kernels, as ncu prints
    them."""
    if not tool(["ncu", "--version"]):
        return lease.row("ncu", result="absent")
    for name, variants in artifacts(lease, "attention-"):
        if attention_shape(name)[0] <= LONGEST_SANITIZED or attention_shape(name)[3]:
            continue
        for entry in ("forward", "backward"):
            done = lease.run("ncu", "--clock-control", "none", "--csv", "--target-processes", "all", "--launch-count", "20",
                             "--set", "detailed", "--section", "WarpStateStats", "--section", "SourceCounters",
                             str(PACK / "heddle-run"), "bench", str(variants["default"]), "--entry", entry, "--repeat", "1", "--warmup", "0",
                             "--ceilings", "none", f"--device={lease.device}")
            with open(lease.out / "ncu.csv", "a", encoding="utf-8") as file:
                rows = [line + "\n" for line in done.stdout.splitlines() if line.startswith('"')]
                file.write(f"# {name},{entry}\n" + "".join(rows))
            lease.row(f"{name},{entry}", "ncu")


def sanitize(lease):
    """Checks memory accesses, races and barriers of short attentions with NVIDIA's tool, which is some hundred times
    slower."""
    if not tool(["compute-sanitizer", "--version"]):
        return lease.row("compute-sanitizer", result="absent")
    for name, variants in artifacts(lease, "attention-"):
        if attention_shape(name)[0] > LONGEST_SANITIZED:
            continue
        for checker in ("memcheck", "racecheck", "synccheck"):
            done = subprocess.run(["compute-sanitizer", "--target-processes", "all", "--tool", checker, "--error-exitcode", "9",
                                   str(PACK / "heddle-run"), "bench", str(variants["default"]), "--repeat", "1", "--warmup", "0",
                                   "--ceilings", "none", f"--device={lease.device}"],
                                  text=True, capture_output=True, timeout=max(1, lease.left()))
            (lease.out / f"{checker}-{name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
            lease.row(name, checker, "FAIL" if done.returncode else "ok")


PARTS = {1: [ceilings, check_attentions, time_attentions, time_matmuls, lambda lease: time_steps(lease, "transformer-big"),
             count_by_ncu],
         2: [sanitize, lambda lease: time_steps(lease, "transformer-base")]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, default=1, choices=sorted(PARTS))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--minutes", type=float, default=6, help="after which nothing new starts")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--match", default=".", help="a regular expression for benchmarks")
    parser.add_argument("--device", default="cuda", help="ours")
    parser.add_argument("--torch-device", default="cuda", help="PyTorch's; cpu is for tests")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch_cuda.DEVICE = arguments.torch_device
    torch.backends.cuda.matmul.allow_tf32 = False
    lease = Lease(arguments)
    name = torch.cuda.get_device_name() if arguments.torch_device == "cuda" else "no GPU"
    lease.row("machine", name, torch=torch.__version__)
    for work in PARTS[arguments.part]:
        try:
            if lease.left() <= 0:
                raise subprocess.TimeoutExpired("", 0)
            work(lease)
        except subprocess.TimeoutExpired:
            lease.row("the rest", result="cut off")
            break
        except (subprocess.CalledProcessError, OSError, ValueError, RuntimeError) as error:
            said = getattr(error, "stderr", "") or str(error)
            lease.row("a measurement", result="FAIL", why=" | ".join(said.strip().splitlines()[-3:]))
    print(f"{lease.failures} failed; {arguments.out / 'lease.jsonl'}")
    sys.exit(1 if lease.failures else 0)


if __name__ == "__main__":
    main()
