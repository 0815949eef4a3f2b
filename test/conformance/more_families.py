"""Compares families with Hugging Face's transformers on random folders that it writes here: options that the folders of
references do not have, such as biases, norms of heads, tied and odd vocabularies. Skipped without torch and
transformers.

    more_families.py --bin build/bin [--family NAME] [--target=NAME]"""

import argparse
import copy
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import gguf_files
from compiled import default_target
from tensor_files import load_safetensors, save_safetensors

SKIPPED, LENGTHS, STEPS = 77, (1, 7, 33), 20
SIZES = {"vocab_size": 96, "hidden_size": 48, "intermediate_size": 72, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 128, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
FAMILIES = {
    "cohere": ("Cohere", {"num_key_value_heads": 2},
               {"num_key_value_heads": 1, "use_qk_norm": True, "attention_bias": True, "tie_word_embeddings": False, "vocab_size": 93,
                "logit_scale": 0.4, "rope_theta": 5000.0, "num_attention_heads": 6}),
    "stablelm": ("StableLm", {"num_attention_heads": 3, "num_key_value_heads": 3},
                 {"num_key_value_heads": 2, "use_qkv_bias": True, "qk_layernorm": True, "use_parallel_residual": True,
                  "partial_rotary_factor": 0.5, "tie_word_embeddings": True, "vocab_size": 93},
                 {"num_key_value_heads": 1, "qk_layernorm": True, "num_attention_heads": 3, "hidden_act": "gelu"}),
    "glm4-moe": ("Glm4Moe", {"num_key_value_heads": 2, "moe_intermediate_size": 20, "n_routed_experts": 8, "num_experts_per_tok": 3, "num_hidden_layers": 3,
                             "first_k_dense_replace": 1, "routed_scaling_factor": 1.5, "use_qk_norm": True, "head_dim": 16, "n_shared_experts": 2, "attention_bias": True},
                 {"num_key_value_heads": 4, "moe_intermediate_size": 24, "n_routed_experts": 6, "num_experts_per_tok": 2, "num_hidden_layers": 2,
                  "first_k_dense_replace": 0, "norm_topk_prob": False, "tie_word_embeddings": True}),
    "qwen2-moe": ("Qwen2Moe", {"num_key_value_heads": 2, "moe_intermediate_size": 20, "shared_expert_intermediate_size": 28, "num_experts": 6,
                               "num_experts_per_tok": 2, "num_hidden_layers": 3, "decoder_sparse_step": 2}),
    "granite-moe": ("GraniteMoeShared", {"num_key_value_heads": 2, "num_local_experts": 5, "num_experts_per_tok": 2, "shared_intermediate_size": 28,
                                         "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.11}),
    "deepseek": ("DeepseekV3", {"kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 10,
                                "num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 1,
                                "moe_intermediate_size": 20, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1}),
    "neox": ("GPTNeoX", {"num_attention_heads": 3},
             {"use_parallel_residual": False, "attention_bias": False, "tie_word_embeddings": True, "vocab_size": 93,
              "hidden_act": "gelu_new", "rotary_pct": 1.0}),
}


# llama.cpp's names of architectures, of keys with the configuration's (its converter writes no base of rotary positions for the
# last two), and of tensors.
ARCHITECTURES = {"Cohere": "command-r", "StableLm": "stablelm", "GPTNeoX": "gptneox"}
KEYS = {"context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
        "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads"}
TENSORS = {"embed_tokens": "token_embd", "embed_in": "token_embd", "model.norm": "output_norm", "final_layer_norm": "output_norm",
           "lm_head": "output", "embed_out": "output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
           "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "q_norm": "attn_q_norm",
           "k_norm": "attn_k_norm", "q_layernorm": "attn_q_norm", "k_layernorm": "attn_k_norm", "gate_proj": "ffn_gate",
           "up_proj": "ffn_up", "down_proj": "ffn_down", "query_key_value": "attn_qkv", "dense": "attn_output",
           "dense_h_to_4h": "ffn_up", "dense_4h_to_h": "ffn_down"}


def gguf_name(name):
    stem, ending = name.rsplit(".", 1)
    layer = next((part for part in stem.split(".") if part.isdigit()), None)
    ours = TENSORS.get(stem) or TENSORS[stem.rsplit(".", 1)[-1]]
    return f"blk.{layer}.{ours}.{ending}" if layer else f"{ours}.{ending}"


def write_gguf(folder, name, config):
    """Writes the folder's model as llama.cpp's converter does."""
    architecture, tensors = ARCHITECTURES[name], {}
    for theirs, value in load_safetensors(folder / "model.safetensors").items():
        if ".norms." in theirs:  # the norms of all heads are one tensor
            stem, head = theirs.removesuffix(".weight").split(".norms.")
            tensors.setdefault(f"{stem}.weight", {})[int(head)] = value
        elif "query_key_value" in theirs:  # all queries, then all keys, then all values
            each = value.reshape(config.num_attention_heads, 3, -1, *value.shape[1:])
            tensors[theirs] = np.concatenate([each[:, part].reshape(-1, *value.shape[1:]) for part in range(3)])
        else:
            tensors[theirs] = value
    tensors = {theirs: np.stack([value[i] for i in range(len(value))]) if isinstance(value, dict) else value
               for theirs, value in tensors.items()}
    keys = {"general.architecture": ("text", architecture), "tokenizer.ggml.bos_token_id": ("u32", config.bos_token_id),
            "tokenizer.ggml.eos_token_id": ("u32", config.eos_token_id),
            f"{architecture}.attention.layer_norm_epsilon": ("f32", config.layer_norm_eps)}
    keys.update({f"{architecture}.{key}": ("u32", getattr(config, theirs)) for key, theirs in KEYS.items() if hasattr(config, theirs)})
    rotary = config.rope_parameters
    if name == "Cohere":
        keys.update({f"{architecture}.rope.freq_base": ("f32", rotary["rope_theta"]), f"{architecture}.rope.scaling.type": ("text", "none"),
                     f"{architecture}.logit_scale": ("f32", config.logit_scale)})
    else:
        turned = int(rotary.get("partial_rotary_factor", 1) * (config.hidden_size // config.num_attention_heads))
        keys.update({f"{architecture}.rope.dimension_count": ("u32", turned),
                     f"{architecture}.use_parallel_residual": ("bool", config.use_parallel_residual)})
    stored = {gguf_name(theirs): (value.shape, gguf_files.TYPES["F32"], np.ascontiguousarray(value, np.float32).tobytes())
              for theirs, value in tensors.items()}
    (folder / "model.gguf").write_bytes(gguf_files.assemble(keys, stored))


def draw(name, options):
    """Returns a random model, whose biases and gains differ from their initial values, too."""
    import torch
    import transformers
    torch.manual_seed(5)
    keys = {**SIZES, **options}
    theta = {"rope_parameters": {"rope_type": "default", "rope_theta": keys.pop("rope_theta")}} if "rope_theta" in keys else {}
    config = getattr(transformers, f"{name}Config")(**keys, **theta, attn_implementation="eager")
    model = getattr(transformers, f"{name}ForCausalLM")(config).float()
    with torch.no_grad():
        for value in model.parameters():
            if value.dim() == 1 or value.shape[-1] == config.hidden_size // config.num_attention_heads:
                value += 0.3 * torch.randn_like(value)
            else:
                value.copy_(torch.randn_like(value) * 0.6 / value.shape[-1] ** 0.5)
        for name, value in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                value.copy_(0.1 * torch.randn_like(value))
    return model.eval()


def write(folder, name, options):
    """Writes the model, and what transformers computes for it, as families.py reads them."""
    import torch
    from safetensors.torch import save_file
    model = draw(name, options)
    model.save_pretrained(folder)
    if name == "Glm4Moe":  # published folders have a further layer, which transformers does not load
        tensors = load_safetensors(folder / "model.safetensors")
        tensors[f"model.layers.{model.config.num_hidden_layers}.eh_proj.weight"] = np.ones((48, 96), np.float32)
        save_safetensors(folder / "model.safetensors", tensors)
    # The format has no key for the activation.
    usual = "gelu" if name == "GPTNeoX" else "silu"
    if name in ARCHITECTURES and options.get("hidden_act", usual) == usual:
        write_gguf(folder, name, model.config)
    reference = folder / "reference"
    reference.mkdir()
    draws = torch.Generator().manual_seed(7)
    sequences = [torch.randint(3, model.config.vocab_size, (length,), generator=draws).tolist() for length in LENGTHS]
    logits = lambda ids: model(torch.tensor([ids]), use_cache=False).logits[0]

    def loss():
        losses = [torch.nn.functional.cross_entropy(logits(ids)[:-1], torch.tensor(ids[1:]), reduction="sum")
                  for ids in sequences if len(ids) > 1]
        return sum(losses) / sum(len(ids) - 1 for ids in sequences)

    with torch.no_grad():
        save_file({str(i): logits(ids).contiguous() for i, ids in enumerate(sequences)}, reference / "logits.safetensors")
        ids, margins = list(sequences[1]), []
        for _ in range(STEPS):
            best = logits(ids)[-1].topk(2)
            ids.append(best.indices[0].item())
            margins.append((best.values[0] - best.values[1]).item())
    write_adapter(folder, model, sequences)
    loss().backward()
    named = {id(value): name for name, value in reversed([*model.named_parameters(remove_duplicate=False)])}
    save_file({named[id(value)]: value.grad.contiguous() for value in model.parameters()}, reference / "gradients.safetensors")
    adam, losses = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0), []
    for _ in range(STEPS):
        adam.zero_grad()
        value = loss()
        value.backward()
        adam.step()
        losses.append(value.item())
    length = len(sequences[1])
    for file, value in {"ids": sequences, "greedy": {"prompt": ids[:length], "tokens": ids[length:], "margins": margins},
                        "adam": losses}.items():
        (reference / f"{file}.json").write_text(json.dumps(value))


def write_adapter(folder, model, sequences):
    """Writes an adapter of all linear transformations, and the logits with it, if there is the package peft."""
    import torch
    from safetensors.torch import save_file
    if importlib.util.find_spec("peft") is None:
        return
    import peft
    if hasattr(model.config, "num_experts_per_tok"):  # such adapters are refused
        return
    adapted = peft.get_peft_model(copy.deepcopy(model), peft.LoraConfig(r=3, lora_alpha=6, target_modules="all-linear")).eval()
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora_B" in name:
                value.copy_(torch.randn_like(value) * 0.1)
        adapted.save_pretrained(folder / "adapter")
        save_file({str(i): adapted(torch.tensor([ids]), use_cache=False).logits[0].contiguous() for i, ids in enumerate(sequences)},
                  folder / "reference" / "adapter.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--family", choices=FAMILIES, nargs="*", default=[*FAMILIES])
    parser.add_argument("--flag", action="append", help="of heddle-compile")
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers", "safetensors")):
        print("there are no Python packages torch, transformers and safetensors")
        sys.exit(SKIPPED)
    import families
    failed = 0
    for family in arguments.family:
        name, *choices = FAMILIES[family]
        for number, options in enumerate(choices):
            print(f"{name}, {options}:", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                write(Path(folder, family), name, options)
                failed += families.check(SimpleNamespace(**{**vars(arguments), "references": folder, "family": family, "folder_only": False}))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
