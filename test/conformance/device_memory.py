"""The device memory that `heddle-compile` prints for an entry is the most that a call uses, except for run-time sizes
and alignment: a few bytes per buffer.

    device_memory.py --bin build/bin --model models/numbers.toml"""

import argparse
import json
import re
import subprocess
import sys
import tempfile

import numpy as np

import compiled
import tensor_files

MOST_BESIDE = 4096  # while the memory is 3 to 25 MB


def measure(command, inputs, folder):
    """Returns the bytes that `heddle-run call` reports."""
    for name, value in inputs.items():
        np.save(f"{folder}/{name}.npy", value)
        command = [*command, f"--input={name}=@{folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return int(re.search(r"device memory: .* \((\d+) bytes\) at most", done.stderr).group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    batch = compiled.draw_batch(np.random.default_rng(5), 41)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        artifact = f"{folder}/model.heddle"
        for flags in [], ["--recompute=products"], ["--set", "clip_norm=1", "--set", "share_embeddings=false"]:
            compiled.run([f"{arguments.bin}/heddle-compile", arguments.model, "-o", artifact, f"--report={folder}/report.json",
                        "--set", "max_length=64", *flags])
            with open(f"{folder}/report.json") as file:
                planned = {entry["entry"]: entry["memory_bytes"] for entry in json.load(file)}
            for entry, scaled in ("train_step", True), ("eval", False):
                command = [f"{arguments.bin}/heddle-run", "call", artifact, "--entry", entry]
                beside = measure(command, tensor_files.pack(batch, token_scale=scaled), folder) - planned[entry]
                bad = abs(beside) > MOST_BESIDE
                failed |= bad
                print(f"{'FAIL' if bad else 'ok  '} {entry} {' '.join(flags)}: {planned[entry]} bytes, {beside} more on the device")
    sys.exit(failed)


if __name__ == "__main__":
    main()
