#!/usr/bin/env python3
"""Measures tokens per second over HTTP (`heddle-run serve`): beside `heddle-run generate` on the same lines, of several
clients beside one, and beside llama.cpp's server; and the time to a first token while other clients are answered.

    python3 bench/serve.py FILE.gguf|FOLDER [--weights int8|int4] [--tokens N] [--lines N] [--clients N] [--rounds N] [--threads N]
                           [--target NAME] [--llama]

Each round times, in turns: `generate` on all lines, as many clients as the model's batch holds on the same lines, one
client on its share of an N-th of them, N clients, and with --llama one client and N clients of llama.cpp's server (run this with a Python that has the
package xllamacpp). `generate` is timed from the first line to the last answer, after an answer to another line, so that
loading does not count; clients from their first request. Answers of one client and of N clients have --tokens tokens each, whatever the model
says; those beside `generate` end where its do. The clients run in a second process of this script, in one thread. Beside the rates there is the CPU time that
`generate` and the server take for a token; it does not depend on the clients.

A first token is timed with N - 1 clients at work and without; the difference is given in steps of N sequences."""

import argparse
import glob
import http.client
import json
import re
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROMPTS = ["Once upon a time", "One day a girl", "The big red ball", "There was a dog", "Lily went to", "Tom liked to play", "In the park", "Mom said"]

LLAMA = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_parallel, p.port = sys.argv[1], int(sys.argv[2]), 0
p.n_ctx = 512 * p.n_parallel
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(sys.argv[3])
server = xllamacpp.Server(p)
print(server.listening_address, file=sys.stderr, flush=True)
while True:
    time.sleep(1000)"""


class Load:
    """Clients that share the lines, each with a connection. One thread waits for all of them and does no more for an answer than to find its tokens. With a
    thread for each client, http.client and json, eight clients spend a tenth of the time in Python. End marks end an answer only if `ends` is true."""

    def __init__(self, port, lines, tokens, count, ends=False):
        self.tokens, self.left, self.answered = tokens, list(lines), 0
        self.more = {} if ends else {"ignore_eos": True}
        self.clients = {}
        self.poll = select.epoll()
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.poll.register(client, select.EPOLLIN)
            self.clients[client.fileno()] = [client, b""]
        self.requests = [self.request(line) for line in self.left]
        self.begin = time.monotonic()
        for number in list(self.clients):
            self.ask(number)
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def request(self, line):
        body = json.dumps(body_of(line, self.tokens, **self.more)).encode()
        return b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def ask(self, number):
        """Sends the client's next request. Without one, the client leaves."""
        try:
            self.left.pop()
            self.clients[number] = [self.clients[number][0], b""]
            self.clients[number][0].sendall(self.requests.pop())
        except IndexError:
            self.clients.pop(number)[0].close()

    def work(self):
        while self.clients:
            for number, _ in self.poll.poll():
                client = self.clients[number]
                piece = client[0].recv(1 << 16)
                if not piece:  # `rate` finds the client that is left
                    return
                client[1] += piece
                if is_whole(client[1]):
                    self.answered += int(re.search(rb'"completion_tokens":\s*(\d+)', client[1])[1])
                    self.ask(number)

    def rate(self):
        self.thread.join()
        if self.clients:
            sys.exit(f"{len(self.clients)} clients have no answer: the server closed a connection, or its answer has no tokens")
        return self.answered / (time.monotonic() - self.begin)


