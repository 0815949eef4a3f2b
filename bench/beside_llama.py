#!/usr/bin/env python3
"""Decoding one sequence on a processor, Heddle beside llama.cpp (the package xllamacpp), in turns.

    python3 bench/beside_llama.py FILE.gguf [--weights int8|int4] [--threads N] [--rounds N] [--tokens N] [--sequences N...]

The Python is one that has xllamacpp. Prints milliseconds a token: of llama.cpp by its own clock, without the prompt; of Heddle
the time of a long answer less that of a short one. One line a round, then medians with their range and ratio."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROMPT, SHORT = "Once upon a time", 8


def llama(arguments):
    """In a process of its own, as the library keeps its threads."""
    script = f"""
import json, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = {arguments.file!r}
p.n_parallel, p.n_ctx = 1, 512
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = {arguments.threads}
answer = xllamacpp.Server(p).handle_completions({{"prompt": {PROMPT!r}, "n_predict": {arguments.tokens}, "temperature": 0, "cache_prompt": False}})
print("TIMINGS" + json.dumps((answer if isinstance(answer, dict) else json.loads(answer))["timings"]))"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return json.loads(said[said.index("TIMINGS") + len("TIMINGS"):].splitlines()[0])["predicted_per_token_ms"]


def heddle(arguments, artifact):
    seconds = []
    for tokens in (SHORT, arguments.tokens):
        begin = time.monotonic()
        said = subprocess.run([f"{arguments.bin}/heddle-run", "generate", artifact, "--checkpoint", arguments.file, "--tokens", str(tokens),
                               "--threads", str(arguments.threads), "--json"], input=PROMPT + "\n", capture_output=True, text=True, check=True)
        seconds.append(time.monotonic() - begin)
        if json.loads(said.stdout)["tokens"] != tokens:
            sys.exit(f"the answer ends before {tokens} tokens")
    return (seconds[1] - seconds[0]) / (arguments.tokens - SHORT) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--weights", choices=("int8", "int4"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=72)
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 128], help="max_sequences of the artifacts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measures = {"llama.cpp": lambda: llama(arguments)}
        for count in arguments.sequences:
            artifact = f"{folder}/{count}.heddle"
            subprocess.run([f"{arguments.bin}/heddle-compile", arguments.file, "--target=native", "--entries=inference", f"--max-sequences={count}",
                            "--max-tokens=512", "-o", artifact, *([f"--weights={arguments.weights}"] if arguments.weights else [])],
                           check=True, capture_output=True)
            measures[f"Heddle, for {count}"] = lambda artifact=artifact: heddle(arguments, artifact)
        times = {name: [] for name in measures}
        for _ in range(arguments.rounds):
            for name, measure in measures.items():
                times[name].append(measure())
            print(", ".join(f"{name} {all[-1]:.1f}" for name, all in times.items()), flush=True)
    peer = statistics.median(times["llama.cpp"])
    for name, all in times.items():
        print(f"{name}: {statistics.median(all):.1f} ms a token ({min(all):.1f} to {max(all):.1f}), ratio {peer / statistics.median(all):.2f}")


if __name__ == "__main__":
    main()
