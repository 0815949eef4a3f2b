"""Compares translations with rules of which tokens may follow (no_repeat_ngram_size, min_length, min_new_tokens) with those of transformers:
greedily and by a beam of 4, hypotheses and scores. Skipped without the packages torch and transformers.

    beam_rules.py --bin build/bin --references FOLDER --family m2m100"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import compiled

LONGEST = 14
RULES = [{"no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 1}, {"min_length": 9}, {"no_repeat_ngram_size": 3, "min_length": 7}, {"min_new_tokens": 5}]


def folder_with(family, place, rules):
    """The family's folder with other rules in its generation_config.json."""
    place.mkdir()
    for file in family.iterdir():
        if file.is_file() and file.name != "generation_config.json":
            (place / file.name).symlink_to(file)
    config = json.loads((family / "generation_config.json").read_text())
    (place / "generation_config.json").write_text(json.dumps({**config, **rules}))
    return place


def expected_of(model, source, beams, rules):
    """Returns (tokens, score) of each hypothesis. The tokens are None if they hold padding, which Heddle never chooses."""
    import torch
    with torch.no_grad():
        found = model.generate(torch.tensor([source]), num_beams=beams, num_return_sequences=beams, early_stopping=beams > 1, do_sample=False,
                               max_new_tokens=LONGEST, length_penalty=1.0, return_dict_in_generate=True, output_scores=True, **rules)
    ends, padding = model.generation_config.eos_token_id, model.config.pad_token_id
    end = ends[0] if isinstance(ends, list) else ends
    sequences = []
    for tokens in found.sequences[:, 1:].tolist():
        if end in tokens:
            tokens = tokens[:tokens.index(end) + 1]
        sequences.append(None if padding in tokens and padding != end else tokens)
    return list(zip(sequences, found.sequences_scores.tolist() if beams > 1 else [None]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--family", required=True)
    arguments = parser.parse_args()
    if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers")):
        print("transformers is not installed")
        sys.exit(77)
    import transformers
    family = (arguments.references / arguments.family).resolve()
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(family).eval()
    report = compiled.Report()
    with tempfile.TemporaryDirectory() as folder:
        artifact = f"{folder}/model.heddle"
        compiled.run([f"{arguments.bin}/heddle-compile", family, "--set", "max_tokens=256", "--set", "max_length=40", "-o", artifact])
        sources = [pair[0] for pair in json.loads((family / "reference" / "ids.json").read_text())]
        for i, rules in enumerate(RULES):
            place = folder_with(family, Path(folder, str(i)), rules)
            for beams in (1, 4):
                done = subprocess.run([f"{arguments.bin}/heddle-run", "translate", artifact, "--checkpoint", place, "--ids", f"--beam={beams}",
                                       f"--n-best={beams}", f"--max-length={LONGEST}", "--beam-rule=hugging-face"], capture_output=True, text=True,
                                      input="".join(" ".join(map(str, source)) + "\n" for source in sources), check=True)
                said = [line.split("\t") for line in done.stdout.splitlines()]
                expected = [each for source in sources for each in expected_of(model, source, beams, rules)]
                wrong, error = 0, 0
                for (_, score, ids), (tokens, theirs) in zip(said, expected, strict=True):
                    wrong += tokens is not None and [int(token) for token in ids.split()] != tokens
                    error = max(error, 0 if theirs is None else abs(float(score) - theirs))
                name = " ".join(f"{key}={value}" for key, value in rules.items())
                report.check(f"{name}, beam {beams}: hypotheses that differ", wrong, 0)
                report.check(f"{name}, beam {beams}: scores", error, 1e-4)
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
