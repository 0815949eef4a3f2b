"""A compiled model in a session of heddle-run, batches for it, and a report that compares its results with expected
ones. Does not need PyTorch."""

import json
import os
import subprocess
import sys

import numpy as np

import calls
import tensor_files

LENGTHS = [(1, 33), (7, 1), (33, 7), (12, 19)]  # source and target length of each pair


def default_target():
    """Returns the target of models that name none."""
    return os.environ.get("HEDDLE_TARGET", "vulkan:software")


class Model(calls.Session):
    """A compiled model in a session of `heddle-run call`."""

    def __init__(self, arguments, overrides, folder, target=None, precision="f32", flags=()):
        self.artifact = f"{folder}/model.heddle"
        sets = [word for key, value in overrides.items() for word in ("--set", f"{key}={toml(value)}")]
        run([f"{arguments.bin}/heddle-compile", arguments.model, "-o", self.artifact, f"--target={target or default_target()}",
             f"--precision={precision}", *sets, *flags])
        super().__init__(arguments.bin, self.artifact, folder)

    def call(self, entry, inputs=(), outputs=(), variables=None, save=None, extra=()):
        """Calls an entry. Variables are loaded from a file before the call, and saved after it."""
        flags = [*extra]
        if variables:
            flags += ["--variables", f"{self.folder}/{variables}"]
        if save:
            flags += ["--save-variables", f"{self.folder}/{save}"]
        return super().call(entry, inputs, outputs, flags)


def rounds_rows(tools, artifact):
    """Returns true if one of the artifact's targets multiplies packed integers without unpacking them, which rounds the
    left operand to 16 bits."""
    said = subprocess.run([f"{tools}/heddle-inspect", artifact, "--json"], check=True, capture_output=True, text=True).stdout
    return any(target["name"] in ("cpu:x86-64-v3", "cpu:x86-64-v4-vnni", "cpu:x86-64-v4-amx") for target in json.loads(said)["targets"])


def toml(value):
    return f'"{value}"' if isinstance(value, str) else json.dumps(value)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def relative(actual, expected):
    expected = np.asarray(expected, np.float64)
    norm = np.linalg.norm(expected)
    return float(np.linalg.norm(np.asarray(actual, np.float64) - expected) / (norm if norm > 0 else 1))


def draw_batch(random, vocabulary):
    ids = lambda count: random.integers(3, vocabulary, count).tolist()
    batch = []
    for source, target in LENGTHS:
        words = ids(target - 1)
        batch.append((ids(source), [1] + words, words + [2]))
    return batch


def decode_with_cache(model, batch, steps):
    """Returns the logits of each sentence's first `steps` target tokens, computed token by token with a key-value
    cache, with the weights of the session."""
    i32 = lambda values: np.asarray(list(values), np.int32)
    packed = tensor_files.pack(batch, token_scale=False)
    source = {name: packed[name] for name in ("source", "source_positions", "source_starts", "source_lengths")}
    model.call("encode", {**source, "memory_rows": i32(range(len(source["source"])))})
    logits = [[] for _ in batch]
    for step in range(steps):
        going = [s for s, (_, target, _) in enumerate(batch) if step < len(target)]
        first = [s * steps for s in going]
        inputs = {"token": i32(batch[s][1][step] for s in going), "position": i32(step for _ in going),
                  "query_starts": i32(range(len(going))), "query_lengths": i32(1 for _ in going),
                  "cache_rows": i32(row + step for row in first), "cache_starts": i32(first),
                  "cache_lengths": i32(step + 1 for _ in going),
                  "source_starts": source["source_starts"][going], "source_lengths": source["source_lengths"][going]}
        (rows,) = model.call("decode_step", inputs, ["logits"])
        for s, row in zip(going, rows):
            logits[s].append(row)
    return np.concatenate([np.stack(rows) for rows in logits])


class Report:
    def __init__(self):
        self.failed = 0

    def check(self, what, error, bound):
        bad = not error <= bound  # NaN is bad, too
        self.failed += bad
        print(f"{'FAIL' if bad else 'ok  '} {what:<42} {error:.2e} (at most {bound:.0e})")
