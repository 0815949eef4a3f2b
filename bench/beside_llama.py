#!/usr/bin/env python3
"""Times decoding one sequence on a processor, or reading a prompt: Heddle and llama.cpp (the package xllamacpp), in
turns.

    python3 bench/beside_llama.py FILE.gguf [--weights int8|int4] [--target NAME] [--threads N] [--rounds N] [--tokens N]
                                  [--sequences N...] [--prompt FILE | --after FILE] [--llama-bench PROGRAM]

Run it with a Python that has xllamacpp, or name a llama-bench that was built for this processor, which is llama.cpp at
its best; its prompts are random tokens, as many as the file has words. Prints milliseconds per token, or with --prompt milliseconds for the file's
text as a prompt. With --after, tokens come after the file's text, so that caches are long. llama.cpp's times come from its own clock. Heddle's come from the arrival of the pieces of `generate
--stream`; a prompt's time ends with the first token of the answer. Prints a line per round, then medians with range and
ratio."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROMPT = "Once upon a time"


def llama_bench(arguments):
    """Returns milliseconds by llama.cpp's own benchmark."""
    prompt, tokens = (len(arguments.text.split()), 0) if arguments.text else (0, arguments.tokens)
    depth = len(arguments.context.split()) if arguments.after else 0
    said = subprocess.run([arguments.llama_bench, "-m", arguments.file, "-t", str(arguments.threads), "-p", str(prompt), "-n", str(tokens), "-r", "1",
                           "-d", str(depth), "-o", "json"], capture_output=True, text=True, check=True).stdout
    return 1000 / json.loads(said)[0]["avg_ts"] * (prompt or 1)


def llama(arguments):
    """Runs llama.cpp in a process of its own, as the library keeps its threads. Returns milliseconds."""
    script = f"""
import json, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = {arguments.file!r}
p.n_parallel, p.n_ctx = 1, {arguments.rows}
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = {arguments.threads}
answer = xllamacpp.Server(p).handle_completions(
    {{"prompt": {arguments.text or arguments.context!r}, "n_predict": {1 if arguments.text else arguments.tokens}, "temperature": 0, "cache_prompt": False}})
print("TIMINGS" + json.dumps((answer if isinstance(answer, dict) else json.loads(answer))["timings"]))"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    timings = json.loads(said[said.index("TIMINGS") + len("TIMINGS"):].splitlines()[0])
    return timings["prompt_ms" if arguments.text else "predicted_per_token_ms"]


def heddle(arguments, artifact):
    """Returns Heddle's milliseconds, measured by when the pieces of the answer arrive: first the prompt itself, then
    the tokens. A short line precedes the long prompt."""
    lines = [PROMPT, arguments.text] if arguments.text else [arguments.context]
    process = subprocess.Popen([f"{arguments.bin}/heddle-run", "generate", artifact, "--checkpoint", arguments.file, "--tokens",
                                str(2 if arguments.text else arguments.tokens), "--threads", str(arguments.threads), "--stream"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write("".join(line + "\n" for line in lines).encode())
    process.stdin.close()
    times = []
    while piece := os.read(process.stdout.fileno(), 1 << 20):
        if piece != b"\n":
            times.append(time.monotonic())
    if process.wait() != 0:
        sys.exit("heddle-run failed")
    if arguments.text: # the prompt, and two tokens after it
        return (times[-2] - times[-3]) * 1000
    if len(times) < arguments.tokens * 0.9:
        sys.exit(f"the answer has {len(times)} pieces, and {arguments.tokens} tokens were asked for")
    return (times[-1] - times[1]) / (len(times) - 2) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--weights", choices=("int8", "int4"))
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=72)
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 128], help="max_sequences of the artifacts")
    parser.add_argument("--llama-bench", help="a program of llama.cpp's, instead of the package xllamacpp")
    parser.add_argument("--prompt", help="a text of at most 1,900 tokens, whose line ends become spaces")
    parser.add_argument("--after", help="a text of at most 1,900 tokens, whose line ends become spaces")
    arguments = parser.parse_args()
    read = lambda path: " ".join(open(path, encoding="utf-8").read().split())
    arguments.text = read(arguments.prompt) if arguments.prompt else ""
    arguments.context = read(arguments.after) if arguments.after else PROMPT
    arguments.rows = 2048 if arguments.after or len(arguments.text.split()) > 350 else 512 # of caches
    with tempfile.TemporaryDirectory() as folder:
        measures = {"llama.cpp": lambda: (llama_bench if arguments.llama_bench else llama)(arguments)}
        for count in arguments.sequences:
            artifact = f"{folder}/{count}.heddle"
            subprocess.run([f"{arguments.bin}/heddle-compile", arguments.file, f"--target={arguments.target}", "--entries=inference", f"--max-sequences={count}",
                            f"--max-tokens={arguments.rows}", "-o", artifact, *([f"--weights={arguments.weights}"] if arguments.weights else [])],
                           check=True, capture_output=True)
            measures[f"Heddle, for {count}"] = lambda artifact=artifact: heddle(arguments, artifact)
        times = {name: [] for name in measures}
        for _ in range(arguments.rounds):
            for name, measure in measures.items():
                times[name].append(measure())
            print(", ".join(f"{name} {all[-1]:.1f}" for name, all in times.items()), flush=True)
    peer = statistics.median(times["llama.cpp"])
    for name, all in times.items():
        print(f"{name}: {statistics.median(all):.1f} ms{'' if arguments.text else ' a token'} ({min(all):.1f} to {max(all):.1f}), ratio {peer / statistics.median(all):.2f}")


if __name__ == "__main__":
    main()
