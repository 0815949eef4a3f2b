"""Writes a folder of gpt-oss as a GGUF file, as llama.cpp's converter does: gates and inner matrices of the experts apart,
and MXFP4 as blocks of an exponent and 16 bytes, which hold the first 16 numbers below the other 16."""

import json

import numpy as np

import gguf_files
from tensor_files import load_safetensors

MXFP4 = 39
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.router": "ffn_gate_inp"}


def keys_of(config):
    rope = config["rope_parameters"]
    numbers = {"context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
               "block_count": config["num_hidden_layers"], "feed_forward_length": config["intermediate_size"],
               "expert_feed_forward_length": config["intermediate_size"], "attention.head_count": config["num_attention_heads"],
               "attention.head_count_kv": config["num_key_value_heads"], "attention.key_length": config["head_dim"],
               "attention.value_length": config["head_dim"], "attention.sliding_window": config["sliding_window"],
               "expert_count": config["num_local_experts"], "expert_used_count": config["num_experts_per_tok"],
               "rope.scaling.original_context_length": rope["original_max_position_embeddings"]}
    return {"general.architecture": ("text", "gpt-oss"), **{f"gpt-oss.{name}": ("u32", number) for name, number in numbers.items()},
            "gpt-oss.rope.freq_base": ("f32", rope["rope_theta"]), "gpt-oss.rope.scaling.type": ("text", rope["rope_type"]),
            "gpt-oss.rope.scaling.factor": ("f32", rope["factor"]),
            "gpt-oss.attention.layer_norm_rms_epsilon": ("f32", config["rms_norm_eps"])}


def in_blocks(packed, exponents):
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], 32)
    return np.concatenate([exponents[..., None], codes[..., :16] | codes[..., 16:] << 4], -1)


def write(path, folder):
    config, tensors = json.loads((folder / "config.json").read_text()), load_safetensors(folder / "model.safetensors")
    stored = {}

    def add(name, tensor):
        stored[name] = (tensor.shape, gguf_files.TYPES["F32"], np.ascontiguousarray(tensor, np.float32).tobytes())

    def add_experts(name, theirs, rows):
        """`rows` are the outputs of all experts that the tensor has."""
        if theirs in tensors:
            add(f"{name}.weight", tensors[theirs].transpose(0, 2, 1)[:, rows])
        else:
            packed, exponents = tensors[theirs + "_blocks"][:, rows], tensors[theirs + "_scales"][:, rows]
            shape = (*packed.shape[:2], packed.shape[2] * 32)
            stored[f"{name}.weight"] = (shape, MXFP4, in_blocks(packed, exponents).tobytes())
        add(f"{name}.bias", tensors[theirs + "_bias"][:, rows])

    for name, theirs in (("token_embd", "model.embed_tokens"), ("output", "lm_head"), ("output_norm", "model.norm")):
        add(f"{name}.weight", tensors[f"{theirs}.weight"])
    for i in range(config["num_hidden_layers"]):
        ours, layer = f"blk.{i}.", f"model.layers.{i}."
        add(f"{ours}attn_norm.weight", tensors[f"{layer}input_layernorm.weight"])
        add(f"{ours}post_attention_norm.weight", tensors[f"{layer}post_attention_layernorm.weight"])
        add(f"{ours}attn_sinks.weight", tensors[f"{layer}self_attn.sinks"])
        for name, end in ((name, end) for name in NAMES for end in ("weight", "bias")):
            add(f"{ours}{NAMES[name]}.{end}", tensors[f"{layer}{name}.{end}"])
        for name, theirs, rows in (("gate", "gate_up", slice(0, None, 2)), ("up", "gate_up", slice(1, None, 2)), ("down", "down", slice(None))):
            add_experts(f"{ours}ffn_{name}_exps", f"{layer}mlp.experts.{theirs}_proj", rows)
    path.write_bytes(gguf_files.assemble(keys_of(config), stored))
