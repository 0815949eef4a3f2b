"""Compares the logits of tokens that are decoded together, 1 to 40 of them, with packed weights and with the unpacked
numbers in f32. Kernels for few rows may multiply packed integers without unpacking them.

    packed_rows.py --bin build/bin [--target=NAME] [TYPE ...]"""

import argparse
import sys
import tempfile
from types import SimpleNamespace

import numpy as np

import gguf_files
import published
from compiled import Model, Report, relative, rounds_rows
from packed_types import BLOCKS, draw_blocks

TYPES = ["Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q5_1", "Q6_K"]
# The widths of some matrices are no multiple of 64, those of others not of 32.
CONFIG = {**published.LLAMA, "hidden_size": 288, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 3,
          "head_dim": 48, "intermediate_size": 544, "vocab_size": 201}
K_CONFIG = {**CONFIG, "hidden_size": 256, "intermediate_size": 768, "head_dim": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
SIZES = {"max_tokens": 64, "max_sequences": 64}
ROWS = [1, 2, 5, 8, 9, 21, 40]
BOUND, BOUND_OF_ROUNDED = 1e-5, 1e-4
ZERO, LARGE, INFINITE = 3, 4, 5  # tokens whose rows of the embedding are special


def write(path, config, kind, random):
    """Writes a model whose matrices have random blocks of the type, but the embedding, which logits read, is in f32."""
    stored = {}
    for name, tensor in published.draw_llama(config).items():
        if "embed" in name:
            tensor[ZERO] = 0
            tensor[LARGE, ::29] *= 1000
            tensor[INFINITE, 7] = np.inf
        packs = tensor.ndim == 2 and "embed" not in name
        blob = draw_blocks(random, tensor.shape, kind) if packs else np.ascontiguousarray(tensor, np.float32).tobytes()
        stored[gguf_files.name_of(config, name)] = (tensor.shape, BLOCKS[kind][0] if packs else gguf_files.TYPES["F32"], blob)
    with open(path, "wb") as file:
        file.write(gguf_files.assemble(gguf_files.keys_of(config), stored))


def decode(model, ids, variables):
    """Returns the logits of sequences of one token each."""
    rows = np.arange(len(ids), dtype=np.int32)
    return model.call("decode_step", {
        "token": np.asarray(ids, np.int32), "position": 0 * rows, "query_starts": rows, "query_lengths": 0 * rows + 1,
        "cache_rows": rows, "cache_starts": rows, "cache_lengths": 0 * rows + 1}, ["logits"], variables=variables)[0]


def check(arguments, report, kind, random, folder):
    config = {**(K_CONFIG if BLOCKS[kind][1] == 256 else CONFIG), "tie_word_embeddings": False}
    write(f"{folder}/{kind}.gguf", config, kind, random)
    compiled = lambda *flags: Model(SimpleNamespace(bin=arguments.bin, model=f"{folder}/{kind}.gguf"), SIZES, folder, arguments.target,
                                    flags=["--entries=inference", *flags])
    ids = random.integers(6, config["vocab_size"], max(ROWS))
    ids[[3, 6]] = ZERO, LARGE
    batches = [ids[:count] for count in ROWS] + [[LARGE]]
    with compiled("--weights=f32") as model:
        expected = [decode(model, batch, f"{kind}.gguf") for batch in batches]
    with compiled() as model:
        bound = BOUND_OF_ROUNDED if rounds_rows(arguments.bin, model.artifact) else BOUND
        for batch, wanted in zip(batches, expected):
            report.check(f"{kind}: {len(batch)} tokens", relative(decode(model, batch, f"{kind}.gguf"), wanted), bound)
        found = decode(model, [INFINITE, *ids[1:8]], f"{kind}.gguf")
        report.check(f"{kind}: an infinite row", float(np.isfinite(found[0]).any()), 0)
        report.check(f"{kind}: rows beside it", relative(found[1:], expected[ROWS.index(8)][1:]), bound)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="native")
    parser.add_argument("types", nargs="*", default=TYPES)
    arguments = parser.parse_args()
    report, random = Report(), np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.types:
            check(arguments, report, kind, random, folder)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
