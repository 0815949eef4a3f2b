"""Tests heddle-run serve with a small model: greedy answers to many clients equal those of `generate`, requests survive
a reload, signals end it cleanly, bad clients do no harm, and the openai package works with it.
serve.py BIN MODELS

HEDDLE_LONG means more requests. The openai client is in build/openai beside BIN (python3 -m venv build/openai &&
build/openai/bin/pip install openai); without it that part is skipped, with a message."""
import atexit
import base64
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

BIN, MODELS = (os.path.abspath(path) for path in sys.argv[1:3])
LONG = bool(os.environ.get("HEDDLE_LONG"))
WORDS = "one two three four five six seven eight nine ten".split()
LM = [flag for size in ("d_model=32", "d_ff=64", "decoder_layers=1", "vocab_size=60", "max_length=400", "max_tokens=512", "cache_rows=1500",
                        "max_sequences=16", "warmup=50", "learning_rate=3e-3", "dropout=0.0", "attention_dropout=0.0")
      for flag in ("--set", size)]
TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}"


def fail(message):
    sys.exit("FAILED: " + message)


def run(*command, code=0, text=None):
    done = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True, text=True, input=text)
    if done.returncode != code:
        fail(f"{' '.join(command)} ends with {done.returncode}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


class Server:
    def __init__(self, *flags, port=0):
        self.log = open("serve.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([os.path.join(BIN, "heddle-run"), "serve", f"--port={port}", *flags], stderr=self.log)
        atexit.register(self.process.kill) # a failing test leaves no server behind
        self.port = int(self.wait_for(r"http://127\.0\.0\.1:(\d+)"))

    def said(self):
        with open("serve.log", encoding="utf-8") as file:
            return file.read()

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.said())):
            if time.monotonic() > end or self.process.poll() is not None:
                fail(f"the server does not say {pattern}: {self.said()}")
            time.sleep(0.02)
        return found[found.re.groups]

    def ask(self, method, path, body=None, headers=None, status=200):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != status:
            fail(f"{method} {path} {body} gives {answer.status}, not {status}: {text}")
        return json.loads(text) if answer.headers["Content-Type"] == "application/json" else text

    def complete(self, prompt, tokens, **more):
        return self.ask("POST", "/v1/completions", {"prompt": prompt, "max_tokens": tokens, "temperature": 0, **more})["choices"][0]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        if (code := self.process.wait(timeout=60)) != 0:
            fail(f"the server ends with {code}: {self.said()}")

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.ask("GET", "/metrics"), re.MULTILINE)[1])


