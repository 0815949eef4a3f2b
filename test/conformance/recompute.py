"""Recomputation (`--recompute`) changes no bit of losses, summed gradients and three optimizer steps, with dropout and
odd sizes, and a training step needs less memory.

    recompute.py --bin build/bin --model models/numbers.toml"""

import argparse
import json
import sys
import tempfile

import numpy as np

import compiled
import fusion_equivalence


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    random = np.random.default_rng(12)
    batches = [compiled.draw_batch(random, fusion_equivalence.OPTIONS["vocab_size"]) for _ in range(3)]
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        results, steps, start = {}, {}, None
        for policy in ["none", "cheap", "products"]:
            flags = [f"--recompute={policy}", f"--report={folder}/report.json"]
            results[policy], start = fusion_equivalence.run(arguments, flags, folder, batches, start)
            with open(f"{folder}/report.json") as file:
                steps[policy] = next(entry for entry in json.load(file) if entry["entry"] == "train_step")
        for policy, before in [("cheap", "none"), ("products", "cheap")]:
            different = [name for name, value in results[policy].items()
                         if value.tobytes() != results["none"][name].tobytes()]
            report.check(f"{policy}: {len(results[policy])} results, of which differ {different[:3]}", len(different), 0)
            memory = steps[policy]["arena_bytes"] / steps[before]["arena_bytes"]
            report.check(f"{policy}: arena, as a part of {before}'s", memory, 0.9)
            if steps[policy]["model_flops"] != steps["none"]["model_flops"]:
                sys.exit(f"{policy}: counts {steps[policy]['model_flops']} model FLOPs, not {steps['none']['model_flops']}")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
