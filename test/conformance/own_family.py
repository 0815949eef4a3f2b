"""A family that a model text adds to Heddle: GPT-NeoX (Black et al. 2022). Its attention and feed-forward network read
the same rows, its heads have queries, keys and values in one tensor, and rotary positions turn a part of the columns.
Compares a random folder with numpy.

    own_family.py --bin build/bin [--target=NAME]"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from compiled import Model, Report, default_target, relative
from tensor_files import pack_targets, save_safetensors, without_labels

WIDTH, HEADS, LAYERS, INNER, VOCABULARY, TURNED = 24, 3, 2, 40, 61, 4
CONFIG = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": WIDTH, "num_attention_heads": HEADS,
          "num_hidden_layers": LAYERS, "intermediate_size": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": 64,
          "rotary_pct": TURNED * HEADS / WIDTH, "rotary_emb_base": 10000, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
          "use_parallel_residual": True, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0}
TEXT = """
use llama
param activation = "gelu" | "gelu-tanh"
param attention_bias = true, output_bias = true
def norm(x) { layer_norm(x, norm_epsilon) }
def block(x, positions, layer) {
  norm1 = norm(x)
  norm2 = norm(x)
  self = self_attention(norm1, positions, layer)
  feed_forward = feed_forward(norm2, d_ff, activation)
  x + self + feed_forward
}