def memory_of(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def make_model():
    source = random.Random(3)
    with open("train.txt", "w", encoding="ascii") as file:
        for _ in range(4000):
            first, count = source.randrange(10), source.randint(4, 9)
            file.write(" ".join(WORDS[(first + i) % 10] for i in range(count)) + "\n")
    run("heddle-compile", f"{MODELS}/text.toml", *LM, "-o", "lm.heddle")
    run("heddle-run", "train", "lm.heddle", "--text", "train.txt", "--checkpoint", "ck", "--steps", "120", "--seed", "1")


def check_many_clients(server):
    """Many concurrent clients get the same answers as each alone."""
    source = random.Random(5)
    count = 1000 if LONG else 120
    asked = [(" ".join(source.choice(WORDS) for _ in range(source.randint(1, 8))), source.randint(1, 12)) for _ in range(count)]
    alone = {}
    for tokens in {tokens for _, tokens in asked}:
        prompts = sorted({prompt for prompt, each in asked if each == tokens})
        answers = run("heddle-run", "generate", "lm.heddle", "--checkpoint", "ck", "--json", "--tokens", str(tokens),
                      text="".join(prompt + "\n" for prompt in prompts)).splitlines()
        alone.update({(prompt, tokens): json.loads(answer) for prompt, answer in zip(prompts, answers)})
    wrong, lock = [], threading.Lock()

    def work(part):
        for prompt, tokens in part:
            choice, expected = server.complete(prompt, tokens), alone[prompt, tokens]
            reason = "stop" if expected["finish"] == "end" else "length"
            if (choice["text"], choice["finish_reason"]) != (expected["completion"], reason):
                with lock:
                    wrong.append((prompt, tokens, choice, expected))

    clients = 64 if LONG else 16
    threads = [threading.Thread(target=work, args=(asked[i::clients],)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        fail(f"{len(wrong)} of {count} answers differ from generate's: {wrong[0]}")


def alone(prompt, tokens, artifact="lm.heddle"):
    said = run("heddle-run", "generate", artifact, "--checkpoint", "ck", "--json", "--tokens", str(tokens), text=prompt + "\n")
    return json.loads(said)["completion"]


def check_prefixes():
    """A conversation's turns compute only new tokens, requests side by side compute a common beginning once, and neither changes an answer."""
    server = Server("lm.heddle", "--checkpoint", "ck", "--prompt-tokens", "16")
    text, computed, times = "one two three", [], []
    for turn in range(20):
        begin = time.monotonic()
        answer = server.ask("POST", "/v1/completions", {"prompt": text, "max_tokens": 4, "temperature": 0})
        times.append(time.monotonic() - begin)
        usage = answer["usage"]
        computed.append(usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"])
        if turn in (1, 10, 19) and answer["choices"][0]["text"] != alone(text, 4):
            fail(f"turn {turn} is answered by {answer}, and alone by {alone(text, 4)}")
        text += answer["choices"][0]["text"] + " " + " ".join(WORDS[(turn + i) % 10] for i in range(5))
    if usage["prompt_tokens"] < 100 or max(computed[1:]) > 12:
        fail(f"20 turns compute {computed} tokens of prompts")
    if sorted(times[15:])[2] > 3 * sorted(times[1:6])[2] + 0.02:
        fail(f"later turns take longer: {times}")
    server.process.send_signal(signal.SIGHUP) # forgets the texts
    server.wait_for("(the checkpoint is loaded again)")
    check_common_prefix(server, "lm.heddle")
    server.end()
    # Caches of 16 bits hold two numbers in an element.
    run("heddle-compile", f"{MODELS}/text.toml", *LM, "--caches=f16", "-o", "half.heddle")
    server = Server("half.heddle", "--checkpoint", "ck")
    check_common_prefix(server, "half.heddle")
    server.end()


def check_cache_memory():
    """The caches' memory is there before the first request."""
    rows = 400_000 # of 256 bytes: 32 columns of keys and values
    run("heddle-compile", f"{MODELS}/text.toml", *LM, "--set", f"cache_rows={rows}", "--entries=inference", "-o", "wide.heddle")
    server = Server("wide.heddle", "--checkpoint", "ck")
    if (memory := memory_of(server.process)) < rows * 256 // 1024:
        fail(f"a server with {rows} rows of caches begins with {memory} KiB of memory")
    server.end()


def check_common_prefix(server, artifact):
    common = " ".join(WORDS[i * i % 10] for i in range(80))
    prompts = [common + " " + " ".join(WORDS[: 1 + i]) for i in range(8)]
    names = ("heddle_prompt_tokens_total", "heddle_reused_prompt_tokens_total")
    before, answers = [server.metric(name) for name in names], {}
    threads = [threading.Thread(target=lambda prompt=prompt: answers.update({prompt: server.complete(prompt, 6)["text"]})) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked, reused = (server.metric(name) - old for name, old in zip(names, before))
    if asked < 640 or asked - reused > 180:
        fail(f"8 prompts with the same 80 words have {asked} tokens, and {asked - reused} of them are computed")
    for prompt in (prompts[0], prompts[5], prompts[7]):
        if answers[prompt] != (expected := alone(prompt, 6, artifact)):
            fail(f"side by side '{prompt}' is continued by {answers[prompt]!r}, and alone by {expected!r}")


def check_bad_clients(server):
    """Idle and slow connections, half requests, endless bodies, and clients that leave: /health still answers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1100)]
    for i, connection in enumerate(idle[:100]):
        connection.sendall([b"POST /v1/completions HTTP/1.1\r\nContent-Length: 50\r\n\r\n{", b"GET / HT", b"\x16\x03\x01\x02"][i % 3])
    times = []
    for _ in range(11):
        begin = time.monotonic()
        server.ask("GET", "/health")
        times.append(time.monotonic() - begin)
    if (took := sorted(times)[5]) > 0.1:
        fail(f"/health takes {took} seconds beside 1,000 idle and 100 slow connections")
    body = {"prompt": "one", "max_tokens": 30, "stream": True}
    for _ in range(300 if LONG else 30):
        connection = socket.create_connection(("127.0.0.1", server.port))
        text = json.dumps(body).encode()
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        connection.recv(100)
        connection.close()
    large = socket.create_connection(("127.0.0.1", server.port))
    large.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
    sent = 0
    try:
        while sent < 100_000_000:
            sent += large.send(b"x" * 1_000_000)
    except OSError:
        pass
    if not large.recv(100).startswith(b"HTTP/1.1 413"):
        fail("a body of 100 MB is not refused by a 413")
    if server.complete("seven eight nine", 2)["text"] != " ten one":
        fail("the server answers wrongly after bad clients")
    for connection in idle:
        connection.close()
    end = time.monotonic() + 20
    while "heddle_batch_size 0" not in server.ask("GET", "/metrics") and time.monotonic() < end:
        time.sleep(0.1)
    memory = memory_of(server.process)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for i in range(20000 if LONG else 200):
        connection.request("POST", "/v1/completions", '{"prompt": "one two", "max_tokens": 1, "temperature": 0}')
        if json.loads(connection.getresponse().read())["usage"]["completion_tokens"] != 1:
            fail("a request of many has another answer")
    if (more := memory_of(server.process) - memory) > 20_000:
        fail(f"memory grows by {more} KiB")


def check_states(server):
    """The vectors of a decoder's hidden states equal those of `embed`."""
    texts = ["one two", "three", ""]
    expected = run("heddle-run", "embed", "lm.heddle", "--checkpoint", "ck", text="".join(text + "\n" for text in texts)).splitlines()
    for each, line in zip(server.ask("POST", "/v1/embeddings", {"input": texts})["data"], expected, strict=True):
        if any(abs(got - wanted) > 1e-6 for got, wanted in zip(each["embedding"], json.loads(line), strict=True)):
            fail(f"/v1/embeddings gives {each}, and embed {line}")


def check_signals(server):
    """A reload between requests, and a shutdown that finishes the requests in work."""
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("(the checkpoint is loaded again)")
    if server.complete("seven eight nine", 2)["text"] != " ten one":
        fail("the server answers wrongly after a reload")
    os.rename("ck", "away")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("(the checkpoint is not loaded again)")
    os.rename("away", "ck")
    if server.complete("seven eight nine", 2)["text"] != " ten one":
        fail("the server answers wrongly after a reload that failed")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.complete("one", 30))) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.01)
    server.end()
    for thread in threads:
        thread.join()


def check_kills():
    """Kills a server under load 50 times. The next one takes its port, and answers as before."""
    prompts = [" ".join(WORDS[i : i + 3]) for i in range(7)]
    expected, port, over, wrong, answered = {prompt: alone(prompt, 6) for prompt in prompts}, free_port(), threading.Event(), [], []

    def work(number):
        while not over.is_set():
            prompt = prompts[(number + len(answered)) % 7]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("POST", "/v1/completions", json.dumps({"prompt": prompt, "max_tokens": 6, "temperature": 0}))
                answer = json.loads(connection.getresponse().read())["choices"][0]["text"]
            except (OSError, http.client.HTTPException):
                time.sleep(0.01) # the server is killed
                continue
            finally:
                connection.close()
            answered.append(answer)
            if answer != expected[prompt]:
                wrong.append((prompt, answer))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    source = random.Random(7)
    for _ in range(50):
        server, before, end = Server("lm.heddle", "--checkpoint", "ck", port=port), len(answered), time.monotonic() + 60
        while len(answered) == before and time.monotonic() < end:
            time.sleep(source.uniform(0, 0.02))
        server.process.kill()
        server.process.wait()
        if len(answered) == before:
            over.set()
            fail(f"a server does not answer after one before it was killed: {server.said()}")
    over.set()
    for thread in threads:
        thread.join()
    if wrong:
        fail(f"{len(wrong)} of {len(answered)} answers beside kills are wrong: {wrong[0]}")


def check_translator():
    """Translations over HTTP, greedy and the best of a beam, equal those of `translate`."""
    with open("train.txt", encoding="ascii") as file, open("backwards.txt", "w", encoding="ascii") as backwards:
        backwards.writelines(" ".join(reversed(line.split())) + "\n" for line in file)
    sizes = ["d_model=32", "d_ff=64", "encoder_layers=1", "decoder_layers=1", "vocab_size=60", "max_length=24", "max_tokens=512",
             "cache_rows=700", "max_sequences=32", "warmup=30", "learning_rate=5e-3", "explain_entry=true"]
    run("heddle-compile", f"{MODELS}/numbers.toml", *(flag for size in sizes for flag in ("--set", size)), "-o", "mt.heddle")
    run("heddle-run", "train", "mt.heddle", "--src", "train.txt", "--tgt", "backwards.txt", "--checkpoint", "mt", "--steps", "60", "--seed", "1")
    with open("train.txt", encoding="ascii") as file:
        lines = [next(file).strip() for _ in range(40)] + [""]
    server = Server("mt.heddle", "--checkpoint", "mt")
    for beam, count in ((1, 1), (4, 3)):
        said = run("heddle-run", "translate", "mt.heddle", "--checkpoint", "mt", "--beam", str(beam), "--n-best", str(count),
                   text="".join(line + "\n" for line in lines))
        expected = [line.split("\t")[1:] for line in said.splitlines()]
        answer = server.ask("POST", "/translate", {"text": lines, "beam": beam, "n": count})
        flat = [[f"{each['score']:.6f}", each["text"]] for choices in answer["translations"] for each in choices]
        if [text for _, text in flat] != [text for _, text in expected]:
            fail(f"/translate with a beam of {beam} differs: {list(zip(flat, expected))[:5]}")
        if any(abs(float(got) - float(wanted)) > 1e-4 for (got, _), (wanted, _) in zip(flat, expected)):
            fail(f"/translate with a beam of {beam} gives other scores: {list(zip(flat, expected))[:5]}")
    alignment = server.ask("POST", "/translate", {"text": lines[0], "alignments": True})["translations"][0][0]["alignment"]
    if [len(row) for row in alignment["weights"]] != [len(alignment["source"])] * len(alignment["target"]) or \
            any(abs(sum(row) - 1) > 0.01 for row in alignment["weights"]):
        fail(f"/translate aligns by {alignment}")
    server.ask("POST", "/translate", {"text": lines, "beam": 99}, status=400)
    server.ask("POST", "/translate", {"text": "one " * 50}, status=400)
    server.ask("POST", "/translate", {"text": []}, status=400)
    server.ask("POST", "/v1/completions", {"prompt": "one"}, status=400)
    server.end()


def check_labels():
    """Labels over HTTP equal those of `predict`."""
    source = random.Random(4)
    with open("train.jsonl", "w", encoding="ascii") as file:
        for _ in range(500):
            words = [source.choice(WORDS) for _ in range(source.randint(1, 8))]
            file.write(json.dumps({"text": " ".join(words), "label": "many" if len(words) > 4 else "few"}) + "\n")
    with open("labels.toml", "w", encoding="ascii") as file:
        file.write('model = "classifier.weft"\nclasses = 2\nvocab_size = 40\nd_model = 32\nheads = 4\nd_ff = 64\nencoder_layers = 1\n'
                   "max_tokens = 512\nmax_sequences = 16\nmax_length = 16\nwarmup = 30\nlearning_rate = 5e-3\n")
    run("heddle-compile", "labels.toml", "-o", "labels.heddle")
    run("heddle-run", "train", "labels.heddle", "--data", "train.jsonl", "--checkpoint", "labels", "--steps", "30", "--seed", "1")
    lines = [" ".join(source.choice(WORDS) for _ in range(source.randint(1, 8))) for _ in range(60)]
    expected = run("heddle-run", "predict", "labels.heddle", "--checkpoint", "labels", text="".join(line + "\n" for line in lines))
    if "continue texts" not in run("heddle-run", "serve", "labels.heddle", "--checkpoint", "labels", "--adapter", "a=labels", code=1):
        fail("an adapter of a model that continues no text is not refused")
    server = Server("labels.heddle", "--checkpoint", "labels")
    answer = server.ask("POST", "/predict", {"text": lines + [""]})
    said = [f"{each['label']}\t{each['score']:.6f}" for each in answer["predictions"][:-1]]
    if said != expected.splitlines() or answer["predictions"][-1] is not None:
        fail(f"/predict differs: {list(zip(said, expected.splitlines()))[:5]}")
    server.ask("POST", "/predict", {"text": [["one", "two"]]}, status=400)
    run("heddle-run", "train", "labels.heddle", "--data", "train.jsonl", "--checkpoint", "labels", "--steps", "60", "--seed", "1")
    before, expected = expected, run("heddle-run", "predict", "labels.heddle", "--checkpoint", "labels", text="".join(line + "\n" for line in lines))
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("(the checkpoint is loaded again)")
    said = [f"{each['label']}\t{each['score']:.6f}" for each in server.ask("POST", "/predict", {"text": lines})["predictions"]]
    if said != expected.splitlines() or expected == before:
        fail(f"/predict has not loaded the new checkpoint: {list(zip(said, expected.splitlines()))[:5]}")
    server.end()


def reference(name):
    """The folder of a published model's reference; None, with a message, without it."""
    folder = os.path.join(os.environ.get("HEDDLE_REFERENCES") or os.path.join(MODELS, "../../shared/references"), name)
    return folder if os.path.isdir(folder) else print(f"skipped: {name} ({folder})")


def check_bench():
    """bench/serve.py gives rates for three lines, too."""
    if not (published := reference("llama")):
        return
    said = subprocess.run([sys.executable, os.path.join(MODELS, "../bench/serve.py"), published, "--bin", BIN, "--lines", "3", "--tokens", "4", "--rounds", "2"],
                          capture_output=True, text=True)
    rates = re.findall(r"generate (\S+)  http (\S+)  1 client (\S+)  8 clients (\S+)", said.stdout)
    if said.returncode != 0 or len(rates) != 2 or any(float(rate) <= 0 for row in rates for rate in row):
        fail(f"bench/serve.py ends with {said.returncode}: {said.stdout} {said.stderr}")


def save_ids(path, ids):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(ids)},), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(ids)}i", *ids))


