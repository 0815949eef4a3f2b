#!/usr/bin/env python3
"""Measures tokens per second over HTTP (`heddle-run serve`), beside `heddle-run generate` on the same lines, and of
several clients beside one.

    python3 bench/serve.py FILE.gguf|FOLDER [--weights int8|int4] [--tokens N] [--lines N] [--clients N] [--rounds N] [--threads N]

Each round times, in turns: `generate` on all lines, as many clients as the model's batch holds on the same lines, one
client, and N clients. `generate` is timed from its first answer to its last, so that loading does not count; clients
from their first request. The clients run in a second process of this script."""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROMPTS = ["Once upon a time", "One day a girl", "The big red ball", "There was a dog", "Lily went to", "Tom liked to play", "In the park", "Mom said"]


def clients(port, lines, tokens, count):
    """Prints tokens per second, and the median and longest time to a first token, for `count` clients that share the
    lines."""
    answered, first, lock = [0], [], threading.Lock()
    left = list(enumerate(lines))

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                if not left:
                    return
                _, line = left.pop()
            begin = time.monotonic()
            connection.request("POST", "/v1/completions", json.dumps({"prompt": line, "max_tokens": tokens, "temperature": 0}))
            answer = json.loads(connection.getresponse().read())
            with lock:
                answered[0] += answer["usage"]["completion_tokens"]
                first.append(time.monotonic() - begin)

    threads = [threading.Thread(target=work) for _ in range(count)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"rate": answered[0] / (time.monotonic() - begin), "seconds": statistics.median(first)}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--weights")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--lines", type=int, default=64)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--as-clients", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lines = [f"{PROMPTS[i % len(PROMPTS)]}{' and' * (i // len(PROMPTS) % 4)}" for i in range(arguments.lines)]
    if arguments.as_clients:
        port, count = map(int, arguments.as_clients.split(","))
        return clients(port, lines, arguments.tokens, count)
    folder = tempfile.mkdtemp()
    artifact, prompts = f"{folder}/model.heddle", f"{folder}/prompts.txt"
    with open(prompts, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    subprocess.run([f"{arguments.bin}/heddle-compile", arguments.file, "--entries=inference", "--set", "max_tokens=4096", "--set",
                    f"max_sequences={arguments.sequences}", *([f"--weights={arguments.weights}"] if arguments.weights else []), "-o", artifact],
                   check=True, stderr=subprocess.DEVNULL)
    flags = [artifact, "--checkpoint", arguments.file, "--threads", str(arguments.threads)]
    log = open(f"{folder}/log", "w+", encoding="utf-8")
    server = subprocess.Popen([f"{arguments.bin}/heddle-run", "serve", *flags, "--port=0"], stderr=log)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", open(f"{folder}/log", encoding="utf-8").read())):
            if server.poll() is not None:
                sys.exit(open(f"{folder}/log", encoding="utf-8").read())
            time.sleep(0.1)

        def over_http(count):
            said = subprocess.run([sys.executable, __file__, *sys.argv[1:], f"--as-clients={found[1]},{count}"], capture_output=True, text=True, check=True)
            return json.loads(said.stdout)["rate"]

        def by_generate():
            """Times a run with all tokens and a run with one token per line, which is mostly loading: the difference
            counts."""
            def seconds(tokens):
                begin = time.monotonic()
                with open(prompts, encoding="utf-8") as file:
                    said = subprocess.run([f"{arguments.bin}/heddle-run", "generate", *flags, "--json", "--tokens", str(tokens)], stdin=file,
                                          capture_output=True, text=True, check=True)
                return time.monotonic() - begin, sum(json.loads(line)["tokens"] for line in said.stdout.splitlines())
            (none, few), (all_, many) = seconds(1), seconds(arguments.tokens)
            return (many - few) / (all_ - none)

        rounds = []
        for _ in range(arguments.rounds):
            rounds.append((by_generate(), over_http(arguments.sequences), over_http(1), over_http(arguments.clients)))
            print("  ".join(f"{name} {rate:8.0f}" for name, rate in zip(("generate", "http", "1 client", f"{arguments.clients} clients"), rounds[-1])), flush=True)
        middle = [statistics.median(column) for column in zip(*rounds)]
        print(f"tokens/s, medians: generate {middle[0]:.0f}, http {middle[1]:.0f} ({middle[1] / middle[0]:.2f}), "
              f"1 client {middle[2]:.0f}, {arguments.clients} clients {middle[3]:.0f} ({middle[3] / middle[2]:.1f} times)")
    finally:
        server.terminate()
        server.wait()


main()
