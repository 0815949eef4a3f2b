#!/usr/bin/env python3
"""Trains the mixture of models/mixture.toml and the dense model of models/prose.toml, which have the same FLOPs for each token, with
the same steps on the project's documentation.

  bench/mixture.py [--bin DIR] [--seed N ...] [--steps N] [--set KEY=VALUE ...]

Prints for each seed both losses on paragraphs that neither has seen, and the largest and smallest load of an expert there, in
parts of an even load: of all layers and batches, the mean of each batch's worst layer. `--set` changes a key of both models."""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# models/mixture.weft, whose loss is the load of the expert with the most choices, or, if `side` is -1, minus the least load.
LOAD = """use mixtral
param side = 1
def mixture(x) {
  weight router[columns(x), experts]
  scores = softmax(x @ router)
  chosen = top_k(scores, experts_of_token)
  picked = select(scores, chosen)
  mixed = expert_feed_forward(x, chosen, picked / sum(picked), experts, expert_width, activation)
  load = overall(marks(chosen, experts)) * (side * experts / experts_of_token)
  mixed, sum(select(load, top_k(load, 1)))
}
logits(target) {
  decoder, loads = repeat layers as layer with x = embed(target), loads = 0 * sum(embed(target)) - experts {
    norm1 = norm(x)
    self = x + self_attention(norm1, target.positions, layer)
    norm2 = norm(self)
    mixed, load = mixture(norm2)
    self + mixed, max(loads, load)
  }
  last = norm(decoder)
  last @ transpose(projection)
}
loss(target) { 0 * cross_entropy(logits, target.next) + loads }
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin")
    parser.add_argument("--seed", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(program, *arguments):
            command = [a.bin / program, *arguments]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
            return done.stdout + done.stderr

        def compiled(model, out, *flags):
            run("heddle-compile", model, "-o", folder / f"{out}.heddle", *(f"--set={change}" for change in a.set), *flags)

        def score(artifact, checkpoint):
            said = run("heddle-run", "score", folder / f"{artifact}.heddle", "--checkpoint", folder / checkpoint, "--force",
                       "--text", folder / "valid.txt", "--documents=blank-lines")
            return float(re.search(r"loss (\S+) per token", said)[1])

        run("heddle-data", "prose", "--out", folder)
        compiled(ROOT / "models/prose.toml", "dense")
        compiled(ROOT / "models/mixture.toml", "mixture")
        (folder / "load.weft").write_text(LOAD)
        (folder / "load.toml").write_text((ROOT / "models/mixture.toml").read_text().replace("mixture.weft", "load.weft"))
        for artifact, side in (("most", 1), ("least", -1)):
            compiled(folder / "load.toml", artifact, f"--set=side={side}")
        print("seed  dense  mixture  most and least load")
        for seed in a.seed:
            for model in ("dense", "mixture"):
                run("heddle-run", "train", folder / f"{model}.heddle", "--text", folder / "prose.txt", "--documents=blank-lines",
                    "--checkpoint", folder / f"{model}{seed}", f"--steps={a.steps}", "--validate-every=0", "--save-every=0",
                    f"--seed={seed}")
            dense, mixture = (score(model, f"{model}{seed}") for model in ("dense", "mixture"))
            most, least = score("most", f"mixture{seed}"), -score("least", f"mixture{seed}")
            print(f"{seed:4}  {dense:.3f}  {mixture:.3f}    {most:.2f} {least:.2f}", flush=True)


if __name__ == "__main__":
    main()