def check_vectors():
    """Vectors of texts are the means of what `call` gives for their tokens, at length 1 as modules.json says."""
    if not (published := reference("bert-mlm")):
        return
    folder = shutil.copytree(published, "bert")
    os.mkdir("bert/1_Pooling")
    for name, json_of in (("modules.json", [{"path": path, "type": "sentence_transformers.models." + kind}
                                            for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))]),
                          ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            json.dump(json_of, file)
    run("heddle-compile", folder, "--set", "max_tokens=256", "--set", "max_sequences=8", "-o", "bert.heddle")
    texts = ["the weaver sat at her loom", "a loom", "words and words"]
    lines = run("heddle-run", "tokenize", folder, text="".join(text + "\n" for text in texts)).splitlines()
    tokens, expected = [[int(each) for each in line.split("\t")[0].split()] for line in lines], []
    for ids in tokens:
        for name, values in (("source", ids), ("source_positions", range(len(ids))), ("source_types", [0] * len(ids)), ("source_starts", [0]),
                             ("source_lengths", [len(ids)])):
            save_ids(f"{name}.npy", list(values))
        run("heddle-run", "call", "bert.heddle", "--entry", "encode", "--variables", folder, "--output", "hidden=@hidden.npy",
            *(f"--input={name}=@{name}.npy" for name in ("source", "source_positions", "source_types", "source_starts", "source_lengths")))
        with open("hidden.npy", "rb") as file:
            numbers = struct.unpack(f"<{len(ids) * 48}f", file.read()[-len(ids) * 48 * 4:])
        whole = [sum(numbers[column::48]) for column in range(48)]
        length = sum(number * number for number in whole)**0.5
        expected.append([number / length for number in whole])
    server = Server("bert.heddle", "--checkpoint", folder)
    for given in (texts, tokens):
        answer = server.ask("POST", "/v1/embeddings", {"input": given * 5, "model": "bert"})
        if answer["usage"]["prompt_tokens"] != 5 * sum(map(len, tokens)):
            fail(f"/v1/embeddings counts {answer['usage']}")
        for each in answer["data"]:
            if any(abs(got - wanted) > 1e-5 for got, wanted in zip(each["embedding"], expected[each["index"] % 3], strict=True)):
                fail(f"/v1/embeddings gives {each}, not {expected[each['index'] % 3]}")
    coded = server.ask("POST", "/v1/embeddings", {"input": texts, "encoding_format": "base64"})["data"]
    if struct.unpack("<48f", base64.b64decode(coded[0]["embedding"])) != \
            struct.unpack("<48f", struct.pack("<48f", *server.ask("POST", "/v1/embeddings", {"input": texts})["data"][0]["embedding"])):
        fail("/v1/embeddings gives other numbers in base64")
    ranked = server.ask("POST", "/v1/rerank", {"query": texts[0], "documents": texts, "top_n": 2})["results"]
    if [each["index"] for each in ranked][:1] != [0] or len(ranked) != 2 or abs(ranked[0]["relevance_score"] - 1) > 1e-6:
        fail(f"/v1/rerank gives {ranked}")
    check_openai(server.port, "embeddings")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("(the checkpoint is loaded again)")
    server.ask("POST", "/v1/embeddings", {"input": texts})
    server.end()


