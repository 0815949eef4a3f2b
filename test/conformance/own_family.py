"""A family that a model text adds to Heddle, of a made-up architecture. Its attention and feed-forward network read the
same rows, its heads have queries, keys and values in one tensor, each head has two tensors with the gains of its queries
and keys, and rotary positions turn a part of the columns. Compares a random folder, and the same model as a GGUF file, with numpy.

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

import gguf_files
from compiled import Model, Report, default_target, relative
from tensor_files import pack_targets, save_safetensors, without_labels

WIDTH, HEADS, LAYERS, INNER, VOCABULARY, TURNED = 24, 3, 2, 40, 61, 4
CONFIG = {"architectures": ["WovenForCausalLM"], "model_type": "woven", "hidden_size": WIDTH, "num_attention_heads": HEADS,
          "num_hidden_layers": LAYERS, "intermediate_size": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": 64,
          "turned": TURNED * HEADS / WIDTH, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "parallel": True,
          "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0}
TEXT = """
use llama
param activation = "gelu" | "gelu-tanh"
param attention_bias = true, output_bias = true
def norm(x) { layer_norm(x, norm_epsilon) }
def norm_of_heads(x, heads) {
  weight gain[columns(x)] ~ 1
  each = split(x, heads)
  flat(each * rsqrt(mean(each ^ 2) + norm_epsilon)) * gain
}
def block(x, positions, layer) {
  norm1 = norm(x)
  norm2 = norm(x)
  self = self_attention(norm1, positions, layer)
  feed_forward = feed_forward(norm2, d_ff, activation)
  x + self + feed_forward
}

