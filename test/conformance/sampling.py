"""Compares the probabilities with which tokens are drawn, on random logits: Heddle's rules, in both orders, with the
same rules in plain Python, and with llama.cpp's samplers through its C interface, if the package xllamacpp or
llama-cpp-python is installed.

    sampling.py --bin build/bin --case plain|llama-cpp"""

import argparse
import ctypes
import importlib.util
import json
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

HUGGING_FACE, LLAMA = "temperature,top-k,top-p,min-p", "top-k,top-p,min-p,temperature"
ROUNDS, BOUND = 400, 1e-5
SKIPPED = 77


def rounded(number):
    """Rounds to f32, the type of logits."""
    return struct.unpack("f", struct.pack("f", number))[0]


def draw_case(source):
    """Draws logits, a text, and rules, some of which change nothing."""
    count = source.choice((5, 33, 300))
    either = lambda value, off: source.choice((value, value, off))
    return {"logits": [rounded(source.gauss(0, 3)) for _ in range(count)], "text": [source.randrange(count) for _ in range(source.randrange(12))],
            "temperature": either(math.exp(source.uniform(-2, 1.5)), 1.0), "top_k": either(source.randrange(1, count + 3), 0),
            "top_p": either(source.uniform(0.05, 1), 1.0), "min_p": either(source.uniform(0, 0.6), 0.0),
            "penalty": either(source.uniform(0.5, 2), 1.0), "window": either(source.randrange(1, 9), 0), "samplers": source.choice((HUGGING_FACE, LLAMA))}


def expected(case):
    """Returns probabilities by token. Each rule works on the tokens and probabilities that the rules before it keep."""
    logits = dict(enumerate(case["logits"]))
    for token in set(case["text"][-case["window"]:]):
        logits[token] = rounded(logits[token] * case["penalty"] if logits[token] <= 0 else logits[token] / case["penalty"])

    def probabilities():
        largest = max(logits.values())
        weights = {token: math.exp(logit - largest) for token, logit in logits.items()}
        return {token: weight / sum(weights.values()) for token, weight in weights.items()}

    for rule in case["samplers"].split(","):
        ordered = sorted(logits, key=logits.get, reverse=True)
        if rule == "temperature":
            logits = {token: logit / case["temperature"] for token, logit in logits.items()}
        elif rule == "top-k" and case["top_k"]:
            logits = {token: logits[token] for token in ordered[:case["top_k"]]}
        elif rule == "top-p" and case["top_p"] < 1:
            left, total, now = {}, 0.0, probabilities()
            for token in ordered:
                left[token] = logits[token]
                total += now[token]
                if total >= case["top_p"]:
                    break
            logits = left
        elif rule == "min-p":
            now = probabilities()
            logits = {token: logits[token] for token in ordered if now[token] >= case["min_p"] * max(now.values())}
    return probabilities()


class Candidate(ctypes.Structure):
    _fields_ = [("token", ctypes.c_int32), ("logit", ctypes.c_float), ("probability", ctypes.c_float)]


class Candidates(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(Candidate)), ("size", ctypes.c_size_t), ("selected", ctypes.c_int64), ("isSorted", ctypes.c_bool)]


class Settings(ctypes.Structure):
    _fields_ = [("leaves_times_out", ctypes.c_bool)]


def load_llama_cpp():
    """Returns the library of a package that contains llama.cpp; None if there is none."""
    for package, pattern in ("xllamacpp", "*.so"), ("llama_cpp", "lib/libllama.so"):
        spec = importlib.util.find_spec(package)
        for file in sorted(Path(spec.origin).parent.glob(pattern)) if spec else ():
            library = ctypes.CDLL(str(file))
            for name in "chain_init", "init_penalties", "init_temp", "init_top_k", "init_top_p", "init_min_p", "init_dist":
                getattr(library, f"llama_sampler_{name}").restype = ctypes.c_void_p
            library.llama_sampler_chain_default_params.restype = Settings
            return library
    return None


def by_llama_cpp(case, library):
    """Returns probabilities by llama.cpp's chain of samplers; its penalty sees only the tokens of the window."""
    number, pointer = ctypes.c_float, ctypes.c_void_p
    chain = pointer(library.llama_sampler_chain_init(library.llama_sampler_chain_default_params()))
    makers = {"temperature": lambda: library.llama_sampler_init_temp(number(case["temperature"])),
              "top-k": lambda: library.llama_sampler_init_top_k(ctypes.c_int32(case["top_k"])),
              "top-p": lambda: library.llama_sampler_init_top_p(number(case["top_p"]), ctypes.c_size_t(1)),
              "min-p": lambda: library.llama_sampler_init_min_p(number(case["min_p"]), ctypes.c_size_t(1))}
    seen = case["text"][-case["window"]:]
    steps = [library.llama_sampler_init_penalties(ctypes.c_int32(len(seen)), number(case["penalty"]), number(0), number(0)),
             *(makers[rule]() for rule in case["samplers"].split(",")),
             library.llama_sampler_init_dist(ctypes.c_uint32(1))]  # turns the rest into probabilities
    for step in steps:
        library.llama_sampler_chain_add(chain, pointer(step))
    for token in seen:
        library.llama_sampler_accept(chain, ctypes.c_int32(token))
    data = (Candidate * len(case["logits"]))(*(Candidate(i, logit, 0) for i, logit in enumerate(case["logits"])))
    candidates = Candidates(data, len(case["logits"]), -1, False)
    library.llama_sampler_apply(chain, ctypes.byref(candidates))
    found = {candidates.data[i].token: candidates.data[i].probability for i in range(candidates.size)}
    library.llama_sampler_free(chain)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--case", choices=("plain", "llama-cpp"), required=True)
    arguments = parser.parse_args()
    llama = None
    if arguments.case == "llama-cpp":
        llama = load_llama_cpp()
        if not llama:
            print("skipped: there is no package xllamacpp, nor llama-cpp-python")
            sys.exit(SKIPPED)
    source = random.Random(11)
    cases = [draw_case(source) for _ in range(ROUNDS)]
    for case in cases[::10]:
        case["temperature"] = 1e-2  # nearly greedy
    answers = subprocess.run([arguments.bin.resolve().parent / "test" / "bin" / "heddle_sampling_check"], input="".join(json.dumps(case) + "\n" for case in cases), capture_output=True, text=True, check=True).stdout
    failed, largest, cut = 0, 0.0, 0
    for number, (case, line) in enumerate(zip(cases, answers.splitlines(), strict=True)):
        actual = dict(json.loads(line))
        wanted = by_llama_cpp(case, llama) if llama else expected(case)
        apart = max(abs(actual.get(token, 0) - wanted.get(token, 0)) for token in actual.keys() | wanted.keys())
        cut += len(actual) < len(case["logits"])
        largest = max(largest, apart)
        if apart > BOUND:
            failed += 1
            print(f"FAIL {number}: apart by {apart:.2g}; {len(actual)} and {len(wanted)} tokens; {({**case, 'logits': len(case['logits'])})}")
    failed += cut < ROUNDS / 2  # the rules have an effect
    print(f"{arguments.case}: {ROUNDS} rows of logits, {cut} of them cut, probabilities apart by at most {largest:.2g}; {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
