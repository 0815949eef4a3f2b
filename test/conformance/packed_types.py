"""Tests models that keep a GGUF file's packed matrices, and matrices of 16 bits, as they are, against the same file in
f32: random blocks of every type.

    packed_types.py --bin build/bin [--target=NAME] [TYPE...]

In each file the embedding table, which is also the last matrix, has one type, and the other matrices have the types
after it. Batches have few tokens: kernels for many tokens unpack the same numbers as in f32 (tested by
real_files.py)."""

import argparse
import sys
import tempfile
from types import SimpleNamespace

import numpy as np

import gguf_files
import published
import tensor_files
from compiled import Model, Report, default_target, relative, rounds_rows, run

# Type number, numbers and bytes of a block, and offsets of its scales.
BLOCKS = {"Q8_0": (8, 32, 34, [0]), "Q4_0": (2, 32, 18, [0]), "Q4_1": (3, 32, 20, [0, 2]), "Q5_0": (6, 32, 22, [0]),
          "Q5_1": (7, 32, 24, [0, 2]), "Q2_K": (10, 256, 84, [80, 82]), "Q3_K": (11, 256, 110, [108]), "Q4_K": (12, 256, 144, [0, 2]),
          "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]), "IQ4_NL": (20, 32, 18, [0]), "IQ4_XS": (23, 256, 136, [0]),
          "MXFP4": (39, 32, 17, None), "F16": (1, 1, 2, None), "BF16": (30, 1, 2, None)}
NAMES = list(BLOCKS)
CONFIG = {**published.LLAMA, "hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 512, "vocab_size": 103}
SIZES = {"max_tokens": 16, "max_sequences": 4, "logits_entry": True}
BOUND, BOUND_OF_ROUNDED = 2e-5, 1e-4


def draw_blocks(random, shape, kind):
    """Returns random bits with scales that make numbers of about 0.05."""
    _, values, size, factors = BLOCKS[kind]
    if values == 1:
        numbers = (0.05 * random.standard_normal(shape)).astype(np.float32)
        return numbers.astype(np.float16).tobytes() if kind == "F16" else (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    blocks = random.integers(0, 256, (shape[0] * shape[1] // values, size), dtype=np.uint8)
    typical = {"Q8_0": 74, "Q6_K": 74 * 18, "Q3_K": 18 * 2.3, "IQ4_NL": 60, "IQ4_XS": 60 * 18, "Q5_0": 9, "Q4_0": 4.6}.get(kind, 8)
    if kind in ("Q2_K", "Q4_K", "Q5_K"):
        typical = {"Q2_K": 15, "Q4_K": 300, "Q5_K": 600}[kind]
    if factors is None:
        blocks[:, 0] = 122  # an exponent: 2^-6 times half of -12 to 12
    else:
        for place in factors:
            scale = (0.05 / typical * random.uniform(0.5, 1.5, len(blocks))).astype(np.float16)
            # An offset is subtracted from, or added to, numbers that are all positive.
            if len(factors) == 2 and place == factors[1]:
                scale = (scale * np.float16({"Q4_1": -7, "Q5_1": -15, "Q2_K": 1.5, "Q4_K": 7.5, "Q5_K": 15}[kind])).astype(np.float16)
            blocks[:, place:place + 2] = scale[:, None].view(np.uint8)
    return blocks.tobytes()


def write(path, number, random):
    matrices, stored = 0, {}
    for name, tensor in published.draw_llama(CONFIG).items():
        ours, kind = gguf_files.name_of(CONFIG, name), "F32"
        if tensor.ndim == 2:
            kind = NAMES[(number + matrices) % len(NAMES)]
            matrices += 1
        blob = draw_blocks(random, tensor.shape, kind) if tensor.ndim == 2 else np.ascontiguousarray(tensor, np.float32).tobytes()
        stored[ours] = (tensor.shape, BLOCKS[kind][0] if tensor.ndim == 2 else gguf_files.TYPES["F32"], blob)
    with open(path, "wb") as file:
        file.write(gguf_files.assemble(gguf_files.keys_of(CONFIG), stored))
    return sum(len(blob) for _, _, blob in stored.values())


def write_every(folder):
    """Writes a file with matrices of eight types, with upper bits, offsets and packed scales among them."""
    path = f"{folder}/every.gguf"
    write(path, NAMES.index("Q4_K"), np.random.default_rng(3))
    return path


def batch(lengths, random):
    i32 = lambda values: np.asarray(values, np.int32)
    return {"target_in": i32(random.integers(3, CONFIG["vocab_size"], sum(lengths))),
            "target_positions": i32([p for length in lengths for p in range(length)]),
            "target_starts": i32(np.cumsum([0] + lengths[:-1])), "target_lengths": i32(lengths)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    parser.add_argument("types", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    report, random = Report(), np.random.default_rng(3)
    compiled = lambda folder, name, flags: Model(SimpleNamespace(bin=arguments.bin, model=f"{folder}/{name}.gguf"), SIZES, folder,
                                                 arguments.target, flags=flags)
    with tempfile.TemporaryDirectory() as folder:
        # Targets with other vector widths than the target that runs.
        run([f"{arguments.bin}/heddle-compile", write_every(folder), "-o", f"{folder}/every.heddle", "--entries=inference",
             "--target=cpu:x86-64-v4,cpu:aarch64,vulkan:amd,cuda:sm_90a", "--set", "max_tokens=48", "--set", "max_sequences=4"])
        # Beside them, adapters are trained.
        run([f"{arguments.bin}/heddle-compile", write_every(folder), "-o", f"{folder}/every.heddle", f"--target={arguments.target}",
             "--lora=rank=2,alpha=2,targets=query,outer", "--set", "max_tokens=48"])
        bytes_of = {name: write(f"{folder}/{name}.gguf", NAMES.index(name), random) for name in arguments.types}
        batches = [batch(lengths, random) for lengths in ([1], [3], [1, 8, 7])]
        logits = lambda model, name: [model.call("logits", inputs, ["logits"], variables=f"{name}.gguf")[0] for inputs in batches]
        with compiled(folder, arguments.types[0], ["--weights=f32"]) as model: # its numbers are those of every file
            expected = {name: logits(model, name) for name in arguments.types}
        for name in arguments.types:
            with compiled(folder, name, ["--entries=inference"]) as model:
                bound = BOUND_OF_ROUNDED if rounds_rows(arguments.bin, model.artifact) else BOUND
                for inputs, actual, wanted in zip(batches, logits(model, name), expected[name]):
                    report.check(f"{name}: {len(actual)} tokens", relative(actual, wanted), bound)
                model.call("logits", batches[0], save="weights.safetensors")
                kept = tensor_files.load_safetensors(f"{folder}/weights.safetensors")
            # 16-bit weights and scales take 32 bits in a file.
            kept = sum(value.nbytes // (2 if value.dtype == np.float32 and value.ndim == 2 else 1) for value in kept.values())
            report.check(f"{name}: bytes kept beyond the file's", kept / bytes_of[name] - 1, 0.1)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