published "WovenForCausalLM" gguf "woven" {
  norm_epsilon = key("layer_norm_eps", 1e-5, gguf = "attention.layer_norm_epsilon")
  rotary_width = floor(head_width * key("turned", key("partial_rotary_factor", 0.25)))
  activation = activation("hidden_act", "gelu")
  attention_bias = true
  expect("parallel", true, "this text is of models whose two halves read the same rows")

  bases = ["woven.", ""]
  "embedding" = "woven.embed_in.weight", "token_embd.weight"
  "projection" = "embed_out.weight", "output.weight"
  "decoder.norm.gamma" = "woven.final_layer_norm.weight", "output_norm.weight"
  "decoder.norm.beta" = "woven.final_layer_norm.bias", "output_norm.bias"
  "decoder.*.norm1.gamma" = "woven.layers.*.input_layernorm.weight", "blk.*.attn_norm.weight"
  "decoder.*.norm1.beta" = "woven.layers.*.input_layernorm.bias", "blk.*.attn_norm.bias"
  "decoder.*.norm2.gamma" = "woven.layers.*.post_attention_layernorm.weight", "blk.*.ffn_norm.weight"
  "decoder.*.norm2.beta" = "woven.layers.*.post_attention_layernorm.bias", "blk.*.ffn_norm.bias"
  "decoder.*.self.query" = transpose(pick("woven.layers.*.attention.query_key_value", heads, 3, 0)), rows("blk.*.attn_qkv", 0)
  "decoder.*.self.key" = transpose(pick("woven.layers.*.attention.query_key_value", heads, 3, 1)), rows("blk.*.attn_qkv", d_model)
  "decoder.*.self.value" = transpose(pick("woven.layers.*.attention.query_key_value", heads, 3, VALUE)), rows("blk.*.attn_qkv", 2 * d_model)
  "decoder.*.self.query.norm.gain" = rows(stack("woven.layers.*.attention.gains.*", 2 * heads), 0), "blk.*.attn_q_norm.weight"
  "decoder.*.self.key.norm.gain" = rows(stack("woven.layers.*.attention.gains.*", 2 * heads), d_model), "blk.*.attn_k_norm.weight"
  "decoder.*.self.output" = transpose("woven.layers.*.attention.dense"), "blk.*.attn_output"
  "decoder.*.feed_forward.inner" = transpose("woven.layers.*.mlp.dense_h_to_4h"), "blk.*.ffn_up"
  "decoder.*.feed_forward.outer" = transpose("woven.layers.*.mlp.dense_4h_to_h"), "blk.*.ffn_down"
}
"""


def draw(random):
    tensors = {"woven.embed_in.weight": (VOCABULARY, WIDTH), "embed_out.weight": (VOCABULARY, WIDTH),
               "woven.final_layer_norm.weight": (WIDTH,), "woven.final_layer_norm.bias": (WIDTH,)}
    for i in range(LAYERS):
        for name, shape in {"input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,),
                            "attention.query_key_value": (3 * WIDTH, WIDTH), "attention.dense": (WIDTH, WIDTH),
                            "mlp.dense_h_to_4h": (INNER, WIDTH), "mlp.dense_4h_to_h": (WIDTH, INNER)}.items():
            tensors[f"woven.layers.{i}.{name}.weight"] = shape
            tensors[f"woven.layers.{i}.{name}.bias"] = shape[:1]
        for head in range(2 * HEADS):
            tensors[f"woven.layers.{i}.attention.gains.{head}"] = (WIDTH // HEADS,)
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

    x = get("woven.embed_in.weight")[ids]
    for i in range(LAYERS):
        layer = f"woven.layers.{i}."
        qkv = linear(norm(x, layer + "input_layernorm"), layer + "attention.query_key_value").reshape(len(ids), HEADS, 3, WIDTH // HEADS)
        gains = np.stack([get(f"{layer}attention.gains.{head}") for head in range(2 * HEADS)])
        normal = [x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * gain
                  for x, gain in zip((qkv[:, :, 0], qkv[:, :, 1]), (gains[:HEADS], gains[HEADS:]))]
        query, key, value = turn(normal[0]), turn(normal[1]), qkv[:, :, 2]
        scores = np.einsum("qhc,khc->hqk", query, key) / math.sqrt(WIDTH // HEADS) + np.triu(np.full((len(ids),) * 2, -1e30), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = np.einsum("hqk,khc->qhc", weights / weights.sum(-1, keepdims=True), value).reshape(len(ids), WIDTH)
        inner = linear(norm(x, layer + "post_attention_layernorm"), layer + "mlp.dense_h_to_4h")
        inner = 0.5 * inner * (1 + erf(inner / math.sqrt(2)))
        x = x + linear(context, layer + "attention.dense") + linear(inner, layer + "mlp.dense_4h_to_h")
    return norm(x, "woven.final_layer_norm") @ get("embed_out.weight").T


def write_gguf(path, tensors):
    """Writes the model as a GGUF file, in which all queries come first, then all keys and all values."""
    heads = lambda tensor: np.concatenate(np.split(tensor.reshape(HEADS, 3, -1, *tensor.shape[1:]), 3, 1)).reshape(tensor.shape)
    names = {"embed_in": "token_embd", "embed_out": "output", "final_layer_norm": "output_norm"}
    for i in range(LAYERS):
        names.update({f"layers.{i}.{theirs}": f"blk.{i}.{ours}" for theirs, ours in (
            ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"), ("attention.query_key_value", "attn_qkv"),
            ("attention.dense", "attn_output"), ("mlp.dense_h_to_4h", "ffn_up"), ("mlp.dense_4h_to_h", "ffn_down"))})
    stored = {}
    for name, tensor in tensors.items():
        stem, _, ending = name.removeprefix("woven.").rpartition(".")
        if stem in names:
            stored[f"{names[stem]}.{ending}"] = heads(tensor) if "query_key_value" in stem else tensor
    for i in range(LAYERS):
        gains = [tensors[f"woven.layers.{i}.attention.gains.{head}"] for head in range(2 * HEADS)]
        stored.update({f"blk.{i}.attn_q_norm.weight": np.stack(gains[:HEADS]), f"blk.{i}.attn_k_norm.weight": np.stack(gains[HEADS:])})
    keys = {"general.architecture": ("text", "woven"), "woven.context_length": ("u32", 64), "woven.embedding_length": ("u32", WIDTH),
            "woven.block_count": ("u32", LAYERS), "woven.feed_forward_length": ("u32", INNER), "woven.attention.head_count": ("u32", HEADS),
            "woven.attention.layer_norm_epsilon": ("f32", 1e-5), "woven.rope.dimension_count": ("u32", TURNED)}
    path.write_bytes(gguf_files.assemble(keys, {name: (tensor.shape, gguf_files.TYPES["F32"], np.ascontiguousarray(tensor).tobytes())
                                                for name, tensor in stored.items()}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    random, report = np.random.default_rng(3), Report()
    with tempfile.TemporaryDirectory() as folder:
        model, text = Path(folder, "model"), Path(folder, "woven.weft")
        model.mkdir()
        tensors = draw(random)
        save_safetensors(model / "model.safetensors", tensors)
        (model / "config.json").write_text(json.dumps(CONFIG))
        text.write_text(TEXT.replace("VALUE", "2"))
        batch = [random.integers(0, VOCABULARY, length).tolist() for length in (1, 7, 33)]
        keys = {"max_tokens": 64, "max_sequences": 4, "logits_entry": True}
        write_gguf(Path(folder, "model.gguf"), tensors)
        inputs = without_labels(pack_targets([([], ids, ids) for ids in batch], token_scale=False))
        expected = np.concatenate([logits_of(tensors, ids) for ids in batch])
        for source in ("model", "model.gguf"):
            named = SimpleNamespace(bin=arguments.bin, model=Path(folder, source))
            with Model(named, keys, folder, arguments.target, flags=[f"--family={text}"]) as session:
                (logits,) = session.call("logits", inputs, ["logits"], variables=source)
            report.check(f"logits of {source}", relative(logits, expected), 1e-4)

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
