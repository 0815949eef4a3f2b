#!/usr/bin/env python3
"""Times vectors of sentences on a processor: Heddle and sentence-transformers, in turns.

    python3 bench/beside_sentence_transformers.py FOLDER [--sentences FILE] [--target NAME] [--threads N] [--rounds N]

FOLDER is a model as sentence-transformers publishes it. Run it with a Python that has sentence-transformers. Without
--sentences 1,000 sentences of 3 to 60 words are drawn. Both sides get all of them at once, and the time that a side needs
for a single sentence is taken off, as that is mostly its start. sentence-transformers sorts by length and takes the best
of batches of 32 and 64. Prints a line per round, then medians with range and ratio, and the least cosine of the two sides'
vectors."""

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time

import numpy as np

WORDS = ("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were "
         "all her she there would their we him been has when who will no more if out so up said what its about than into them can only "
         "other time new some could these two may first then do any like my now over such our man me even most made after also well").split()


def draw(count):
    source = random.Random(7)
    return [" ".join(source.choices(WORDS, k=min(60, 3 + int(source.expovariate(1 / 14))))).capitalize() + "." for _ in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--sentences")
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    model = SentenceTransformer(arguments.folder, device="cpu")
    lines = open(arguments.sentences, encoding="utf-8").read().splitlines() if arguments.sentences else draw(1000)
    with tempfile.TemporaryDirectory() as folder:
        artifact, vectors = f"{folder}/model.heddle", f"{folder}/vectors.npy"
        subprocess.run([f"{arguments.bin}/heddle-compile", arguments.folder, "-o", artifact, f"--target={arguments.target}", "--entries=inference"],
                       check=True, capture_output=True)

        def heddle(lines):
            start = time.monotonic()
            subprocess.run([f"{arguments.bin}/heddle-run", "embed", artifact, "--checkpoint", arguments.folder, f"--output={vectors}",
                            "--threads", str(arguments.threads)], input="".join(line + "\n" for line in lines), text=True, check=True,
                           capture_output=True)
            return time.monotonic() - start

        def theirs(batch):
            start = time.monotonic()
            found = model.encode(lines, batch_size=batch)
            return time.monotonic() - start, found

        theirs(32) # the first call is slower
        times = {"sentence-transformers": [], "Heddle": []}
        for _ in range(arguments.rounds):
            results = [theirs(batch) for batch in (32, 64)]
            expected = results[0][1]
            times["sentence-transformers"].append(min(seconds for seconds, _ in results))
            once = heddle(lines[:1])
            times["Heddle"].append(heddle(lines) - once)
            found = np.load(vectors)
            print(", ".join(f"{name} {all[-1]:.2f} s" for name, all in times.items()), flush=True)
    cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    peer = statistics.median(times["sentence-transformers"])
    for name, all in times.items():
        middle = statistics.median(all)
        print(f"{name}: {len(lines) / middle:.0f} sentences/s ({len(lines) / max(all):.0f} to {len(lines) / min(all):.0f}), ratio {peer / middle:.2f}")
    print(f"least cosine {cosines.min():.7f}")


if __name__ == "__main__":
    main()
