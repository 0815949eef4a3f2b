"""Writes a folder of Qwen2-MoE or GraniteMoeShared as a GGUF file, as llama.cpp's converter does: each layer's experts in one tensor, gates
and inner matrices apart."""

import json
import re

import numpy as np

import gguf_files
from tensor_files import load_safetensors

KEYS = {"context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
        "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads", "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok",
        "expert_feed_forward_length": "moe_intermediate_size", "attention.layer_norm_rms_epsilon": "rms_norm_eps",
        "attention.scale": "attention_multiplier", "embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
        "logit_scale": "logits_scaling"}
SHARED = "shared_expert_intermediate_size", "shared_intermediate_size"
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate": "ffn_gate_inp", "block_sparse_moe.router.layer": "ffn_gate_inp",
         "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "block_sparse_moe.output_linear": "ffn_down_exps", "shared_mlp.output_linear": "ffn_down_shexp",
         **{f"mlp.{theirs}.{part}_proj": f"ffn_{part}_{ours}" for theirs, ours in (("shared_expert", "shexp"), ("experts", "exps"))
            for part in ("gate", "up", "down")}}


def paired(tensor, heads):
    """Puts the two rows that rotary positions turn together side by side."""
    return tensor.reshape(heads, 2, -1, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def write(path, folder):
    config, tensors, experts = json.loads((folder / "config.json").read_text()), {}, {}
    architecture = "granitemoe" if "Granite" in config["architectures"][0] else "qwen2moe"
    for name, tensor in load_safetensors(folder / "model.safetensors").items():
        stem, ending = name.rsplit(".", 1)
        block = re.match(r"model\.layers\.(\d+)\.", stem)
        prefix, stem = (f"blk.{block[1]}.", stem[block.end():]) if block else ("", stem)
        if architecture == "granitemoe" and stem in ("self_attn.q_proj", "self_attn.k_proj"):
            tensor = paired(tensor, config["num_attention_heads" if "q_proj" in stem else "num_key_value_heads"])
        if expert := re.search(r"\.experts\.(\d+)", stem):
            experts.setdefault(f"{prefix}{NAMES[stem.replace(expert[0], '.experts')]}.weight", {})[int(expert[1])] = tensor
        elif stem.endswith("input_linear"):
            for part, half in zip(("gate", "up"), np.split(tensor, 2, -2)):
                tensors[f"{prefix}ffn_{part}_{'shexp' if 'shared' in stem else 'exps'}.weight"] = half
        else:
            tensors[f"{prefix}{NAMES[stem]}.{ending}"] = tensor.reshape(-1) if stem == "mlp.shared_expert_gate" else tensor
    tensors.update({name: np.stack([matrices[i] for i in range(len(matrices))]) for name, matrices in experts.items()})
    shared = next(config[key] for key in SHARED if key in config)
    keys = {"general.architecture": ("text", architecture), f"{architecture}.expert_shared_feed_forward_length": ("u32", shared),
            "tokenizer.ggml.bos_token_id": ("u32", config["bos_token_id"]), "tokenizer.ggml.eos_token_id": ("u32", config["eos_token_id"])}
    config.setdefault("num_local_experts", config.get("num_experts"))
    for ours, theirs in KEYS.items():
        if theirs in config:
            keys[f"{architecture}.{ours}"] = ("f32" if isinstance(config[theirs], float) else "u32", config[theirs])
    path.write_bytes(gguf_files.assemble(keys, {name: (tensor.shape, gguf_files.TYPES["F32"], np.ascontiguousarray(tensor, np.float32).tobytes())
                                                for name, tensor in tensors.items()}))
