"""Compares the attention weights of `heddle-run explain` with PyTorch's, with the same model weights.

    explain.py --bin build/bin --model models/numbers.toml --case NAME

Heads are narrower than the sentences are long, so a call of the entry never covers all keys."""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import recurrence
import reference
import tensor_files
from compiled import run, toml

COMMON = {"vocab_size": 120, "encoder_layers": 2, "decoder_layers": 2, "max_tokens": 512, "max_sequences": 16, "max_length": 80,
          "d_ff": 37, "explain_entry": True}
CASES = {
    "odd-widths": {"d_model": 33, "heads": 3, "positions": "learned", "decoder_layers": 3},
    "pre-norm": {"d_model": 28, "heads": 4, "norm": "pre"},
    "window": {"d_model": 34, "heads": 2, "attention_window": 5},
    "bahdanau": {"width": 12, "align": 20},  # in a scan
    # The keys are also the values.
    "luong": {"width": 12, "score": "general", "align": "global", "window": 4, "feed": False,
              "learning_rate": 0.01, "warmup": 20},
}
RECURRENT = {"bahdanau": recurrence.Bahdanau, "luong": recurrence.Luong}
SOURCE = "seven hundred and sixty-five thousand four hundred and thirty-two"
TARGET = "siebenhundertfünfundsechzigtausendvierhundertzweiunddreißig"
DECIMALS = 0.5e-6  # half of the last decimal of the page's weights
BEGIN, END = 1, 2
MARKS = ("<s>", "</s>")  # a barely trained model may produce them; no text contains them


def read_pieces(path):
    """Returns the pieces of a SentencePiece model. It is a protocol buffer whose field 1 is the list of pieces; field 1
    of each is the text."""
    def fields(data):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value

        while at < len(data):
            key = varint()
            if key & 7 == 2:
                length = varint()
                yield key >> 3, data[at:at + length]
                at += length
            elif key & 7 == 5:
                at += 4
            elif key & 7 == 1:
                at += 8
            else:
                varint()

    return [next(text for number, text in fields(piece) if number == 1).decode()
            for number, piece in fields(Path(path).read_bytes()) if number == 1]


def explain(arguments, folder, flags):
    page = f"{folder}/page.html"
    run([f"{arguments.bin}/heddle-run", "explain", f"{folder}/model.heddle", "--checkpoint", f"{folder}/checkpoint",
         "--src", SOURCE, "--html", page, *flags])
    text = Path(page).read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(data)


def check(page, model, pieces, failures):
    number = {piece: i for i, piece in enumerate(pieces)}
    source, target, following = ([number[piece] for piece in page[side]] for side in ("source", "target", "next"))
    if source[-1] != END or target[0] != BEGIN or following != target[1:] + [END]:
        failures.append("the marks are not where they belong")
    with torch.no_grad():
        model.logits(torch.tensor(source), torch.tensor(target))
    def path(map):  # the layer follows the stack
        stack, *kind = map["kind"].split(".")
        return ".".join([stack, str(map["layer"]), *kind]) if kind else stack

    names = {path(map): map["weights"] for map in page["maps"]}
    if names.keys() != model.attended.keys():
        failures.append(f"the page has {sorted(names)}, the model {sorted(model.attended)}")
        return
    error = sums = 0
    for name, weights in names.items():
        actual, expected = np.asarray(weights), model.attended[name].numpy()
        if actual.shape != expected.shape:
            failures.append(f"{name} is {actual.shape}, expected {expected.shape}")
            continue
        error = max(error, np.abs(actual - expected).max())
        sums = max(sums, np.abs(actual.sum(-1) - 1).max())
    spread = max(float(np.ptp(np.asarray(weights)[:, -1], axis=-1).min()) for weights in names.values())
    print(f"{len(source)} source and {len(target)} target tokens: weights within {error:.1e}, rows' sums within {sums:.1e}")
    if error > 1e-5 + DECIMALS or sums > 1e-4:
        failures.append(f"weights are off by {error:.1e}, sums by {sums:.1e}")
    if spread < 1e-3:
        failures.append("the weights are all alike: this compares nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--case", required=True, choices=CASES)
    arguments = parser.parse_args()
    config = {**COMMON, **CASES[arguments.case]}
    if arguments.case in RECURRENT:
        torch.set_default_dtype(torch.float64)
        config = {key: value for key, value in config.items() if "layers" not in key and key != "d_ff"}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        sets = [word for key, value in config.items() for word in ("--set", f"{key}={toml(value)}")]
        run([f"{arguments.bin}/heddle-compile", arguments.model, "-o", f"{folder}/model.heddle", *sets])
        run([f"{arguments.bin}/heddle-data", "numbers", "--out", f"{folder}/data", "--train", "300", "--valid", "1", "--test", "1"])
        run([f"{arguments.bin}/heddle-run", "train", f"{folder}/model.heddle", "--src", f"{folder}/data/train.en", "--tgt",
             f"{folder}/data/train.de", "--checkpoint", f"{folder}/checkpoint", "--steps", "60", "--seed", "3"])
        (newest,) = Path(f"{folder}/checkpoint").glob("step-00000060")
        variables = tensor_files.load_safetensors(newest / "weights.safetensors")
        pieces = read_pieces(newest / "spm.model")
        model = RECURRENT[arguments.case](config, variables) if arguments.case in RECURRENT else \
            reference.Transformer({**config, "layer_norm_epsilon": 1e-5, "norm": config.get("norm", "post"),
                                       "positions": config.get("positions", "sinusoidal")}, variables)
        for flags in ([], ["--beam", "3"], ["--tgt", TARGET]):
            page = explain(arguments, folder, flags)
            check(page, model, pieces, failures)
            spoken = "".join(piece for piece in page["target"] if piece not in MARKS).replace("\u2581", " ").strip()
            if spoken != page["sentences"][1] or (flags[:1] == ["--tgt"] and spoken != TARGET):
                failures.append(f"the tokens spell '{spoken}', the page says '{page['sentences'][1]}'")
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
