"""Folders whose weights have 16 bits: an artifact for inference on a processor keeps them so, and its logits are those of
the same numbers in f32.

    half_folders.py --bin build/bin [--target=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import published
from compiled import Model, Report, relative
from packed_types import batch

CONFIG = {**published.LLAMA, "hidden_size": 192, "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 2,
          "intermediate_size": 320, "vocab_size": 103, "tie_word_embeddings": False}
MIXTURE = {**CONFIG, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4, "num_experts_per_tok": 2}
SIZES = {"max_tokens": 64, "max_sequences": 32, "logits_entry": True}
BOUND = 2e-6


def matrices_of(tools, artifact):
    """Returns the types of the artifact's matrices, as heddle-inspect prints them."""
    said = subprocess.run([f"{tools}/heddle-inspect", artifact], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in said.splitlines() if line.startswith("    weight ")]
    return {word[2].split("[")[0] for word in words if "," in word[2]}


def draw_mixture():
    """Returns the tensors of a mixture: in place of the feed-forward network a router, and such networks as experts."""
    tensors = {name: tensor for name, tensor in published.draw_llama(CONFIG).items() if ".mlp." not in name}
    experts = [published.draw_llama(CONFIG, seed) for seed in range(10, 10 + MIXTURE["num_local_experts"])]
    layer = "model.layers.0."
    router = experts[0]["model.embed_tokens.weight"][:len(experts)]
    tensors[f"{layer}block_sparse_moe.gate.weight"] = router
    for number, drawn in enumerate(experts):
        for name, part in ("w1", "gate"), ("w2", "down"), ("w3", "up"):
            tensors[f"{layer}block_sparse_moe.experts.{number}.{name}.weight"] = drawn[f"{layer}mlp.{part}_proj.weight"]
    return tensors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="cpu:x86-64-v3")
    arguments = parser.parse_args()
    report, random = Report(), np.random.default_rng(5)
    batches = [batch(lengths, random) for lengths in ([1], [5], [1] * 13, [8, 21, 7])]
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, shards in (("llama", "BF16", 1), ("llama", "F16", 2), ("mixture", "BF16", 2)):
            model = Path(folder, f"{name}-{kind}")
            model.mkdir()
            config, tensors = (CONFIG, published.draw_llama(CONFIG)) if name == "llama" else (MIXTURE, draw_mixture())
            published.write_folder(model, config, tensors, kind, shards)
            made = []
            for flags, type_ in (["--weights=f32"], "f32"), ([], kind.lower()):
                with Model(SimpleNamespace(bin=arguments.bin, model=model), SIZES, folder, arguments.target,
                           flags=["--entries=inference", *flags]) as compiled:
                    report.check(f"{name} in {kind}: matrices that are not {type_}", len(matrices_of(arguments.bin, compiled.artifact) ^ {type_}), 0)
                    made.append([compiled.call("logits", inputs, ["logits"], variables=model.name)[0] for inputs in batches])
            for wide, narrow in zip(*made):
                report.check(f"{name} in {kind}: {len(wide)} tokens", relative(narrow, wide), BOUND)
        # A folder in f32 has copies in 16 bits that are not loaded: a file that no index names, and tensors of another base.
        model, tensors = Path(folder, "F32"), published.draw_llama(CONFIG)
        published.write_folder(model, CONFIG, tensors)
        copies = {"model.fp16.safetensors": ("F16", tensors),
                  "model.other.safetensors": ("BF16", {name.removeprefix("model."): tensor for name, tensor in tensors.items()})}
        for file, (kind, copy) in copies.items():
            published.write_safetensors(model / file, copy, kind)
        index = {name: file for file in ("model.other.safetensors", "model.safetensors") for name in (copies.get(file) or ("", tensors))[1]}
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        artifact = Path(folder, "f32.heddle")
        subprocess.run([f"{arguments.bin}/heddle-compile", model, f"--target={arguments.target}", "--entries=inference", "-o", artifact], check=True)
        report.check("F32: matrices that are not f32", len(matrices_of(arguments.bin, artifact) ^ {"f32"}), 0)
    print(f"{report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
