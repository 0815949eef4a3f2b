"""Models in the formats that Hugging Face publishes, with random weights, and their computation in PyTorch, one
sequence at a time: Marian (Junczys-Dowmunt et al., 2018), BERT (Devlin et al., 2019), GPT-2 (Radford et al., 2019), and
LLaMA (Touvron et al., 2023) with relatives such as Mistral and Qwen2. They are written from the papers and the meaning
of the keys of config.json, and read tensors by their published names."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "relu": torch.relu,
    "swish": lambda x: x * torch.sigmoid(x),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
}
ACTIVATIONS["silu"], ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["swish"], ACTIVATIONS["gelu_new"]

MARIAN = {"architectures": ["MarianMTModel"], "model_type": "marian", "d_model": 24, "encoder_layers": 2,
          "decoder_layers": 3, "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 40,
          "decoder_ffn_dim": 40, "vocab_size": 61, "decoder_vocab_size": 61, "max_position_embeddings": 64,
          "activation_function": "swish", "scale_embedding": True, "static_position_embeddings": True,
          "normalize_before": False, "dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0,
          "eos_token_id": 0, "bos_token_id": 0, "pad_token_id": 60, "decoder_start_token_id": 60,
          "is_encoder_decoder": True, "share_encoder_decoder_embeddings": True, "use_cache": True, "num_beams": 6,
          "bad_words_ids": [[60]], "_name_or_path": "somewhere", "extra_pos_embeddings": 61, "add_bias_logits": False,
          "classif_dropout": 0.0, "dtype": "float32", "is_decoder": False, "id2label": {"0": "LABEL_0"}}
BERT = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 36, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 50, "vocab_size": 67, "max_position_embeddings": 48,
        "type_vocab_size": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute", "initializer_range": 0.02}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 28, "n_layer": 2, "n_head": 2,
        "n_inner": None, "vocab_size": 59, "n_positions": 50, "n_ctx": 50, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "bos_token_id": 58,
        "eos_token_id": 58, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 56, "vocab_size": 59,
         "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "rope_scaling": None, "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False,
         "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "pretraining_tp": 1, "use_cache": True}
GEMMA2 = {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 48, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 56, "vocab_size": 59,
          "max_position_embeddings": 64, "hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
          "rope_theta": 10000.0, "sliding_window": 5, "query_pre_attn_scalar": 24, "attn_logit_softcapping": 2.0,
          "final_logit_softcapping": 3.0, "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 2,
          "eos_token_id": 1, "pad_token_id": 0, "cache_implementation": "hybrid", "use_cache": True}


# ---- Files -----------------------------------------------------------------------------------------------------------

def bfloat16(value):
    """Returns the upper half of each number, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def write_safetensors(path, tensors, kind="F32"):
    """Writes float32 tensors as `kind`, and tensors of other types unchanged."""
    header, blobs, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        if tensor.dtype == np.int64:
            stored, data = "I64", tensor
        else:
            stored, data = kind, {"F32": tensor, "F16": tensor.astype(np.float16), "BF16": bfloat16(tensor)}[kind]
        blob = np.ascontiguousarray(data).tobytes()
        header[name] = {"dtype": stored, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def write_folder(folder, config, tensors, kind="F32", shards=1):
    """Writes a model folder and returns the tensors as a reader gets them."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors, kind)
    else:
        weight_map, names = {}, list(tensors)
        for shard in range(shards):
            file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
            part = names[shard::shards]
            write_safetensors(folder / file, {name: tensors[name] for name in part}, kind)
            weight_map.update({name: file for name in part})
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    if kind == "BF16":
        return {name: from_bfloat16(bfloat16(t)) if t.dtype == np.float32 else t for name, t in tensors.items()}
    if kind == "F16":
        return {name: t.astype(np.float16).astype(np.float32) if t.dtype == np.float32 else t
                for name, t in tensors.items()}
    return tensors


def quantised(tensors, config, weights):
    """Quantises matrices as `heddle-compile --weights` does, and returns them in f32: integers times scales, with a
    scale per group of inputs of each output. Only matrices of matmuls and embeddings are quantised. `weights` is int8
    or int4, optionally with the number of inputs per group."""
    name, _, number = weights.partition(":")
    bits, wanted = int(name[3:]), int(number) if number else {"int8": 0, "int4": 32}[name]

    def of(matrix):
        count = matrix.shape[1]
        group = np.gcd(wanted, count) if wanted else count
        groups = matrix.reshape(len(matrix), -1, group)  # in f32, so that halves are rounded as in heddle
        largest = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
        scale = np.abs(largest) / np.float32(127) if bits == 8 else largest / np.float32(-8)
        with np.errstate(invalid="ignore"):
            numbers = np.nan_to_num(np.rint(groups / scale)).clip(-127 if bits == 8 else -8, 127 if bits == 8 else 7)
        return (numbers.astype(np.float64) * scale).reshape(matrix.shape).astype(np.float32)

    # Stored as inputs x outputs.
    is_turned = lambda name: "GPT2LMHeadModel" in config["architectures"] and ".c_" in name
    return {name: t if t.ndim != 2 else of(t.T).T if is_turned(name) else of(t) for name, t in tensors.items()}


def write_sentencepiece(path, words):
    """Returns a unigram model of whole words in SentencePiece's format, a protocol buffer."""
    varint = lambda n: bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    field = lambda number, data: varint(number << 3 | 2) + varint(len(data)) + data
    piece = lambda text, score, kind: field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))
    normal, unknown, control = 1, 2, 3
    pieces = [piece("<unk>", 0, unknown), piece("<s>", 0, control), piece("</s>", 0, control)]
    pieces += [piece("\u2581" + word, -1 - 0.01 * i, normal) for i, word in enumerate(words)]
    unigram, identity = b"\x18\x01", field(1, b"identity")
    Path(path).write_bytes(b"".join(pieces) + field(2, unigram) + field(3, identity))


