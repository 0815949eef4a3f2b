"""Writes a folder of a mixture of experts, or of a newer decoder, as a GGUF file, as llama.cpp's converter does: each layer's experts in one tensor,
gates and inner matrices apart, Gemma's gains whole. DeepSeek's matrices of keys and values are apart, too, and each head's matrix of keys is transposed; in older files they are as in
the folder."""

import json
import re

import numpy as np

import gguf_files
from tensor_files import load_safetensors

ARCHITECTURES = {"Qwen2Moe": "qwen2moe", "GraniteMoe": "granitemoe", "GraniteMoeShared": "granitemoe", "Glm4Moe": "glm4moe", "Dots1": "dots1",
                 "Ernie4_5_Moe": "ernie4_5-moe", "MiniMaxM2": "minimax-m2", "HunYuanMoEV1": "hunyuan-moe", "Phimoe": "phimoe",
                 "DeepseekV2": "deepseek2", "DeepseekV3": "deepseek2", "Glm4MoeLite": "deepseek2", "HunYuanDenseV1": "hunyuan-dense", "Ernie4_5": "ernie4_5", "Gemma": "gemma",
                 "Glm4": "glm4", "SeedOss": "seed_oss", "Cohere2": "cohere2", "Exaone4": "exaone4", "Nemotron": "nemotron", "Arcee": "arcee", "Phi": "phi2",
                 "InternLM2": "internlm2"}
# The keys of config.json: the first that is there.
KEYS = {"context_length": ["max_position_embeddings"], "embedding_length": ["hidden_size"], "block_count": ["num_hidden_layers"],
        "feed_forward_length": ["intermediate_size"], "attention.head_count": ["num_attention_heads"],
        "attention.head_count_kv": ["num_key_value_heads"], "expert_count": ["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"],
        "expert_used_count": ["num_experts_per_tok", "moe_k", "moe_topk"], "expert_feed_forward_length": ["moe_intermediate_size"],
        "expert_shared_feed_forward_length": ["shared_expert_intermediate_size", "shared_intermediate_size"],
        "expert_shared_count": ["n_shared_experts", "moe_num_shared_experts"], "expert_group_count": ["n_group"],
        "expert_group_used_count": ["topk_group"], "expert_weights_scale": ["routed_scaling_factor"], "expert_weights_norm": ["norm_topk_prob"],
        "leading_dense_block_count": ["first_k_dense_replace", "moe_layer_start_index"], "interleave_moe_layer_step": ["moe_layer_interval"],
        "attention.layer_norm_rms_epsilon": ["rms_norm_eps"], "attention.layer_norm_epsilon": ["layer_norm_eps", "norm_eps"], "attention.key_length": ["head_dim"], "attention.value_length": ["head_dim"],
        "attention.scale": ["attention_multiplier"], "embedding_scale": ["embedding_multiplier"], "residual_scale": ["residual_multiplier"],
        "logit_scale": ["logits_scaling", "logit_scale"], "attention.q_lora_rank": ["q_lora_rank"], "attention.kv_lora_rank": ["kv_lora_rank"],
        "rope.dimension_count": ["qk_rope_head_dim", "rotary_dim"]}
PAIRED = "granitemoe", "arcee", "internlm2"
AFTER_ATTENTION = "glm4moe", "seed_oss", "exaone4"  # what the files call a norm
SIGMOIDS = "glm4moe", "dots1", "minimax-m2"  # scores of experts
PARTS = {"gate": ("gate", "w1"), "up": ("up", "w3"), "down": ("down", "w2")}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm", "self_attn.q_a_proj": "attn_q_a",
         "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
         "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b", "mlp.gate": "ffn_gate_inp", "mlp.gate.wg": "ffn_gate_inp",
         "block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.router.layer": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
         "block_sparse_moe.output_linear": "ffn_down_exps", "shared_mlp.output_linear": "ffn_down_shexp",
         "post_self_attn_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm", "post_mlp_layernorm": "post_ffw_norm",
         "model.final_layernorm": "output_norm", "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "mlp.gate_up_proj": "ffn_up", **{f"mlp.{part}_proj": f"ffn_{part}" for part in PARTS},
         **{f"mlp.{theirs}.{part}_proj": f"ffn_{part}_{ours}" for theirs, ours in (("shared_expert", "shexp"), ("shared_experts", "shexp"),
                                                                                 ("shared_mlp", "shexp"), ("experts", "exps")) for part in PARTS},
         **{f"block_sparse_moe.experts.{number}": f"ffn_{part}_exps" for part, (_, number) in PARTS.items()}}


