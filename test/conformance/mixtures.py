"""Compares configurations of mixtures of experts, and of newer decoders, with the logits that Hugging Face's transformers computes for them: layers
without experts, groups of experts, shared experts, latent attention, windows; in folders and in GGUF files. mixtures.json has the configurations, the
tensors of their folders, and these logits. The weights are a function of their names.

    mixtures.py --bin build/bin [--only NAME ...] [--target=NAME]
    mixtures.py --make                    # writes mixtures.json anew; needs torch and transformers"""

import argparse
import json
import re
import sys
import tempfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import mixture_file
from compiled import Model, Report, default_target, relative
from tensor_files import load_safetensors, pack_targets, save_safetensors, without_labels

FILE = Path(__file__).with_name("mixtures.json")
BOUND, VOCABULARY = 1e-4, 24
SEQUENCES = [[3, 17, 9, 9, 22, 5, 14, 3, 11, 20, 7, 13], [8, 21, 4, 16, 10]]
KEYS = {"max_tokens": 32, "max_sequences": 2, "max_length": 16, "logits_entry": True, "token_weights": False}
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 32, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
ROUTED = {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 1, "moe_intermediate_size": 12}
LATENT = {**ROUTED, "num_key_value_heads": 4, "kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 8, "mscale": 0.7, "mscale_all_dim": 0.7}
CHOSEN = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
VARIANTS = {
    "qwen3moe": ("Qwen3Moe", {**CHOSEN, "head_dim": 8, "num_hidden_layers": 5, "decoder_sparse_step": 2, "mlp_only_layers": [3], "use_sliding_window": True,
                              "sliding_window": 3, "max_window_layers": 1}),
    "qwen2moe": ("Qwen2Moe", {**CHOSEN, "num_hidden_layers": 3, "decoder_sparse_step": 2, "shared_expert_intermediate_size": 20, "norm_topk_prob": True,
                              "use_sliding_window": True, "sliding_window": 3}),
    "qwen2moe-old": ("Qwen2Moe", {**CHOSEN, "num_hidden_layers": 3, "mlp_only_layers": [0], "shared_expert_intermediate_size": 20, "qkv_bias": False,
                                  "use_sliding_window": True, "sliding_window": 3}),
    "qwen2moe-plain": ("Qwen2Moe", {**CHOSEN, "shared_expert_intermediate_size": 20}),
    "olmoe": ("Olmoe", {"num_experts": 6, "num_experts_per_tok": 2, "clip_qkv": 0.5}),
    "granitemoe": ("GraniteMoe", {"num_local_experts": 5, "num_experts_per_tok": 2, "attention_bias": True, "logits_scaling": 2.5, "tie_word_embeddings": True}),
    "granitemoeshared": ("GraniteMoeShared", {"num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 20, "embedding_multiplier": 3.0,
                                              "residual_multiplier": 0.4, "attention_multiplier": 0.2}),
    "deepseek-v3": ("DeepseekV3", {**LATENT, "q_lora_rank": 12, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1, "rope_parameters": YARN}),
    "deepseek-v3-halves": ("DeepseekV3", {**LATENT, "q_lora_rank": None, "n_group": 1, "topk_group": 1, "rope_interleave": False, "attention_bias": True,
                                          "first_k_dense_replace": 0, "norm_topk_prob": False}),
    "deepseek-v2": ("DeepseekV2", {**LATENT, "q_lora_rank": None, "topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2, "n_shared_experts": 2,
                                   "routed_scaling_factor": 4.0}),
    "glm4moe": ("Glm4Moe", {**ROUTED, "head_dim": 8, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}),
    "glm4moe-norms": ("Glm4Moe", {**ROUTED, "head_dim": 8, "use_qk_norm": True, "attention_bias": True, "routed_scaling_factor": 2.5}),
    "glm4moelite": ("Glm4MoeLite", {**LATENT, "q_lora_rank": 12, "mlp_layer_types": ["sparse", "dense"]}),
    "glm4moelite-dense-first": ("Glm4MoeLite", {**LATENT, "q_lora_rank": 12, "mlp_layer_types": ["dense", "sparse"]}),
    "dots1": ("Dots1", {**ROUTED, "head_dim": 8, "num_hidden_layers": 3, "sliding_window": 3, "max_window_layers": 1, "attention_bias": True}),
    "dots1-plain": ("Dots1", {**ROUTED, "head_dim": 8, "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5}),
    "ernie": ("Ernie4_5_Moe", {"num_hidden_layers": 4, "moe_num_experts": 6, "moe_k": 3, "moe_intermediate_size": 12, "moe_layer_interval": 2}),
    "minimaxm2": ("MiniMaxM2", {"head_dim": 8, "rotary_dim": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0}),
    "phimoe": ("Phimoe", {"num_local_experts": 6, "num_experts_per_tok": 2, "router_jitter_noise": 0.3, "attention_bias": True, "lm_head_bias": True,
                          "sliding_window": 3}),
    "phimoe-plain": ("Phimoe", {"num_local_experts": 6, "num_experts_per_tok": 2, "attention_bias": True, "lm_head_bias": True, "sliding_window": 3}),
    "hunyuan": ("HunYuanMoEV1", {"num_experts": 5, "moe_topk": 2, "head_dim": 6, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 50.0, "factor": 1.0}}),
}
# Variants with a GGUF file, too. The format has no keys for the others' windows, layers with experts, and jitters.
DENSE = {
    "hunyuan-dense": ("HunYuanDenseV1", {"head_dim": 8, "tie_word_embeddings": True}),
    "ernie-dense": ("Ernie4_5", {"head_dim": 8}),
    "gemma": ("Gemma", {"head_dim": 8}),
    "glm4": ("Glm4", {"head_dim": 8}),
    "seed-oss": ("SeedOss", {"head_dim": 8, "attention_dropout": 0.0, "residual_dropout": 0.0}),
    "cohere2": ("Cohere2", {"num_hidden_layers": 4, "sliding_window": 3}),
    "exaone4": ("Exaone4", {"num_hidden_layers": 5, "sliding_window": 3, "head_dim": 8}),
    "exaone4-plain": ("Exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 2}),
    "nemotron": ("Nemotron", {"head_dim": 4, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}),
    "arcee": ("Arcee", {"head_dim": 4}),
    "phi": ("Phi", {"num_key_value_heads": 4, "resid_pdrop": 0.0}),
    "internlm2": ("InternLM2", {}),
}
VARIANTS.update(DENSE)
FILES = ("qwen2moe-plain", "granitemoe", "granitemoeshared", "deepseek-v3", "deepseek-v2", "glm4moe", "glm4moe-norms", "glm4moelite-dense-first",
         "dots1-plain", "ernie", "minimaxm2", "phimoe-plain", "hunyuan", *DENSE)
OLDER = "deepseek-v3", "deepseek-v2", "phi"  # with an older GGUF file, in which matrices are joined


def draw(name, shape):
    """Returns numbers that depend only on the name and the shape: around 1 for gains, around 0 for biases and matrices."""
    bits = np.arange(np.prod(shape), dtype=np.uint64) * 2654435761 + zlib.crc32(name.encode())
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
        bits = (bits ^ (bits >> shift)) * factor % (1 << 32)
    uniform = (bits / 2.0**31 - 1).reshape(shape)
    if len(shape) == 1:
        return (0.3 * uniform + (not name.endswith("bias"))).astype(np.float32)
    return (1.5 * uniform / shape[-1] ** 0.5).astype(np.float32)


def write(folder, variant):
    tensors = {}
    for pattern, (shape, *numbers) in variant["tensors"].items():
        for all in numbers or [[]]:
            name = re.sub(r"\*", lambda _, left=iter(all): str(next(left)), pattern)
            tensors[name] = draw(name, shape)
    folder.mkdir()
    save_safetensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(variant["config"]))


def internlm2():
    """Returns a variant of InternLM 2, which transformers does not have."""
    width, inner, layers = SIZES["hidden_size"], SIZES["intermediate_size"], [[i] for i in range(SIZES["num_hidden_layers"])]
    shapes = {"attention.wqkv": [width * 2, width], "attention.wo": [width, width], "attention_norm": [width], "ffn_norm": [width],
              "feed_forward.w1": [inner, width], "feed_forward.w3": [inner, width], "feed_forward.w2": [width, inner]}
    config = {**SIZES, "architectures": ["InternLM2ForCausalLM"], "bias": False, "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
              "rope_theta": 10000.0, "rope_scaling": None}
    return {"config": config, "tensors": {"model.tok_embeddings.weight": [[VOCABULARY, width]], "output.weight": [[VOCABULARY, width]],
                                          "model.norm.weight": [[width]],
                                          **{f"model.layers.*.{stem}.weight": [shape, *layers] for stem, shape in shapes.items()}}}


def make_internlm2(folder):
    """Returns the variant with the logits of LLaMA, which has the same weights in other tensors."""
    import transformers
    write(folder / "drawn", variant := internlm2())
    (folder / "llama").mkdir()
    config = {key: value for key, value in variant["config"].items() if key not in ("bias", "architectures")}
    (folder / "llama" / "config.json").write_text(json.dumps({**config, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}))
    tensors = mixture_file.of_llama(load_safetensors(folder / "drawn" / "model.safetensors"), config)
    save_safetensors(folder / "llama" / "model.safetensors", {key: np.ascontiguousarray(value) for key, value in tensors.items()})
    return with_logits(variant, transformers.LlamaForCausalLM, folder / "llama")


def with_logits(variant, model, folder):
    import torch
    model = model.from_pretrained(folder, attn_implementation="eager").float().eval()
    with torch.no_grad():
        rows = [model(torch.tensor([ids]), use_cache=False).logits[0, -1].tolist() for ids in SEQUENCES]
    return {**variant, "logits": [[float(f"{value:.7g}") for value in row] for row in rows]}


def make_variant(name, folder):
    """Returns a variant with transformers' logits of each sequence's last token."""
    if name == "internlm2":
        return make_internlm2(folder)
    import transformers
    from safetensors import safe_open
    family, options = VARIANTS[name]
    config = getattr(transformers, f"{family}Config")(**{**SIZES, **options})
    getattr(transformers, f"{family}ForCausalLM")(config).save_pretrained(folder)
    variant, tensors = {"config": json.loads((folder / "config.json").read_text())}, {}
    with safe_open(folder / "model.safetensors", "np") as file:
        for tensor in sorted(file.keys()):
            numbers, shape = [int(part) for part in tensor.split(".") if part.isdigit()], list(file.get_slice(tensor).get_shape())
            entry = tensors.setdefault(re.sub(r"(?<=\.)\d+(?=\.)", "*", tensor), [shape])
            if numbers:
                entry.append(numbers)
    if name.endswith("-old"):
        del variant["config"]["layer_types"]
    write(folder / "drawn", variant := {**variant, "tensors": tensors})
    return with_logits(variant, getattr(transformers, f"{family}ForCausalLM"), folder / "drawn")


def make():
    lines = []
    for name in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            variant = make_variant(name, Path(folder))
        lines.append(f'"{name}": {{' + ",\n  ".join(f'"{key}": {json.dumps(value)}' for key, value in variant.items()) + "}")
    FILE.write_text("{" + ",\n".join(lines) + "}\n")


def decode(model):
    """Returns the logits of each sequence's last token, computed token by token with caches."""
    i32, rows = lambda *values: np.asarray(values, np.int32), []
    for ids in SEQUENCES:
        for step, token in enumerate(ids):
            (logits,) = model.call("decode_step", {
                "token": i32(token), "position": i32(step), "query_starts": i32(0), "query_lengths": i32(1), "cache_rows": i32(step),
                "cache_starts": i32(0), "cache_lengths": i32(step + 1)}, ["logits"])
        rows.append(logits.reshape(-1))
    return np.stack(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--only", choices=VARIANTS, nargs="*", default=[*VARIANTS])
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    if arguments.make:
        return make()
    report, variants = Report(), json.loads(FILE.read_text())
    inputs = without_labels(pack_targets([([], ids, ids) for ids in SEQUENCES], token_scale=False))
    last = np.cumsum([len(ids) for ids in SEQUENCES]) - 1
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder, "model"), variants[name])
            sources = ["model"]
            if name in FILES:
                mixture_file.write(Path(folder, "model.gguf"), Path(folder, "model"))
                sources.append("model.gguf")
            if name in OLDER:
                mixture_file.write(Path(folder, "older.gguf"), Path(folder, "model"), is_old=True)
                sources.append("older.gguf")
            for source in sources:
                named = SimpleNamespace(bin=arguments.bin, model=Path(folder, source))
                with Model(named, KEYS, folder, arguments.target, flags=["--entries=inference"]) as model:
                    (logits,) = model.call("logits", inputs, ["logits"], variables=source)
                    report.check(f"logits of {name}, {source}", relative(logits[last], variants[name]["logits"]), BOUND)
                    report.check("  with caches", relative(decode(model), variants[name]["logits"]), BOUND)
    print(f"mixtures: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
