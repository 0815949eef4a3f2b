#!/usr/bin/env python3
"""Times fine-tuning of an encoder with BERT-base's shape: batches of 32 sentences of mixed lengths, two labels, f32, AdamW.
Heddle and PyTorch, in turns on the same processors.

    python3 bench/bert_beside_torch.py --tokenizer FOLDER [--layers N] [--rounds N] [--steps N] [--threads N] [--target NAME]

Run it with a Python that has transformers; FOLDER has BERT's tokenizer.json. Weights are random, dropout is 0.1, and
sentences have 4 to 100 tokens. PyTorch is the package transformers with scaled_dot_product_attention and a fused optimizer,
and pads each batch to its longest sentence; Heddle's batches have no padding. Prints a line per round, then medians with
range and ratio in sentences per second; a side's first step is left out."""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

from beside_sentence_transformers import WORDS

BATCH = 32


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--target", default="native")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch
    import transformers

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    transformers.logging.set_verbosity_error()
    configuration = transformers.BertConfig(num_hidden_layers=arguments.layers, num_labels=2)
    model = transformers.BertForSequenceClassification._from_config(configuration, attn_implementation="sdpa").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    source = random.Random(7)
    texts = [" ".join(source.choices(WORDS, k=min(98, 2 + int(source.expovariate(1 / 20))))) for _ in range(BATCH * (arguments.steps + 1))]
    labels = [source.randrange(2) for _ in texts]
    with tempfile.TemporaryDirectory() as folder:
        published, artifact, data, log = (f"{folder}/{name}" for name in ("bert", "bert.heddle", "data.jsonl", "log.jsonl"))
        model.save_pretrained(published)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(f"{arguments.tokenizer}/{name}", published)
        tokenizer = transformers.AutoTokenizer.from_pretrained(published)
        with open(data, "w", encoding="utf-8") as file:
            for text, label in zip(texts, labels):
                print(json.dumps({"text": text, "label": str(label)}), file=file)
        subprocess.run([f"{arguments.bin}/heddle-compile", published, "-o", artifact, f"--target={arguments.target}", "--entries=training",
                        f"--max-sequences={BATCH}", f"--max-tokens={BATCH * 100}"], check=True, capture_output=True)

        def heddle():
            shutil.rmtree(f"{folder}/run", ignore_errors=True)
            subprocess.run([f"{arguments.bin}/heddle-run", "train", artifact, "--weights", published, "--data", data, "--checkpoint", f"{folder}/run",
                            "--steps", str(arguments.steps + 1), "--batch-sequences", str(BATCH), "--validate-every", "0", "--save-every", "0",
                            "--log", log, "--threads", str(arguments.threads)], check=True, capture_output=True)
            steps = [record for record in map(json.loads, open(log, encoding="utf-8")) if "step" in record and "loss" in record]
            return statistics.median(record["seconds"] for record in steps[1:])

        def theirs():
            times = []
            for first in range(0, len(texts), BATCH):
                start = time.perf_counter()
                batch = tokenizer(texts[first:first + BATCH], padding=True, return_tensors="pt")
                optimizer.zero_grad()
                model(**batch, labels=torch.tensor(labels[first:first + BATCH])).loss.backward()
                optimizer.step()
                times.append(time.perf_counter() - start)
            return statistics.median(times[1:])

        times = {"PyTorch": [], "Heddle": []}
        for _ in range(arguments.rounds):
            times["PyTorch"].append(theirs())
            times["Heddle"].append(heddle())
            print(", ".join(f"{name} {all[-1]:.2f} s a step" for name, all in times.items()), flush=True)
    peer = statistics.median(times["PyTorch"])
    for name, all in times.items():
        middle = statistics.median(all)
        print(f"{name}: {BATCH / middle:.1f} sentences/s ({BATCH / max(all):.1f} to {BATCH / min(all):.1f}), ratio {peer / middle:.2f}")


if __name__ == "__main__":
    main()
