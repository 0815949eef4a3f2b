"""Writes GGUF files of small models, from the published description of the format: keys, tensors and quantised blocks.
The weights are those that published.py draws, by their published names."""

import math
import struct
from pathlib import Path

import numpy as np

import piece_models
import published
import subwords

ARCHITECTURES = {"Llama": "llama", "Mistral": "llama", "Qwen2": "qwen2", "Qwen3": "qwen3", "Gemma2": "gemma2"}
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8, "Q6_K": 14, "IQ2_XXS": 16, "BF16": 30}

# ---- Values ----------------------------------------------------------------------------------------------------------

KINDS = {"u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "text": 8, "array": 9, "u64": 10,
         "i64": 11, "f64": 12}
CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?", "u64": "Q", "i64": "q",
         "f64": "d"}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, given):
    if kind == "text":
        return text(given)
    if isinstance(kind, tuple):  # an array of the second kind
        inner = kind[1]
        number = KINDS["array"] if isinstance(inner, tuple) else KINDS[inner]
        return struct.pack("<IQ", number, len(given)) + b"".join(value(inner, one) for one in given)
    return struct.pack("<" + CODES[kind], given)


def key(name, kind, given):
    return text(name) + struct.pack("<I", KINDS["array" if isinstance(kind, tuple) else kind]) + value(kind, given)


# ---- Blocks ----------------------------------------------------------------------------------------------------------

def store(tensor, kind):
    """Returns the bytes of a tensor, and the values that a reader gets."""
    tensor = np.ascontiguousarray(tensor, np.float32)
    if kind == "F32":
        return tensor.tobytes(), tensor
    if kind == "F16":
        half = tensor.astype(np.float16)
        return half.tobytes(), half.astype(np.float32)
    if kind == "BF16":
        bits = published.bfloat16(tensor)
        return bits.tobytes(), published.from_bfloat16(bits)
    if kind == "IQ2_XXS":  # 256 numbers in 66 bytes; Heddle does not read this type
        return bytes(tensor.size // 256 * 66), tensor
    blocks = tensor.reshape(-1, 256 if kind == "Q6_K" else 32)
    data, numbers = {"Q8_0": bytes_of_8, "Q4_0": bytes_of_4, "Q6_K": bytes_of_6}[kind](blocks)
    return data, numbers.reshape(tensor.shape)


def halves(scales):
    return scales.astype(np.float16)


def divided(blocks, scales):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scales == 0, 0, blocks / scales)


def bytes_of_8(blocks):
    scale = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    numbers = np.rint(divided(blocks, scale)).astype(np.int8)
    half = halves(scale)
    data = np.concatenate([half.view(np.uint8), numbers.view(np.uint8)], -1)
    return data.tobytes(), half.astype(np.float32) * numbers


def bytes_of_4(blocks):
    """Packs Q4_0: the number of largest magnitude becomes -8; each byte holds a number of the block's first half below
    one of the second half."""
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[:, None], -1)
    scale = largest / np.float32(-8)
    numbers = np.clip(np.floor(divided(blocks, scale) + 8.5), 0, 15).astype(np.uint8)
    half = halves(scale)
    data = np.concatenate([half.view(np.uint8), numbers[:, :16] | numbers[:, 16:] << 4], -1)
    return data.tobytes(), half.astype(np.float32) * (numbers.astype(np.float32) - 8)


def bytes_of_6(blocks):
    """Packs Q6_K: in each half of 128 numbers, four runs of 32 share bytes; every 16 numbers have an 8-bit scale."""
    groups = blocks.reshape(-1, 16, 16)
    scale = np.abs(groups).max(-1) / np.float32(31)
    whole = halves(scale.max(-1, keepdims=True) / np.float32(127)).astype(np.float32)
    scales = np.rint(divided(scale, whole)).astype(np.int8)
    steps = whole * scales
    numbers = np.clip(np.rint(divided(groups, steps[..., None])), -32, 31)
    codes = (numbers + 32).astype(np.uint8).reshape(-1, 2, 4, 32)
    low = codes & 15
    lower = np.concatenate([low[:, :, 0] | low[:, :, 2] << 4, low[:, :, 1] | low[:, :, 3] << 4], -1).reshape(-1, 128)
    upper = sum((codes[:, :, run] >> 4) << (2 * run) for run in range(4)).astype(np.uint8).reshape(-1, 64)
    data = np.concatenate([lower, upper, scales.view(np.uint8), halves(whole).view(np.uint8)], -1)
    return data.tobytes(), (steps[..., None] * numbers).astype(np.float32).reshape(blocks.shape)


