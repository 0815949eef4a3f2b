"""Tests the 16-bit copies of weights that entries other than the training step read. A training's validation uses the
copies that the step's update wrote. It must have the same loss as `score` on the checkpoint, whose weights are rounded
when loaded.

    kept_copies.py --bin build/bin --model models/numbers.toml [--target=NAME]"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import compiled

SIZES = {"d_model": 32, "heads": 2, "d_ff": 48, "vocab_size": 80, "encoder_layers": 1, "decoder_layers": 1,
         "max_tokens": 256, "max_sequences": 16, "max_length": 64, "warmup": 2, "learning_rate": 0.02}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="cuda:sm_80")
    arguments = parser.parse_args()
    tools, model = Path(arguments.bin).resolve(), str(Path(arguments.model).resolve())
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        def tool(name, *words):
            done = subprocess.run([tools / name, *words], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{name} {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        tool("heddle-data", "numbers", "--out", "data", "--train", "200", "--valid", "20", "--test", "10", "--maximum", "9999")
        sets = [word for key, value in SIZES.items() for word in ("--set", f"{key}={compiled.toml(value)}")]
        tool("heddle-compile", model, "-o", "m.heddle", f"--target={arguments.target}", "--precision=bf16", *sets)
        described = json.loads(tool("heddle-inspect", "m.heddle", "--json"))
        copies = [variable["name"] for variable in described["variables"] if variable["name"].endswith(".bf16")]
        report.check("no copies in the artifact", not copies, 0)
        tool("heddle-run", "train", "m.heddle", "--src", "data/train.en", "--tgt", "data/train.de", "--valid-src",
             "data/valid.en", "--valid-tgt", "data/valid.de", "--checkpoint", "ck", "--steps", "4", "--log", "log.jsonl",
             "--validate-every", "2")
        records = [json.loads(line) for line in open(f"{folder}/log.jsonl")]
        losses = [record["validation_loss"] for record in records if "validation_loss" in record]
        scored = tool("heddle-run", "score", "m.heddle", "--checkpoint", "ck", "--src", "data/valid.en", "--tgt",
                      "data/valid.de")
        loss = float(re.search(r"loss\s+([\d.]+)", scored).group(1))
        report.check("validations are of other weights", losses[0] == losses[1], 0)
        report.check("loss of the last one less score's, which has four digits", abs(losses[-1] - loss), 6e-5)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