published "GPTNeoXForCausalLM" {
  norm_epsilon = key("layer_norm_eps", 1e-5)
  rotary_base = key("rotary_emb_base", 10000)
  rotary_width = floor(head_width * key("rotary_pct", 0.25))
  attention_bias = true
  expect("use_parallel_residual", true, "this text is of models whose two halves read the same rows")

  bases = ["gpt_neox.", ""]
  "embedding" = "gpt_neox.embed_in.weight"
  "projection" = "embed_out.weight"
  "decoder.norm.gamma" = "gpt_neox.final_layer_norm.weight"
  "decoder.norm.beta" = "gpt_neox.final_layer_norm.bias"
  "decoder.*.norm1.gamma" = "gpt_neox.layers.*.input_layernorm.weight"
  "decoder.*.norm1.beta" = "gpt_neox.layers.*.input_layernorm.bias"
  "decoder.*.norm2.gamma" = "gpt_neox.layers.*.post_attention_layernorm.weight"
  "decoder.*.norm2.beta" = "gpt_neox.layers.*.post_attention_layernorm.bias"
  "decoder.*.self.query" = transpose(pick("gpt_neox.layers.*.attention.query_key_value", heads, 3, 0))
  "decoder.*.self.key" = transpose(pick("gpt_neox.layers.*.attention.query_key_value", heads, 3, 1))
  "decoder.*.self.value" = transpose(pick("gpt_neox.layers.*.attention.query_key_value", heads, 3, VALUE))
  "decoder.*.self.output" = transpose("gpt_neox.layers.*.attention.dense")
  "decoder.*.feed_forward.inner" = transpose("gpt_neox.layers.*.mlp.dense_h_to_4h")
  "decoder.*.feed_forward.outer" = transpose("gpt_neox.layers.*.mlp.dense_4h_to_h")
}
"""


def draw(random):
    tensors = {"gpt_neox.embed_in.weight": (VOCABULARY, WIDTH), "embed_out.weight": (VOCABULARY, WIDTH),
               "gpt_neox.final_layer_norm.weight": (WIDTH,), "gpt_neox.final_layer_norm.bias": (WIDTH,)}
    for i in range(LAYERS):
        for name, shape in {"input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,),
                            "attention.query_key_value": (3 * WIDTH, WIDTH), "attention.dense": (WIDTH, WIDTH),
                            "mlp.dense_h_to_4h": (INNER, WIDTH), "mlp.dense_4h_to_h": (WIDTH, INNER)}.items():
            tensors[f"gpt_neox.layers.{i}.{name}.weight"] = shape
            tensors[f"gpt_neox.layers.{i}.{name}.bias"] = shape[:1]
    return {name: random.normal(0, 0.5 if len(shape) == 1 else 0.3, shape).astype(np.float32) for name, shape in tensors.items()}


def logits_of(tensors, ids):
    get = lambda name: tensors[name].astype(np.float64)
    linear = lambda x, name: x @ get(name + ".weight").T + get(name + ".bias")
    erf = np.vectorize(math.erf)

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * get(name + ".weight") + get(name + ".bias")

    def turn(x):  # tokens x heads x columns
        angles = np.arange(len(ids))[:, None] * 10000.0 ** (-2 * np.arange(TURNED // 2) / TURNED)
        cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = x[..., :TURNED // 2], x[..., TURNED // 2:TURNED]
        return np.concatenate([a * cosine - b * sine, b * cosine + a * sine, x[..., TURNED:]], -1)

    x = get("gpt_neox.embed_in.weight")[ids]
    for i in range(LAYERS):
        layer = f"gpt_neox.layers.{i}."
        qkv = linear(norm(x, layer + "input_layernorm"), layer + "attention.query_key_value").reshape(len(ids), HEADS, 3, WIDTH // HEADS)
        query, key, value = turn(qkv[:, :, 0]), turn(qkv[:, :, 1]), qkv[:, :, 2]
        scores = np.einsum("qhc,khc->hqk", query, key) / math.sqrt(WIDTH // HEADS) + np.triu(np.full((len(ids),) * 2, -1e30), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = np.einsum("hqk,khc->qhc", weights / weights.sum(-1, keepdims=True), value).reshape(len(ids), WIDTH)
        inner = linear(norm(x, layer + "post_attention_layernorm"), layer + "mlp.dense_h_to_4h")
        inner = 0.5 * inner * (1 + erf(inner / math.sqrt(2)))
        x = x + linear(context, layer + "attention.dense") + linear(inner, layer + "mlp.dense_4h_to_h")
    return norm(x, "gpt_neox.final_layer_norm") @ get("embed_out.weight").T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    random, report = np.random.default_rng(3), Report()
    with tempfile.TemporaryDirectory() as folder:
        model, text = Path(folder, "model"), Path(folder, "neox.weft")
        model.mkdir()
        tensors = draw(random)
        save_safetensors(model / "model.safetensors", tensors)
        (model / "config.json").write_text(json.dumps(CONFIG))
        text.write_text(TEXT.replace("VALUE", "2"))
        batch = [random.integers(0, VOCABULARY, length).tolist() for length in (1, 7, 33)]
        keys = {"max_tokens": 64, "max_sequences": 4, "logits_entry": True}
        with Model(SimpleNamespace(bin=arguments.bin, model=model), keys, folder, arguments.target, flags=[f"--family={text}"]) as session:
            inputs = without_labels(pack_targets([([], ids, ids) for ids in batch], token_scale=False))
            (logits,) = session.call("logits", inputs, ["logits"], variables="model")
        report.check("logits", relative(logits, np.concatenate([logits_of(tensors, ids) for ids in batch])), 1e-4)

        compile = [f"{arguments.bin}/heddle-compile", model, "-o", f"{folder}/other.heddle", f"--target={arguments.target}",
                   "--set", "max_tokens=64", "--entries=inference"]
        said = subprocess.run(compile, capture_output=True, text=True)
        report.check("an unknown family that is not refused", int(said.returncode != 1 or "--family=" not in said.stderr), 0)
        text.write_text(TEXT.replace("VALUE", "1"))  # keys used twice, values never
        subprocess.run([*compile, f"--family={text}"], check=True, capture_output=True)
        said = subprocess.run([f"{arguments.bin}/heddle-run", "call", f"{folder}/other.heddle", "--entry", "prefill", "--variables", model],
                              capture_output=True, text=True)
        report.check("rows taken twice that are not refused",
                     int(said.returncode == 0 or "is part of two weights of the model" not in said.stderr), 0)
        if said.returncode == 0 or report.failed:
            print(said.stderr)
    print(f"own family: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
