"""Splitting the arena into blocks changes no bit of losses, summed gradients and three optimizer steps, with dropout
and odd sizes.

    blocks.py --bin build/bin --model models/numbers.toml [--target cpu:x86-64-v3]"""

import argparse
import json
import sys
import tempfile

import numpy as np

import compiled
import fusion_equivalence

MOST = 24 << 10  # bytes of a block


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    arguments = parser.parse_args()
    random = np.random.default_rng(13)
    batches = [compiled.draw_batch(random, fusion_equivalence.OPTIONS["vocab_size"]) for _ in range(3)]
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        results, arenas, start = {}, {}, None
        for name, more in ("one", []), ("blocks", [f"--max-allocation={MOST >> 10}KiB"]):
            flags = [f"--report={folder}/report.json", *more]
            results[name], start = fusion_equivalence.run(arguments, flags, folder, batches, start, arguments.target)
            with open(f"{folder}/report.json") as file:
                arenas[name] = next(entry for entry in json.load(file) if entry["entry"] == "train_step")["arena_blocks"]
    one, blocks = arenas["one"], arenas["blocks"]
    if len(one) != 1 or len(blocks) < sum(one) / MOST or max(blocks) > MOST:
        sys.exit(f"blocks of {blocks} bytes in the place of {one}")
    different = [key for key, value in results["blocks"].items() if value.tobytes() != results["one"][key].tobytes()]
    report.check(f"{len(results['blocks'])} results with {len(blocks)} blocks, of which differ {different[:3]}", len(different), 0)
    report.check("bytes of the blocks, as a part of one block's", sum(blocks) / sum(one), 1.3)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