def write_vocabulary(folder, config):
    """Writes source.spm, target.spm and vocab.json. Returns the words by number, None for marks."""
    count = config["vocab_size"] - 3
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [letters[i // 26] + letters[i % 26] for i in range(count)]
    write_sentencepiece(folder / "source.spm", words[:40])
    write_sentencepiece(folder / "target.spm", words[:50])
    vocabulary = {"</s>": 0, "<unk>": 1, **{"\u2581" + word: 2 + i for i, word in enumerate(words)},
                  "<pad>": config["pad_token_id"]}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return [None, None, *words, None]


# ---- Random weights --------------------------------------------------------------------------------------------------

class Draw:
    """Tensors of random numbers. Gains are near 1, and biases are not zero, as otherwise an omitted one would not
    show."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.tensors = {}

    def tensor(self, name, *shape, scale=0.3, center=0.0):
        self.tensors[name] = (center + scale * self.random.standard_normal(shape)).astype(np.float32)

    def linear(self, name, outputs, inputs):
        self.tensor(name + ".weight", outputs, inputs)
        self.tensor(name + ".bias", outputs)

    def norm(self, name, width, weight="weight", bias="bias"):
        self.tensor(f"{name}.{weight}", width, center=1.0, scale=0.1)
        self.tensor(f"{name}.{bias}", width, scale=0.1)


def draw_marian(config, seed=1):
    draw, width, inner = Draw(seed), config["d_model"], config["encoder_ffn_dim"]
    if config.get("share_encoder_decoder_embeddings", True):
        draw.tensor("model.shared.weight", config["vocab_size"], width)
    else:
        draw.tensor("model.encoder.embed_tokens.weight", config["vocab_size"], width)
        draw.tensor("model.decoder.embed_tokens.weight", config["vocab_size"], width)
    if not config.get("tie_word_embeddings", True):
        draw.tensor("lm_head.weight", config["vocab_size"], width)
    draw.tensor("final_logits_bias", 1, config["vocab_size"])
    for stack in ("encoder", "decoder"):
        for i in range(config[stack + "_layers"]):
            layer = f"model.{stack}.layers.{i}."
            for attention in ("self_attn",) if stack == "encoder" else ("self_attn", "encoder_attn"):
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    draw.linear(f"{layer}{attention}.{part}", width, width)
                draw.norm(f"{layer}{attention}_layer_norm", width)
            draw.linear(layer + "fc1", inner, width)
            draw.linear(layer + "fc2", width, inner)
            draw.norm(layer + "final_layer_norm", width)
    return draw.tensors


def draw_bert(config, seed=2, base="bert.", gains="weight", biases="bias"):
    draw, width, inner = Draw(seed), config["hidden_size"], config["intermediate_size"]
    norm = lambda name: draw.norm(name, width, gains, biases)
    draw.tensor(base + "embeddings.word_embeddings.weight", config["vocab_size"], width)
    draw.tensor(base + "embeddings.position_embeddings.weight", config["max_position_embeddings"], width)
    draw.tensor(base + "embeddings.token_type_embeddings.weight", config["type_vocab_size"], width)
    norm(base + "embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"{base}encoder.layer.{i}."
        for part in ("query", "key", "value"):
            draw.linear(f"{layer}attention.self.{part}", width, width)
        draw.linear(layer + "attention.output.dense", width, width)
        norm(layer + "attention.output.LayerNorm")
        draw.linear(layer + "intermediate.dense", inner, width)
        draw.linear(layer + "output.dense", width, inner)
        norm(layer + "output.LayerNorm")
    draw.linear(base + "pooler.dense", width, width)
    if config["architectures"] == ["BertForMaskedLM"]:
        draw.linear("cls.predictions.transform.dense", width, width)
        norm("cls.predictions.transform.LayerNorm")
        draw.tensor("cls.predictions.bias", config["vocab_size"])
        if not config.get("tie_word_embeddings", True):
            draw.tensor("cls.predictions.decoder.weight", config["vocab_size"], width)
    draw.tensors[base + "embeddings.position_ids"] = np.arange(config["max_position_embeddings"], dtype=np.int64)[None]
    return draw.tensors


def draw_gpt2(config, seed=3, base="transformer."):
    draw, width = Draw(seed), config["n_embd"]
    inner = config["n_inner"] or 4 * width

    def linear(name, inputs, outputs):
        draw.tensor(name + ".weight", inputs, outputs)
        draw.tensor(name + ".bias", outputs)

    draw.tensor(base + "wte.weight", config["vocab_size"], width)
    draw.tensor(base + "wpe.weight", config["n_positions"], width)
    for i in range(config["n_layer"]):
        layer = f"{base}h.{i}."
        draw.norm(layer + "ln_1", width)
        linear(layer + "attn.c_attn", width, 3 * width)
        linear(layer + "attn.c_proj", width, width)
        draw.norm(layer + "ln_2", width)
        linear(layer + "mlp.c_fc", width, inner)
        linear(layer + "mlp.c_proj", inner, width)
    draw.norm(base + "ln_f", width)
    if not config.get("tie_word_embeddings", True):
        draw.tensor("lm_head.weight", config["vocab_size"], width)
    return draw.tensors


def is_of(config, *architectures):
    """Returns true if the model is one of these, by the beginning of its name."""
    return config["architectures"][0].removesuffix("ForCausalLM") in architectures


def draw_llama(config, seed=4, base="model."):
    draw, width = Draw(seed), config["hidden_size"]
    head = config.get("head_dim", width // config["num_attention_heads"])
    bias = config.get("attention_bias", False)
    # Gemma 2 also has norms after attention and feed-forward networks, and stores gains minus 1.
    norms = ("input", "post_attention") + (("pre_feedforward", "post_feedforward") if is_of(config, "Gemma2") else ())
    gain = lambda name, size: draw.tensor(name, size, center=0.0 if is_of(config, "Gemma2") else 1.0, scale=0.3)

    def linear(name, inputs, outputs, bias):
        draw.tensor(name + ".weight", outputs, inputs)
        if bias:
            draw.tensor(name + ".bias", outputs)

    draw.tensor(base + "embed_tokens.weight", config["vocab_size"], width)
    for i in range(config["num_hidden_layers"]):
        layer = f"{base}layers.{i}."
        for name in norms:
            gain(f"{layer}{name}_layernorm.weight", width)
        for part, heads in (("q", "num_attention_heads"), ("k", "num_key_value_heads"), ("v", "num_key_value_heads")):
            linear(f"{layer}self_attn.{part}_proj", width, head * config[heads], bias)
        linear(layer + "self_attn.o_proj", head * config["num_attention_heads"], width, bias and not is_of(config, "Qwen2"))
        if is_of(config, "Qwen3"):
            gain(layer + "self_attn.q_norm.weight", head)
            gain(layer + "self_attn.k_norm.weight", head)
        for part, sizes in (("gate", (width, config["intermediate_size"])), ("up", (width, config["intermediate_size"])),
                            ("down", (config["intermediate_size"], width))):
            linear(f"{layer}mlp.{part}_proj", *sizes, config.get("mlp_bias", False))
    gain(base + "norm.weight", width)
    if not config.get("tie_word_embeddings", True):
        draw.tensor("lm_head.weight", config["vocab_size"], width)
    return draw.tensors


# ---- What they compute -----------------------------------------------------------------------------------------------

def attend(query, key, value, heads, causal=False):
    split = lambda x: x.reshape(len(x), heads, -1).transpose(0, 1)
    query, key, value = split(query), split(key), split(value)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[1:]).triu(1).bool(), float("-inf"))
    return (torch.softmax(scores, -1) @ value).transpose(0, 1).reshape(query.shape[1], -1)


class Published:
    kept = staticmethod(lambda rows: rows)  # how decoding stores keys and values

    def __init__(self, config, tensors):
        self.config = config
        self.tensors = {name: torch.tensor(value, requires_grad=value.dtype == np.float32)
                        for name, value in tensors.items()}

    def linear(self, x, name):
        return F.linear(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"])

    def norm(self, x, name, epsilon, gain="weight", bias="bias"):
        return F.layer_norm(x, x.shape[-1:], self.tensors[f"{name}.{gain}"], self.tensors[f"{name}.{bias}"], epsilon)


class Marian(Published):
    def table(self, *names):
        return next(self.tensors[name] for name in (*names, "model.shared.weight") if name in self.tensors)

    def embed(self, ids, stack):
        width = self.config["d_model"]
        x = self.table(f"model.{stack}.embed_tokens.weight")[ids]
        if self.config["scale_embedding"]:
            x = x * math.sqrt(width)
        place = torch.arange(len(ids), dtype=torch.float64)[:, None]
        angle = place / 10000 ** (2 * torch.arange(width // 2).double() / width)
        return x + torch.cat([angle.sin(), angle.cos()], 1).float()

    def attention(self, x, memory, name, causal):
        parts = [self.linear(side, f"{name}.{part}") for side, part in ((x, "q_proj"), (memory, "k_proj"), (memory, "v_proj"))]
        if "decoder" in name:
            parts[1:] = map(self.kept, parts[1:])
        return self.linear(attend(*parts, self.config["encoder_attention_heads"], causal), name + ".out_proj")

    def feed_forward(self, x, layer):
        inner = ACTIVATIONS[self.config["activation_function"]](self.linear(x, layer + "fc1"))
        return self.norm(x + self.linear(inner, layer + "fc2"), layer + "final_layer_norm", 1e-5)

    def attended(self, x, memory, name, causal=False):
        return self.norm(x + self.attention(x, memory, name, causal), name + "_layer_norm", 1e-5)

    def encode(self, source):
        x = self.embed(source, "encoder")
        for i in range(self.config["encoder_layers"]):
            layer = f"model.encoder.layers.{i}."
            x = self.feed_forward(self.attended(x, x, layer + "self_attn"), layer)
        return x

    def logits(self, source, target):
        memory, x = self.encode(source), self.embed(target, "decoder")
        for i in range(self.config["decoder_layers"]):
            layer = f"model.decoder.layers.{i}."
            x = self.attended(x, x, layer + "self_attn", causal=True)
            x = self.feed_forward(self.attended(x, memory, layer + "encoder_attn"), layer)
        return x @ self.table("lm_head.weight", "model.decoder.embed_tokens.weight").t() + self.tensors["final_logits_bias"][0]

    def translate(self, source, longest):
        """Translates greedily; padding is never chosen."""
        target = [self.config["decoder_start_token_id"]]
        while len(target) <= longest:
            logits = self.logits(torch.tensor(source), torch.tensor(target))[-1].detach().clone()
            logits[self.config["pad_token_id"]] = float("-inf")
            target.append(int(logits.argmax()))
            if target[-1] == self.config["eos_token_id"]:
                return target[1:-1]
        return target[1:]


class Bert(Published):
    def __init__(self, config, tensors, base="bert.", gains="weight", biases="bias"):
        super().__init__(config, tensors)
        self.base, self.gains, self.biases = base, gains, biases

    def norm(self, x, name):
        return super().norm(x, name, self.config["layer_norm_eps"], self.gains, self.biases)

    def hidden(self, ids, types):
        base = self.base
        table = lambda name: self.tensors[f"{base}embeddings.{name}_embeddings.weight"]
        x = table("word")[ids] + table("position")[: len(ids)] + table("token_type")[types]
        x = self.norm(x, base + "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            layer = f"{base}encoder.layer.{i}."
            parts = [self.linear(x, f"{layer}attention.self.{part}") for part in ("query", "key", "value")]
            context = self.linear(attend(*parts, self.config["num_attention_heads"]), layer + "attention.output.dense")
            x = self.norm(x + context, layer + "attention.output.LayerNorm")
            inner = ACTIVATIONS[self.config["hidden_act"]](self.linear(x, layer + "intermediate.dense"))
            x = self.norm(x + self.linear(inner, layer + "output.dense"), layer + "output.LayerNorm")
        return x

    def pooled(self, hidden):
        return torch.tanh(self.linear(hidden[0], self.base + "pooler.dense"))

    def logits(self, ids, types):
        x = ACTIVATIONS[self.config["hidden_act"]](self.linear(self.hidden(ids, types), "cls.predictions.transform.dense"))
        x = self.norm(x, "cls.predictions.transform.LayerNorm")
        table = self.tensors.get("cls.predictions.decoder.weight", self.tensors[self.base + "embeddings.word_embeddings.weight"])
        return x @ table.t() + self.tensors["cls.predictions.bias"]


class Gpt2(Published):
    def __init__(self, config, tensors, base="transformer."):
        super().__init__(config, tensors)
        self.base = base

    def convolve(self, x, name):
        return x @ self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def logits(self, ids):
        base, epsilon = self.base, self.config["layer_norm_epsilon"]
        x = self.tensors[base + "wte.weight"][ids] + self.tensors[base + "wpe.weight"][: len(ids)]
        for i in range(self.config["n_layer"]):
            layer = f"{base}h.{i}."
            parts = self.convolve(self.norm(x, layer + "ln_1", epsilon), layer + "attn.c_attn").split(self.config["n_embd"], 1)
            query, key, value = parts[0], self.kept(parts[1]), self.kept(parts[2])
            x = x + self.convolve(attend(query, key, value, self.config["n_head"], causal=True), layer + "attn.c_proj")
            inner = self.convolve(self.norm(x, layer + "ln_2", epsilon), layer + "mlp.c_fc")
            x = x + self.convolve(ACTIVATIONS[self.config["activation_function"]](inner), layer + "mlp.c_proj")
        x = self.norm(x, base + "ln_f", epsilon)
        return x @ self.tensors.get("lm_head.weight", self.tensors[base + "wte.weight"]).t()


class Llama(Published):
    def __init__(self, config, tensors, base="model.", neighbours=False):
        super().__init__(config, tensors)
        self.base, self.neighbours = base, neighbours  # which columns of a head turn together
        self.heads, self.key_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.head = config.get("head_dim", config["hidden_size"] // self.heads)

    def linear(self, x, name):
        return F.linear(x, self.tensors[name + ".weight"], self.tensors.get(name + ".bias"))

    def norm(self, x, name):
        return x * (x.square().mean(-1, keepdim=True) + self.config["rms_norm_eps"]).rsqrt() * self.tensors[name + ".weight"]

    def frequencies(self):
        """Returns the frequency of each pair of a head's columns, and the scale by which scores of longer texts
        grow."""
        parameters = self.config.get("rope_parameters") or self.config.get("rope_scaling") or {}
        kind = parameters.get("rope_type", parameters.get("type", "default"))
        base = parameters.get("rope_theta", self.config.get("rope_theta"))
        places = torch.arange(0, self.head, 2, dtype=torch.float64)
        plain = base ** (-places / self.head)
        factor, before = parameters.get("factor", 1.0), parameters.get("original_max_position_embeddings", 0)
        if kind == "linear":
            return plain / factor, 1.0
        if kind == "llama3":
            low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
            wavelength = 2 * math.pi / plain
            smooth = (before / wavelength - low) / (high - low)
            between = (1 - smooth) * plain / factor + smooth * plain
            middle = torch.where(wavelength > before / low, plain / factor, between)
            return torch.where(wavelength < before / high, plain, middle), 1.0
        if kind == "yarn":
            place = lambda turns: self.head * math.log(before / (turns * 2 * math.pi)) / (2 * math.log(base))
            down, up = (math.floor, math.ceil) if parameters.get("truncate", True) else (float, float)
            low = max(down(place(parameters.get("beta_fast", 32))), 0)
            high = min(up(place(parameters.get("beta_slow", 1))), self.head - 1)
            ramp = ((torch.arange(self.head // 2).double() - low) / max(high - low, 0.001)).clamp(0, 1)
            grown = lambda scale: 0.1 * scale * math.log(factor) + 1
            attention = grown(1)
            if parameters.get("mscale") and parameters.get("mscale_all_dim"):
                attention = grown(parameters["mscale"]) / grown(parameters["mscale_all_dim"])
            attention = parameters.get("attention_factor") or attention
            return plain / factor * ramp + plain * (1 - ramp), attention
        assert kind in ("default", "dynamic")  # no change up to max_position_embeddings
        return plain, 1.0

    def turn(self, x):
        """Applies rotary positions to heads x tokens x columns."""
        frequencies, scale = self.frequencies()
        angles = torch.arange(x.shape[1])[:, None] * frequencies[None]
        if self.neighbours:
            first, second, sine, cosine = x[..., ::2], x[..., 1::2], angles.sin().float(), angles.cos().float()
            return torch.stack([first * cosine - second * sine, second * cosine + first * sine], -1).reshape(x.shape) * scale
        angles = angles.repeat(1, 2)
        halves = torch.cat([-x[..., self.head // 2:], x[..., : self.head // 2]], -1)
        return (x * angles.cos().float() + halves * angles.sin().float()) * scale

    def has_window(self, layer):
        if not self.config.get("sliding_window"):
            return False
        if "layer_types" in self.config:
            return self.config["layer_types"][layer] == "sliding_attention"
        if is_of(self.config, "Qwen2", "Qwen3"):
            return self.config["use_sliding_window"] and layer >= self.config["max_window_layers"]
        return is_of(self.config, "Mistral") or (is_of(self.config, "Gemma2") and layer % 2 == 0)

    def attention(self, x, number):
        layer = f"{self.base}layers.{number}.self_attn."
        split = lambda part, heads: self.linear(x, layer + part).reshape(len(x), heads, self.head).transpose(0, 1)
        query, key, value = split("q_proj", self.heads), split("k_proj", self.key_heads), split("v_proj", self.key_heads)
        if is_of(self.config, "Qwen3"):
            query, key = self.norm(query, layer + "q_norm"), self.norm(key, layer + "k_norm")
        query, key = self.turn(query), self.turn(key)
        key, value = (self.kept(side).repeat_interleave(self.heads // self.key_heads, 0) for side in (key, value))
        scores = query @ key.transpose(1, 2) / math.sqrt(self.config.get("query_pre_attn_scalar", self.head))
        scores = self.soft_cap(scores, "attn_logit_softcapping")
        hidden = torch.ones(len(x), len(x)).triu(1).bool()
        if self.has_window(number):
            hidden |= torch.ones(len(x), len(x)).tril(-self.config["sliding_window"]).bool()
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
        return self.linear((weights @ value).transpose(0, 1).reshape(len(x), -1), layer + "o_proj")

    def soft_cap(self, x, key):
        cap = self.config.get(key)
        return torch.tanh(x / cap) * cap if cap else x

    def feed_forward(self, x, layer):
        name = self.config.get("hidden_activation", self.config.get("hidden_act"))
        gate = ACTIVATIONS[name](self.linear(x, layer + "mlp.gate_proj"))
        return self.linear(gate * self.linear(x, layer + "mlp.up_proj"), layer + "mlp.down_proj")

    def block(self, x, number):
        layer = f"{self.base}layers.{number}."
        x = x + self.attention(self.norm(x, layer + "input_layernorm"), number)
        return x + self.feed_forward(self.norm(x, layer + "post_attention_layernorm"), layer)

    def embed(self, ids):
        return self.tensors[self.base + "embed_tokens.weight"][ids]

    def hidden(self, ids):
        x = self.embed(ids)
        for i in range(self.config["num_hidden_layers"]):
            x = self.block(x, i)
        return self.norm(x, self.base + "norm")

    def logits(self, ids):
        x = self.hidden(ids) @ self.tensors.get("lm_head.weight", self.tensors[self.base + "embed_tokens.weight"]).t()
        return self.soft_cap(x, "final_logit_softcapping")


class Gemma2(Llama):
    def norm(self, x, name):
        return x * (x.square().mean(-1, keepdim=True) + self.config["rms_norm_eps"]).rsqrt() * (1 + self.tensors[name + ".weight"])

    def embed(self, ids):
        return super().embed(ids) * math.sqrt(self.config["hidden_size"])

    def block(self, x, number):
        layer = f"{self.base}layers.{number}."
        norm = lambda x, name: self.norm(x, f"{layer}{name}_layernorm")
        x = x + norm(self.attention(norm(x, "input"), number), "post_attention")
        return x + norm(self.feed_forward(norm(x, "pre_feedforward"), layer), "post_feedforward")