def check_adapters():
    """Adapters of one base, chosen by name in turns: each answers as it does alone."""
    if not (folder := reference("llama")):
        return
    run("heddle-compile", folder, "--lora=rank=4,alpha=64,targets=query,value", "--set", "max_tokens=512", "--set", "max_sequences=8", "-o", "lora.heddle")
    for name, words in (("a", WORDS), ("b", WORDS[::-1])):
        with open(f"{name}.txt", "w", encoding="ascii") as file:
            file.writelines(" ".join(words) + f" {name} {i}\n" for i in range(20))
        run("heddle-run", "train", "lora.heddle", "--base", folder, "--text", f"{name}.txt", "--checkpoint", f"of-{name}", "--steps", "20", "--seed", "1")
    prompt = [5, 6, 7, 8]
    server = Server("lora.heddle", "--base", folder, "--checkpoint", folder, "--adapter", "a=of-a", "--adapter", "b=of-b")
    if [each["id"] for each in server.ask("GET", "/v1/models")["data"]] != ["llama", "a", "b"]:
        fail("/v1/models does not list the adapters")
    names, seen = {"llama": folder, "a": "of-a", "b": "of-b"}, {}
    for name, checkpoint in names.items():
        alone = run("heddle-run", "generate", "lora.heddle", "--base", folder, "--checkpoint", checkpoint, "--tokens", "6", "--ids",
                    text=" ".join(map(str, prompt)) + "\n").split()[len(prompt):]
        seen[name] = server.complete(prompt, 6, model=name, logprobs=0)
        text = run("heddle-run", "tokenize", folder, "--decode", text=" ".join(alone) + "\n").rstrip("\n")
        if seen[name]["text"] != text and "\ufffd" not in text:
            fail(f"adapter {name} answers {seen[name]['text']!r}, and alone {text!r}")
    if len({tuple(each["logprobs"]["token_logprobs"]) for each in seen.values()}) != 3:
        fail("two adapters answer alike")
    wrong = []
    threads = [threading.Thread(target=lambda name=name: server.complete(prompt, 6, model=name, logprobs=0) == seen[name] or wrong.append(name))
               for _ in range(8) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        fail(f"adapters side by side answer otherwise: {wrong}")
    # An adapter whose files have gone fails by name; clients do not see paths. The others and, later, it answer as before.
    server.complete(prompt, 6, model="llama")
    os.rename("of-a", "away")
    refusal = server.ask("POST", "/v1/completions", {"prompt": prompt, "model": "a"}, status=500)["error"]["message"]
    if "'a'" not in refusal or "of-a" in refusal or "there is no folder 'of-a'" not in server.said():
        fail(f"an adapter that has gone is refused by {refusal}, and the log says {server.said()}")
    os.rename("away", "of-a")
    for name in ("llama", "a"):
        if server.complete(prompt, 6, model=name, logprobs=0) != seen[name]:
            fail(f"{name} answers otherwise after an adapter had gone")
    server.end()


def check_page(server):
    """The page's script runs in a browser without an error, and shows the model."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"))), None)
    if not browser:
        return print("skipped: the page (Chromium; tools/setup.sh --tests installs it)")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=profile", "--enable-logging=stderr",
                           "--virtual-time-budget=2000", "--dump-dom", f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, timeout=60)
    if ":CONSOLE" in done.stderr:
        fail(f"the page's script has an error: {done.stderr}")
    for part in ("<title>ck</title>", "Longest answer in tokens", "Begin a text"):
        if part not in done.stdout:
            fail(f"the page lacks '{part}': {done.stdout[:5000]}")
    return None


def free_port():
    """A port below those that the system gives to clients, so that no client, not even of this port, takes it."""
    while True:
        port = random.randrange(20000, 32000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def check_proxy(server):
    """The example for nginx in docs/serve.md: TLS in front of the server, for answers and events."""
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not nginx or not shutil.which("openssl"):
        return print("skipped: the proxy (nginx and openssl; tools/setup.sh --tests installs them)")
    with open(os.path.join(MODELS, "../docs/serve.md"), encoding="utf-8") as file:
        example = re.search(r"```nginx\n(.*?)```", file.read(), re.DOTALL)[1]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "tls.key",
                    "-out", "tls.pem", "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    port, folder = free_port(), os.getcwd()
    for written, ours in (("listen 443", f"listen 127.0.0.1:{port}"), ("http://127.0.0.1:8080", f"http://127.0.0.1:{server.port}"),
                          ("/etc/ssl/certs/models.pem", f"{folder}/tls.pem"), ("/etc/ssl/private/models.key", f"{folder}/tls.key")):
        if written not in example:
            fail(f"the example for nginx has no '{written}'")
        example = example.replace(written, ours)
    places = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w", encoding="utf-8") as file:
        file.write(f"pid {folder}/nginx.pid; events {{}} http {{ access_log off; {places} {example} }}")
    proxy = subprocess.Popen([nginx, "-p", folder, "-e", f"{folder}/nginx.log", "-c", f"{folder}/nginx.conf", "-g", "daemon off;"])
    atexit.register(proxy.kill)
    context = ssl.create_default_context(cafile="tls.pem")
    context.check_hostname = False
    end = time.monotonic() + 20
    while True:
        try:
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
            connection.connect()
            break
        except ConnectionRefusedError:
            if time.monotonic() > end or proxy.poll() is not None:
                with open("nginx.log", encoding="utf-8") as file:
                    fail(f"nginx does not listen: {file.read()}")
            time.sleep(0.02)
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "seven eight nine", "max_tokens": 2, "temperature": 0, "stream": True}))
    answer = connection.getresponse()
    events = [json.loads(line[6:]) for line in answer.read().decode().split("\n\n") if line.startswith("data: {")]
    if answer.status != 200 or "".join(event["choices"][0]["text"] for event in events) != " ten one":
        fail(f"through the proxy come {answer.status} and {events}")
    # The page's own requests have an origin, which is the proxy's.
    connection.request("GET", "/v1/models", headers={"Origin": f"https://127.0.0.1:{port}"})
    if (status := connection.getresponse().status) != 200:
        fail(f"a page behind the proxy gets {status}")
    proxy.terminate()
    return proxy.wait()


def check_openai(port, what):
    python = os.path.join(os.path.dirname(BIN), "openai", "bin", "python")
    if not os.path.exists(python):
        return print("skipped: the openai client (build/openai)")
    done = subprocess.run([python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve_openai.py"), str(port), what],
                          capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"the openai client: {done.stdout}{done.stderr}")
    return print(done.stdout, end="")


def main():
    make_model()
    for flags, code in ((["--port", "99999"], 2), (["--readers", "0"], 2), (["--api-key-file", "nothing"], 1),
                        (["--adapter", "a=b"], 1), (["--host", "no.such.host.invalid"], 1), (["--chat-template", "nothing"], 1)):
        run("heddle-run", "serve", "lm.heddle", "--checkpoint", "ck", *flags, code=code)
    for file, reason in (("nothing", "No such file"), (".", "Is a directory"), ("/dev/null", "has no key")):
        if reason not in (said := run("heddle-run", "serve", "lm.heddle", "--checkpoint", "ck", "--api-key-file", file, code=1)):
            fail(f"--api-key-file {file} says {said}")
    server = Server("lm.heddle", "--checkpoint", "ck")
    check_many_clients(server)
    check_page(server)
    check_proxy(server)
    check_bad_clients(server)
    check_states(server)
    check_signals(server)
    with open("keys", "w", encoding="ascii") as file:
        file.write("# mine\nsecret\n\n")
    with open("chat.jinja", "w", encoding="ascii") as file:
        file.write(TEMPLATE)
    server = Server("lm.heddle", "--checkpoint", "ck", "--api-key-file", "keys", "--chat-template", "chat.jinja", "--name", "counting")
    server.ask("GET", "/v1/models", status=401)
    server.ask("GET", "/health")
    key = {"Authorization": "Bearer secret"}
    chat = {"messages": [{"role": "user", "content": "seven eight nine"}], "temperature": 0, "max_tokens": 2, "model": "counting"}
    said = server.ask("POST", "/v1/chat/completions", chat, key)["choices"][0]["message"]["content"]
    if said.split() != ["ten", "one"]:
        fail(f"the chat says {said!r}")
    check_openai(server.port, "texts")
    server.end(signal.SIGINT)
    check_prefixes()
    check_cache_memory()
    if LONG:
        check_kills()
        check_bench()
    check_translator()
    check_labels()
    check_vectors()
    check_adapters()


with tempfile.TemporaryDirectory() as own:
    os.chdir(own)
    main()