# ---- Models ----------------------------------------------------------------------------------------------------------

def architecture(config):
    return ARCHITECTURES[config["architectures"][0].removesuffix("ForCausalLM")]


def head_width(config):
    return config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])


def name_of(config, published_name):
    """Returns a tensor's name in the file."""
    stem, ending = published_name.rsplit(".", 1)
    outside = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    if stem in outside:
        return f"{outside[stem]}.{ending}"
    _, _, layer, part = stem.split(".", 3)
    is_gemma = architecture(config) == "gemma2"
    inside = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
              "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
              "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
              "post_attention_layernorm": "post_attention_norm" if is_gemma else "ffn_norm",
              "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
    return f"blk.{layer}.{inside[part]}.{ending}"


def pairs_together(tensor, heads):
    """Puts rows side by side that rotary positions turn together; in the published model they are half a head apart."""
    return tensor.reshape(heads, 2, len(tensor) // heads // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def pairs_apart(tensor, heads):
    return tensor.reshape(heads, len(tensor) // heads // 2, 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def heads_of(config, name):
    """Returns the number of heads for tensors of queries and keys whose rows LLaMA files reorder."""
    if architecture(config) == "llama" and "q_proj" in name:
        return config["num_attention_heads"]
    return config["num_key_value_heads"] if architecture(config) == "llama" and "k_proj" in name else 0


def stored_and_read(config, name, tensor, kind):
    """Returns a tensor's bytes in the file, and its value in the published model after reading."""
    heads = heads_of(config, name)
    added = 1 if architecture(config) == "gemma2" and name.endswith("norm.weight") else 0
    data, read = store(pairs_together(tensor, heads) if heads else tensor + np.float32(added), kind)
    return data, pairs_apart(read, heads) if heads else read - np.float32(added)


def keys_of(config):
    """Returns the keys that converters write for a model of this configuration."""
    name, width = architecture(config), head_width(config)
    keys = {"general.architecture": ("text", name), "general.name": ("text", "Somewhere's"),
            f"{name}.context_length": ("u32", config["max_position_embeddings"]),
            f"{name}.embedding_length": ("u32", config["hidden_size"]),
            f"{name}.block_count": ("u32", config["num_hidden_layers"]),
            f"{name}.feed_forward_length": ("u32", config["intermediate_size"]),
            f"{name}.attention.head_count": ("u32", config["num_attention_heads"]),
            f"{name}.attention.head_count_kv": ("u32", config["num_key_value_heads"]),
            f"{name}.attention.layer_norm_rms_epsilon": ("f32", config["rms_norm_eps"]),
            f"{name}.rope.freq_base": ("f32", config["rope_theta"])}
    if "head_dim" in config:
        keys.update({f"{name}.attention.key_length": ("u32", width), f"{name}.attention.value_length": ("u32", width)})
    if name == "llama":
        keys.update({"llama.rope.dimension_count": ("u32", width), "llama.vocab_size": ("u32", config["vocab_size"]),
                     "llama.expert_count": ("u32", 0)})  # as some converters write it
    if config.get("sliding_window") and config.get("use_sliding_window", True):
        keys[f"{name}.attention.sliding_window"] = ("u32", config["sliding_window"])
    if name == "gemma2":
        keys.update({"gemma2.attn_logit_softcapping": ("f32", config["attn_logit_softcapping"]),
                     "gemma2.final_logit_softcapping": ("f32", config["final_logit_softcapping"])})
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in ("linear", "yarn"):
        keys.update({f"{name}.rope.scaling.type": ("text", kind), f"{name}.rope.scaling.factor": ("f32", scaling["factor"])})
    if kind == "yarn":
        keys[f"{name}.rope.scaling.original_context_length"] = ("u32", scaling["original_max_position_embeddings"])
        if "attention_factor" in scaling:  # the files store it relative to yarn's own
            keys[f"{name}.rope.scaling.attn_factor"] = ("f32", scaling["attention_factor"] / (0.1 * math.log(scaling["factor"]) + 1))
    return keys


def rotary_divisors(config):
    """Returns the divisors of the rotary frequencies by LLaMA 3's rule; none for other models."""
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") != "llama3":
        return None
    width, length = head_width(config), scaling["original_max_position_embeddings"]
    waves = 2 * math.pi * config["rope_theta"] ** (np.arange(0, width, 2) / width)
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    kept = np.clip((length / waves - low) / (high - low), 0, 1)
    return (1 / (kept + (1 - kept) / factor)).astype(np.float32)


def assemble(keys, tensors, version=3, alignment=32):
    """Writes a file with the keys, {name: (kind, value)}, and the tensors, {name: (shape, type, bytes)}."""
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    header += b"".join(key(name, *given) for name, given in keys.items())
    padded = lambda data: data + bytes(-len(data) % alignment)
    infos, data = b"", b""
    for name, (shape, kind, blob) in tensors.items():
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, len(data))
        data += padded(blob)
    return padded(header + infos) + data


def write(path, config, tensors, kind="F32", kinds={}, keys={}, version=3, alignment=32, extra={}):
    """Writes the model with its matrices as `kind`, or as `kinds` says for a part of a name. Returns the tensors as the
    published model would have them then. `keys` are added to the model's own (None removes one), and so are `extra`
    tensors."""
    stored, read = {}, {}
    for name, tensor in tensors.items():
        own = next((kinds[part] for part in kinds if part in name), kind if tensor.ndim == 2 else "F32")
        data, read[name] = stored_and_read(config, name, tensor, own)
        stored[name_of(config, name)] = (tensor.shape, TYPES[own], data)
    if (divisors := rotary_divisors(config)) is not None:
        stored["rope_freqs.weight"] = (divisors.shape, TYPES["F32"], divisors.tobytes())
    stored.update(extra)
    all_keys = {**keys_of(config), **keys}
    if alignment != 32:
        all_keys["general.alignment"] = ("u32", alignment)
    present = lambda given: {name: one for name, one in given.items() if one is not None}
    Path(path).write_bytes(assemble(present(all_keys), present(stored), version, alignment))
    return read


# ---- Vocabularies ----------------------------------------------------------------------------------------------------

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def tokens_of(pieces, kind_of):
    """Returns the keys for pieces by number."""
    pieces = [pieces[number] for number in range(len(pieces))]
    return {"tokenizer.ggml.tokens": (("array", "text"), pieces),
            "tokenizer.ggml.token_type": (("array", "i32"), [kind_of(piece) for piece in pieces])}


def byte_pair_keys(vocabulary, cutting):
    """Returns the keys for subwords.BytePairs; `cutting` is the files' name for its way of cutting words."""
    end = vocabulary.vocabulary[subwords.END]
    kind = lambda piece: CONTROL if piece == subwords.END else USER_DEFINED if piece in vocabulary.added else NORMAL
    return {"tokenizer.ggml.model": ("text", "gpt2"), "tokenizer.ggml.pre": ("text", cutting),
            **tokens_of(vocabulary.pieces, kind),
            "tokenizer.ggml.merges": (("array", "text"), [f"{a} {b}" for a, b in vocabulary.merges]),
            "tokenizer.ggml.bos_token_id": ("u32", end), "tokenizer.ggml.eos_token_id": ("u32", end),
            "tokenizer.ggml.add_bos_token": ("bool", False)}


def piece_keys(vocabulary, space_first):
    """Returns the keys for a piece_models.Vocabulary with a Scored model."""
    marks = [token["content"] for token in vocabulary.tokens]
    kind = lambda piece: (UNKNOWN if piece == "<unk>" else CONTROL if piece in marks else BYTE if piece in piece_models.BYTES
                          else NORMAL)
    scores = [vocabulary.model.scores.get(vocabulary.pieces[number], 0.0) for number in range(len(vocabulary.pieces))]
    return {"tokenizer.ggml.model": ("text", "llama"), **tokens_of(vocabulary.pieces, kind),
            "tokenizer.ggml.scores": (("array", "f32"), scores), "tokenizer.ggml.bos_token_id": ("u32", 1),
            "tokenizer.ggml.eos_token_id": ("u32", 2), "tokenizer.ggml.unknown_token_id": ("u32", 0),
            "tokenizer.ggml.add_space_prefix": ("bool", space_first)}