LLAMA = {"model.tok_embeddings": "model.embed_tokens", "attention.wo": "self_attn.o_proj", "attention_norm": "input_layernorm",
         "ffn_norm": "post_attention_layernorm", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w3": "mlp.up_proj",
         "feed_forward.w2": "mlp.down_proj"}  # InternLM 2's names


def of_llama(tensors, config):
    """Returns InternLM 2's tensors as LLaMA's."""
    found, group = {}, config["num_attention_heads"] // config["num_key_value_heads"]
    for name, tensor in tensors.items():
        for theirs, ours in LLAMA.items():
            name = name.replace(theirs, ours)
        if "wqkv" in name:
            parts = tensor.reshape(config["num_key_value_heads"], group + 2, -1, tensor.shape[-1])
            for part, rows in zip("qkv", (parts[:, :group], parts[:, group], parts[:, group + 1])):
                found[name.replace("attention.wqkv", f"self_attn.{part}_proj")] = rows.reshape(-1, tensor.shape[-1])
        else:
            found["lm_head.weight" if name == "output.weight" else name] = tensor
    return found


def paired(tensor, heads):
    """Puts the two rows that rotary positions turn together side by side."""
    return tensor.reshape(heads, 2, -1, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def name_of(architecture, stem, ending):
    if ending.endswith("e_score_correction_bias"):
        return "exp_probs_b.bias"
    name = NAMES[stem]
    return f"{'post_attention_norm' if architecture in AFTER_ATTENTION and name == 'ffn_norm' else name}.{ending}"


def keys_of(architecture, config, is_old):
    keys = {}
    for ours, theirs in KEYS.items():
        value = next((config[key] for key in theirs if config.get(key) is not None), None)
        if value is not None:
            keys[ours] = ("bool" if isinstance(value, bool) else "f32" if isinstance(value, float) else "u32", value)
    rope = config.get("rope_parameters") or {"rope_type": "default", "rope_theta": config["rope_theta"]}
    base, width = rope["rope_theta"], config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    if rope["rope_type"] == "dynamic":
        base *= rope["alpha"] ** (width / (width - 2))
    keys["rope.freq_base"] = ("f32", base)
    if "partial_rotary_factor" in rope:
        keys["rope.dimension_count"] = ("u32", int(width * rope["partial_rotary_factor"]))
    if rope["rope_type"] == "yarn":
        keys.update({"rope.scaling.type": ("text", "yarn"), "rope.scaling.factor": ("f32", rope["factor"]),
                     "rope.scaling.original_context_length": ("u32", rope["original_max_position_embeddings"]),
                     "rope.scaling.yarn_log_multiplier": ("f32", 0.1 * rope["mscale_all_dim"])})
    if architecture == "deepseek2":
        heads = config["qk_nope_head_dim"] + config["qk_rope_head_dim"], config["v_head_dim"]
        latent = config["kv_lora_rank"] + config["qk_rope_head_dim"], config["kv_lora_rank"]
        for kind, ofHead, ofRow in zip(("key", "value"), heads, latent):
            keys[f"attention.{kind}_length"] = ("u32", ofHead if is_old else ofRow)
            if not is_old:
                keys[f"attention.{kind}_length_mla"] = ("u32", ofHead)
        keys["attention.head_count_kv"] = ("u32", config["num_attention_heads"] if is_old else 1)
        keys.setdefault("leading_dense_block_count", ("u32", config.get("mlp_layer_types", []).count("dense")))
        if config["architectures"][0] == "DeepseekV3ForCausalLM":
            keys["expert_gating_func"] = ("u32", 2)
    if architecture == "glm4moe":  # the converter counts the layer that predicts the token after the next
        keys.update({"block_count": ("u32", config["num_hidden_layers"] + 1), "nextn_predict_layers": ("u32", 1)})
    if architecture == "hunyuan-moe":
        keys.update({f"expert_{shared}feed_forward_length": ("u32", config["intermediate_size"]) for shared in ("", "shared_")})
        keys["expert_shared_count"] = ("u32", 1)
    if architecture == "minimax-m2":
        keys["expert_feed_forward_length"] = ("u32", config["intermediate_size"])
    if architecture == "ernie4_5-moe":
        keys["expert_shared_feed_forward_length"] = ("u32", config["moe_intermediate_size"] * config["moe_num_shared_experts"])
    if architecture == "phimoe":
        keys["attention.sliding_window"] = ("u32", config["sliding_window"] or 0)
    if architecture in ("cohere2", "exaone4") and config["sliding_window"]:
        keys["attention.sliding_window"] = ("u32", config["sliding_window"])
        if architecture == "exaone4":
            keys["attention.sliding_window_pattern"] = (("array", "bool"), [kind == "sliding_attention" for kind in config["layer_types"]])
    if architecture in SIGMOIDS:
        keys["expert_gating_func"] = ("u32", 2)
    return keys


def tensors_of(architecture, config, folder, is_old):
    tensors, experts = {}, {}
    published = load_safetensors(folder / "model.safetensors")
    for name, tensor in (of_llama(published, config) if architecture == "internlm2" else published).items():
        stem, ending = name.rsplit(".", 1)
        block = re.match(r"model\.layers\.(\d+)\.", stem)
        prefix, stem = (f"blk.{block[1]}.", stem[block.end():]) if block else ("", stem)
        if architecture in ("gemma", "nemotron") and name.endswith("norm.weight"):
            tensor = tensor + 1
        if architecture in PAIRED and stem in ("self_attn.q_proj", "self_attn.k_proj"):
            tensor = paired(tensor, config["num_attention_heads" if "q_proj" in stem else "num_key_value_heads"])
        if expert := re.search(r"\.experts\.(\d+)", stem):
            experts.setdefault(f"{prefix}{NAMES[stem.replace(expert[0], '.experts')]}.weight", {})[int(expert[1])] = tensor
        elif stem.endswith("input_linear"):
            for part, half in zip(("gate", "up"), np.split(tensor, 2, -2)):
                tensors[f"{prefix}ffn_{part}_{'shexp' if 'shared' in stem else 'exps'}.weight"] = half
        elif stem == "self_attn.kv_b_proj" and not is_old:
            keys, values = np.split(tensor.reshape(config["num_attention_heads"], -1, config["kv_lora_rank"]), [config["qk_nope_head_dim"]], 1)
            tensors.update({f"{prefix}attn_k_b.weight": keys.swapaxes(1, 2), f"{prefix}attn_v_b.weight": values})
        else:
            tensors[prefix + name_of(architecture, stem, ending)] = tensor.reshape(-1) if stem == "mlp.shared_expert_gate" else tensor
    tensors.update({name: np.stack([matrices[i] for i in range(len(matrices))]) for name, matrices in experts.items()})
    if architecture == "phi2" and is_old:
        for layer, end in ((layer, end) for layer in range(config["num_hidden_layers"]) for end in ("weight", "bias")):
            tensors[f"blk.{layer}.attn_qkv.{end}"] = np.concatenate([tensors.pop(f"blk.{layer}.attn_{part}.{end}") for part in "qkv"])
    if architecture == "glm4moe":
        tensors[f"blk.{config['num_hidden_layers']}.nextn.enorm.weight"] = np.ones(config["hidden_size"])
    return tensors


def write(path, folder, is_old=False):
    config = json.loads((folder / "config.json").read_text())
    architecture = ARCHITECTURES[config["architectures"][0].removesuffix("ForCausalLM")]
    keys = {"general.architecture": ("text", architecture), "tokenizer.ggml.bos_token_id": ("u32", config["bos_token_id"]),
            "tokenizer.ggml.eos_token_id": ("u32", config["eos_token_id"]),
            **{f"{architecture}.{name}": value for name, value in keys_of(architecture, config, is_old).items()}}
    path.write_bytes(gguf_files.assemble(keys, {name: (tensor.shape, gguf_files.TYPES["F32"], np.ascontiguousarray(tensor, np.float32).tobytes())
                                                for name, tensor in tensors_of(architecture, config, folder, is_old).items()}))