def is_whole(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length:\s*(\d+)", head)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


def body_of(line, tokens, **more):
    return {"prompt": line, "max_tokens": tokens, "temperature": 0, **more}


def ask(connection, line, tokens, **more):
    connection.request("POST", "/v1/completions", json.dumps(body_of(line, tokens, **more)))
    return connection.getresponse()


def first_token(port, probes):
    """Returns the median time to a first token, in seconds, of different prompts."""
    times = []
    for i in range(probes):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        begin = time.monotonic()
        answer = ask(connection, f"{i} sheep and {i} dogs", 4, stream=True)
        answer.readline()
        times.append(time.monotonic() - begin)
        answer.read()
        connection.close()
    return statistics.median(times)


def as_clients(port, lines, tokens, count, ends=False):
    """Prints tokens per second, and the tokens."""
    load = Load(port, lines, tokens, count, ends)
    print(json.dumps({"rate": load.rate(), "tokens": load.answered}))


def as_readers(port, lines, tokens, count):
    """Prints tokens per second of answers that end where those of `generate` do."""
    as_clients(port, lines, tokens, count, ends=True)


def as_probe(port, lines, tokens, count):
    """Prints the times to a first token without and with `count` - 1 clients at work."""
    alone = first_token(port, 20)
    load = Load(port, lines * 100, tokens, count - 1)
    time.sleep(0.3)
    beside = first_token(port, 20)
    load.left.clear()
    load.rate()
    print(json.dumps({"alone": alone, "beside": beside}))


def processor_seconds(pid):
    """The CPU time of a process's threads so far, in seconds."""
    return sum(int(open(file, encoding="ascii").read().split()[0]) for file in glob.glob(f"/proc/{pid}/task/*/schedstat")) / 1e9


class Server:
    def __init__(self, command, log, address=r"http://127\.0\.0\.1:(\d+)"):
        said = open(log, "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL)
        while not (found := re.search(address, open(log, encoding="utf-8", errors="replace").read())):
            if self.process.poll() is not None:
                sys.exit(open(log, encoding="utf-8", errors="replace").read())
            time.sleep(0.1)
        self.port = found[1]

    def measure(self, what, count):
        said = subprocess.run([sys.executable, __file__, *sys.argv[1:], f"--as={what},{self.port},{count}"], capture_output=True, text=True, check=True)
        return json.loads(said.stdout)

    def rate(self, count):
        return self.measure("clients", count)["rate"]

    def end(self):
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--weights")
    parser.add_argument("--target", default="native")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--lines", type=int, default=64)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--llama", action="store_true")
    parser.add_argument("--as", dest="role", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lines = [f"{PROMPTS[i % len(PROMPTS)]}{' and' * (i // len(PROMPTS) % 4)}" for i in range(arguments.lines)]
    if arguments.role:
        role, port, count = arguments.role.split(",")
        lines = lines[:-(-len(lines) // arguments.clients)] if count == "1" else lines
        return {"clients": as_clients, "readers": as_readers, "probe": as_probe}[role](int(port), lines, arguments.tokens, int(count))
    folder = tempfile.mkdtemp()
    artifact = f"{folder}/model.heddle"
    subprocess.run([f"{arguments.bin}/heddle-compile", arguments.file, f"--target={arguments.target}", "--entries=inference", "--set", "max_tokens=4096", "--set",
                    f"max_sequences={arguments.sequences}", *([f"--weights={arguments.weights}"] if arguments.weights else []), "-o", artifact],
                   check=True, stderr=subprocess.DEVNULL)
    flags = [artifact, "--checkpoint", arguments.file, "--threads", str(arguments.threads)]

    costs = {"generate": [], "http": []} # CPU seconds per token

    def by_generate():
        with subprocess.Popen([f"{arguments.bin}/heddle-run", "generate", *flags, "--json", "--tokens", str(arguments.tokens)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            process.stdin.write("A first line\n")
            process.stdin.flush()
            process.stdout.readline()
            begin, before = time.monotonic(), processor_seconds(process.pid)
            process.stdin.write("".join(line + "\n" for line in lines))
            process.stdin.flush()
            count = sum(json.loads(process.stdout.readline())["tokens"] for _ in lines)
            took = time.monotonic() - begin
            costs["generate"].append((processor_seconds(process.pid) - before) / count)
        return count / took

    def by_http():
        before = processor_seconds(heddle.process.pid)
        said = heddle.measure("readers", arguments.sequences)
        costs["http"].append((processor_seconds(heddle.process.pid) - before) / said["tokens"])
        return said["rate"]

    servers = [Server([f"{arguments.bin}/heddle-run", "serve", *flags, "--port=0"], f"{folder}/log")]
    try:
        heddle, several = servers[0], f"{arguments.clients} clients"
        measures = {"generate": by_generate, "http": by_http, "1 client": lambda: heddle.rate(1),
                    several: lambda: heddle.rate(arguments.clients)}
        if arguments.llama:
            servers.append(Server([sys.executable, "-c", LLAMA, arguments.file, str(arguments.clients), str(arguments.threads)], f"{folder}/llama"))
            measures.update({f"llama.cpp {name}": lambda count=count: servers[1].rate(count) for name, count in (("1", 1), (several, arguments.clients))})
        rates, probes = {name: [] for name in measures}, []
        for _ in range(arguments.rounds):
            for name, measure in measures.items():
                rates[name].append(measure())
            probes.append(heddle.measure("probe", arguments.clients))
            print("  ".join(f"{name} {all[-1]:.0f}" for name, all in rates.items()), flush=True)
        middle = {name: statistics.median(all) for name, all in rates.items()}
        ratio = lambda one, other: f"{middle[one] / middle[other]:.2f} ({min(a / b for a, b in zip(rates[one], rates[other])):.2f} to {max(a / b for a, b in zip(rates[one], rates[other])):.2f})"
        print("tokens/s, medians: " + ", ".join(f"{name} {rate:.0f}" for name, rate in middle.items()))
        print(f"http beside generate {ratio('http', 'generate')}, {several} beside 1 {ratio(several, '1 client')}")
        print("CPU time per token, medians: " + ", ".join(f"{name} {statistics.median(all) * 1000:.3f} ms" for name, all in costs.items()))
        if arguments.llama:
            print(f"beside llama.cpp: 1 client {ratio('1 client', 'llama.cpp 1')}, {several} {ratio(several, f'llama.cpp {several}')}")
        alone, beside = (statistics.median(probe[key] for probe in probes) for key in ("alone", "beside"))
        step = arguments.clients / middle[several]
        print(f"first token: {alone * 1000:.1f} ms alone, {beside * 1000:.1f} ms beside {arguments.clients - 1} clients: {(beside - alone) / step:.1f} steps more")
    finally:
        for server in servers:
            server.end()


main()
