"""Compiles Hugging Face folders with random weights and compares their results with PyTorch's.

    huggingface.py --bin build/bin --case NAME

One ragged batch has sequences of 1, 7 and 33 tokens and others between. Compares hidden states, logits, losses and
gradients."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import gguf_files
import published
import tensor_files
from compiled import Model, Report, decode_with_cache, relative

BOUND = 1e-4
LENGTHS = [1, 33, 7, 12]
COMMON = {"max_tokens": 64, "max_sequences": 8, "dropout": 0.0, "attention_dropout": 0.0, "label_smoothing": 0.0}
DECODER = {**COMMON, "logits_entry": True, "accumulate": True}
TEXT = {"max_tokens": 64, "max_sequences": 8, "logits_entry": True, "accumulate": True, "token_weights": False}


def pack(lengths, side):
    i32 = lambda values: np.asarray(values, np.int32)
    return {side + "_positions": i32([p for length in lengths for p in range(length)]),
            side + "_starts": i32(np.cumsum([0] + lengths[:-1])), side + "_lengths": i32(lengths)}


def error(actual, expected):
    """Returns the largest error, relative for numbers above 1."""
    expected = np.asarray(expected.detach() if torch.is_tensor(expected) else expected, np.float64)
    return float(np.max(np.abs(np.asarray(actual, np.float64) - expected) / np.maximum(1, np.abs(expected))))


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Case:
    def __init__(self, arguments, folder, config, tensors, overrides, kind="F32", shards=1, weights=None, caches=None, gguf=None):
        """If `gguf` is given, the model is a GGUF file written with these arguments of gguf_files.write; otherwise a
        Hugging Face folder."""
        self.name = "published" if gguf is None else "published.gguf"
        if gguf is None:
            self.tensors = published.write_folder(Path(folder) / self.name, config, tensors, kind, shards)
        else:
            self.tensors = gguf_files.write(f"{folder}/{self.name}", config, tensors, kind, **gguf)
        flags = [f"--weights={weights or 'f32'}"]  # packed_types.py tests weights that stay packed as in the file
        flags += [f"--caches={caches}"] if caches else []
        self.keeps = (lambda rows: rows.half().float()) if caches else (lambda rows: rows)
        # A number in the middle of two f16 numbers is rounded by the last bit of its f32 value, so it may go either
        # way.
        self.bound_of_caches = 5e-4 if caches else BOUND
        self.model = Model(SimpleNamespace(bin=arguments.bin, model=f"{folder}/{self.name}"), overrides, folder,
                           arguments.target, flags=flags)
        self.is_trained = not weights
        if weights:
            packed = published.quantised(self.tensors, config, weights)
            if gguf is not None:
                self.lost = max(np.abs(packed[name] - value).max() for name, value in self.tensors.items())
            self.tensors = packed
        self.report = Report()
        self.random = np.random.default_rng(5)

    def call(self, entry, inputs, outputs, **extra):
        return self.model.call(entry, inputs, outputs, variables=self.name, **extra)

    def with_caches(self, oracle, compute):
        """Returns the result of `compute` with keys and values rounded as in the caches."""
        oracle.kept = self.keeps
        result = compute()
        oracle.kept = lambda rows: rows
        return result

    def draw(self, count, vocabulary):
        return self.random.integers(1, vocabulary - 1, count).tolist()

    def check_gradients(self, expected, inputs, pairs):
        """Checks loss and gradients. `pairs` has our weights' names and PyTorch's gradients."""
        (loss,) = self.call("accumulate_step", inputs, ["loss"], save="gradients.safetensors")
        self.report.check("loss", error(loss, [expected.item()]), BOUND)
        expected.backward()
        gradients = tensor_files.load_safetensors(f"{self.model.folder}/gradients.safetensors")
        for name, gradient in pairs():
            self.report.check(f"gradient of {name}", relative(gradients["grad." + name], gradient), 1e-3)


def marian(arguments, folder, changes={}, **files):
    config = {**published.MARIAN, **changes}
    case = Case(arguments, folder, config, published.draw_marian(config), DECODER, **files)
    oracle = published.Marian(config, case.tensors)
    begin, end = config["decoder_start_token_id"], config["eos_token_id"]
    batch = []
    for source, target in zip(LENGTHS, reversed(LENGTHS)):
        words = case.draw(target - 1, config["vocab_size"])
        batch.append((case.draw(source - 1, config["vocab_size"]) + [end], [begin] + words, words + [end]))

    packed = tensor_files.pack(batch, token_scale=False)
    expected = [oracle.logits(torch.tensor(source), torch.tensor(target)) for source, target, _ in batch]
    (logits,) = case.call("logits", tensor_files.without_labels(packed), ["logits"])
    case.report.check("logits", error(logits, torch.cat(expected)), BOUND)
    whole = f"{case.name}/model.safetensors"
    if Path(folder, whole).exists():  # by itself, with its tensors under the published names
        (logits,) = case.model.call("logits", tensor_files.without_labels(packed), ["logits"], variables=whole)
        case.report.check("logits of the file alone", error(logits, torch.cat(expected)), BOUND)
    labels = torch.tensor([label for _, _, labels in batch for label in labels])
    losses = torch.nn.functional.cross_entropy(torch.cat(expected), labels, reduction="none")
    (actual,) = case.call("eval", packed, ["token_loss"])
    case.report.check("loss of each token", error(actual, losses), BOUND)
    steps = 9
    cached = decode_with_cache(case.model, batch, steps)
    kept = case.with_caches(oracle, lambda: [oracle.logits(torch.tensor(source), torch.tensor(target)) for source, target, _ in batch])
    case.report.check("logits with a cache", error(cached, torch.cat([rows[:steps] for rows in kept])), case.bound_of_caches)

    tensor = lambda name: oracle.tensors[name].grad
    pairs = [("output.bias", lambda: tensor("final_logits_bias")[0]),
             ("encoder.0.feed_forward.inner.weight", lambda: tensor("model.encoder.layers.0.fc1.weight").t()),
             ("encoder.1.self.value.weight", lambda: tensor("model.encoder.layers.1.self_attn.v_proj.weight").t()),
             ("decoder.0.cross.query.bias", lambda: tensor("model.decoder.layers.0.encoder_attn.q_proj.bias")),
             ("decoder.1.norm2.gamma", lambda: tensor("model.decoder.layers.1.encoder_attn_layer_norm.weight")),
             ("decoder.0.feed_forward.outer.weight", lambda: tensor("model.decoder.layers.0.fc2.weight").t())]
    if "model.shared.weight" in oracle.tensors and "lm_head.weight" not in oracle.tensors:
        pairs.append(("embedding", lambda: tensor("model.shared.weight")))
    case.check_gradients(losses.mean(), tensor_files.pack(batch), lambda: [(name, get()) for name, get in pairs])
    return case


def bert(arguments, folder, changes={}, names={}, **files):
    config = {**published.BERT, **changes}
    masked = config["architectures"] == ["BertForMaskedLM"]
    case = Case(arguments, folder, config, published.draw_bert(config, **names), {**COMMON, "pooler": True}, **files)
    oracle = published.Bert(config, case.tensors, **names)
    batch = [case.draw(length, config["vocab_size"]) for length in LENGTHS]
    types = [[int(i > length // 2) for i in range(length)] for length in LENGTHS]
    inputs = {"source": np.asarray(sum(batch, []), np.int32), "source_types": np.asarray(sum(types, []), np.int32),
              **pack(LENGTHS, "source")}
    hidden, pooled = case.call("encode", inputs, ["hidden", "pooled"])
    expected = [oracle.hidden(torch.tensor(ids), torch.tensor(kinds)) for ids, kinds in zip(batch, types)]
    case.report.check("hidden states", error(hidden, torch.cat(expected)), BOUND)
    case.report.check("pooled states", error(pooled, torch.stack([oracle.pooled(states) for states in expected])), BOUND)
    if masked:
        (logits,) = case.call("logits", inputs, ["logits"])
        case.report.check("logits", error(logits, torch.cat(
            [oracle.logits(torch.tensor(ids), torch.tensor(kinds)) for ids, kinds in zip(batch, types)])), BOUND)
    return case


def check_decoder(case, oracle, config, pairs):
    """Tests a decoder-only model; `pairs` are the gradients of some of its weights."""
    batch = [case.draw(length + 1, config["vocab_size"]) for length in LENGTHS]
    flat = lambda rows: np.asarray(sum(rows, []), np.int32)
    inputs = {"target_in": flat([ids[:-1] for ids in batch]), "target_out": flat([ids[1:] for ids in batch]),
              **pack(LENGTHS, "target")}
    expected = [oracle.logits(torch.tensor(ids[:-1])) for ids in batch]
    (logits,) = case.call("logits", tensor_files.without_labels(inputs), ["logits"])
    case.report.check("logits", error(logits, torch.cat(expected)), BOUND)
    losses = torch.nn.functional.cross_entropy(torch.cat(expected), torch.tensor(inputs["target_out"]).long(),
                                               reduction="none")
    (actual,) = case.call("eval", inputs, ["token_loss"])
    case.report.check("loss of each token", error(actual, losses), BOUND)

    cached, steps = [[] for _ in batch], 9
    i32 = lambda values: np.asarray(list(values), np.int32)
    for step in range(steps):
        going = [s for s, length in enumerate(LENGTHS) if step < length]
        (rows,) = case.model.call("decode_step", {
            "token": i32(batch[s][step] for s in going), "position": i32(step for _ in going),
            "query_starts": i32(range(len(going))), "query_lengths": i32(1 for _ in going),
            "cache_rows": i32(s * steps + step for s in going), "cache_starts": i32(s * steps for s in going),
            "cache_lengths": i32(step + 1 for _ in going)}, ["logits"])
        for s, row in zip(going, rows):
            cached[s].append(row)
    kept = case.with_caches(oracle, lambda: [oracle.logits(torch.tensor(ids[:-1])) for ids in batch])
    case.report.check("logits with a cache", error(np.concatenate([np.stack(rows) for rows in cached]), torch.cat(
        [rows[:steps] for rows in kept])), case.bound_of_caches)
    if case.is_trained:
        case.check_gradients(losses.mean(), {**inputs, "token_scale": np.asarray([1 / len(losses)], np.float32)}, pairs)
    return case


def gpt2(arguments, folder, changes={}, base="transformer.", **files):
    config = {**published.GPT2, **changes}
    case = Case(arguments, folder, config, published.draw_gpt2(config, base=base), {**DECODER, "token_weights": False}, **files)
    oracle = published.Gpt2(config, case.tensors, base)
    tensor = lambda name: oracle.tensors[base + name].grad
    width = config["n_embd"]
    return check_decoder(case, oracle, config, lambda: [
        ("decoder.0.self.value.weight", tensor("h.0.attn.c_attn.weight")[:, 2 * width:]),
        ("decoder.1.feed_forward.inner.bias", tensor("h.1.mlp.c_fc.bias")),
        ("decoder.1.norm2.gamma", tensor("h.1.ln_2.weight")), ("decoder.norm.beta", tensor("ln_f.bias")),
        ("positions", tensor("wpe.weight"))])


def llama(arguments, folder, changes={}, base="model.", family=published.LLAMA, neighbours=False, **files):
    config = {**family, **changes}
    is_of = lambda *names: published.is_of(config, *names)
    tensors = published.draw_llama(config, base=base)
    for name, tensor in tensors.items():  # wide models would accumulate the errors of large numbers
        if tensor.ndim == 2:
            tensor *= min(1, 100 / config["hidden_size"])
    case = Case(arguments, folder, config, tensors,
                {**TEXT, "rotary_pairs": "neighbours"} if neighbours else TEXT, **files)
    oracle = (published.Gemma2 if is_of("Gemma2") else published.Llama)(config, case.tensors, base, neighbours)
    tensor = lambda name: oracle.tensors[base + name].grad
    parts = (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o"))
    sides = (("gate", "gate"), ("inner", "up"), ("outer", "down"))
    pairs = [(f"decoder.1.self.{ours}.weight", f"layers.1.self_attn.{theirs}_proj.weight") for ours, theirs in parts]
    pairs += [(f"decoder.0.feed_forward.{ours}.weight", f"layers.0.mlp.{theirs}_proj.weight") for ours, theirs in sides]
    pairs += [("decoder.0.norm1.gain", "layers.0.input_layernorm.weight"), ("embedding", "embed_tokens.weight"),
              ("decoder.1.norm2.gain", "layers.1.post_attention_layernorm.weight"), ("decoder.norm.gain", "norm.weight")]
    if config.get("attention_bias"):
        pairs += [(f"decoder.0.self.{ours}.bias", f"layers.0.self_attn.{theirs}_proj.bias")
                  for ours, theirs in parts[:3 if is_of("Qwen2") else 4]]
    if config.get("mlp_bias"):
        pairs += [(f"decoder.1.feed_forward.{ours}.bias", f"layers.1.mlp.{theirs}_proj.bias") for ours, theirs in sides]
    if is_of("Qwen3"):
        pairs += [("decoder.0.self.query.norm.gain", "layers.0.self_attn.q_norm.weight"),
                  ("decoder.1.self.key.norm.gain", "layers.1.self_attn.k_norm.weight")]
    if is_of("Gemma2"):
        pairs += [("decoder.0.norm3.gain", "layers.0.pre_feedforward_layernorm.weight"),
                  ("decoder.2.norm4.gain", "layers.2.post_feedforward_layernorm.weight")]
    turned = lambda gradient: gradient.t() if gradient.dim() == 2 else gradient
    return check_decoder(case, oracle, config, lambda: [
        (ours, tensor(theirs) if ours == "embedding" else turned(tensor(theirs))) for ours, theirs in pairs])


def translate(arguments, folder):
    """Translates lines with source.spm, the model and target.spm, and then trains, starting from the published
    weights."""
    config, tool = published.MARIAN, f"{arguments.bin}/heddle-run"
    # Large weights make the answer depend on the source.
    tensors = {name: 2 * value if name.endswith("weight") and "norm" not in name else value
               for name, value in published.draw_marian(config).items()}
    case = Case(arguments, folder, config, tensors, {**DECODER, "max_tokens": 256, "warmup": 10, "learning_rate": 0.01,
                                                     "explain_entry": True})
    words = published.write_vocabulary(Path(folder) / "published", config)
    oracle = published.Marian(config, case.tensors)
    sources = [case.random.integers(2, 42, length).tolist() for length in (1, 7, 33, 3, 12)]
    lines = [" ".join(words[i] for i in ids) for ids in sources] + ["", "ab zz?"]
    sources.append([words.index("ab"), 1])
    text = "\n".join(lines) + "\n"
    said = run([tool, "translate", f"{folder}/model.heddle", "--checkpoint", f"{folder}/published"], text).splitlines()
    expected = [" ".join(words[i] for i in oracle.translate(ids + [0], min(len(ids) + 50, 64)) if words[i])
                for ids in sources]
    expected.insert(5, "")
    case.report.check("translated lines that differ", sum(a != b for a, b in zip(said, expected)), 0)
    slow = run([tool, "translate", f"{folder}/model.heddle", "--checkpoint", f"{folder}/published", "--no-cache"], text)
    case.report.check("lines that differ without a cache", sum(a != b for a, b in zip(said, slow.splitlines())), 0)
    case.report.check("lines that are missing", abs(len(said) - len(lines)), 0)
    case.report.check("lines that are all alike", int(len(set(said)) < 4), 0)

    # The same weights, as if they had been trained on sources without an end mark.
    Path(f"{folder}/without").mkdir()
    without = Model(SimpleNamespace(bin=arguments.bin, model=f"{folder}/published"),
                    {**DECODER, "max_tokens": 256, "source_end": False}, f"{folder}/without", arguments.target).artifact
    said_without = run([tool, "translate", without, "--checkpoint", f"{folder}/published"], text).splitlines()
    expected = [" ".join(words[i] for i in oracle.translate(ids, min(len(ids) + 50, 64)) if words[i]) for ids in sources]
    expected.insert(5, "")
    case.report.check("translated lines without an end mark that differ", sum(a != b for a, b in zip(said_without, expected, strict=True)), 0)
    case.report.check("lines for which the end mark counts", int(sum(a != b for a, b in zip(said, said_without)) == 0), 0)

    ids = [line.split("\t")[0] for line in run([tool, "tokenize", f"{folder}/published"], text).splitlines()]
    case.report.check("lines whose tokens differ", sum(
        a != " ".join(map(str, b)) for a, b in zip(ids, [*sources[:5], [], sources[5]], strict=True)), 0)

    run([tool, "explain", f"{folder}/model.heddle", "--checkpoint", f"{folder}/published", "--src", lines[1], "--html",
         f"{folder}/page.html"])
    page = json.loads(re.search(r'id="data">(.*?)</script>', Path(f"{folder}/page.html").read_text()).group(1))
    read, spoken = (page[side] for side in ("source", "target"))
    case.report.check("words of the page that differ", int(len(read) != 8 or read[-1] != "</s>" or spoken[0] != "<pad>" or
                                                           page["sentences"] != [lines[1], said[1]]), 0)
    sums = [np.sum(np.asarray(attention["weights"]), -1) for attention in page["maps"]]
    case.report.check("sums of attention's weights", max(np.abs(rows - 1).max() for rows in sums), 1e-4)

    for side in ("src", "tgt"):
        Path(f"{folder}/train.{side}").write_text("\n".join(lines[:5]) + "\n")
    pair = ["--src", f"{folder}/train.src", "--tgt", f"{folder}/train.tgt"]
    train = [tool, "train", f"{folder}/model.heddle", *pair, "--checkpoint", f"{folder}/ck", "--log", f"{folder}/log"]
    run([*train, "--weights", f"{folder}/published", "--steps", "30"])
    run([*train, "--resume", "--steps", "60"])
    losses = [json.loads(line)["loss"] for line in Path(f"{folder}/log").read_text().splitlines()]
    copy = oracle_loss(oracle, config, sources[:5])
    case.report.check("loss before the first step", error(losses[0], copy), BOUND)
    case.report.check("loss after 60 steps, of that before", losses[59] / losses[0], 0.6)
    # A target with words that source.spm lacks.
    Path(f"{folder}/train.tgt").write_text("\n".join(" ".join(words[42:47 + i]) for i in range(5)) + "\n")
    score = [tool, "score", f"{folder}/model.heddle", *pair, "--checkpoint", f"{folder}/ck"]
    whole = run(score).splitlines()[0].split()
    scored = [line.split("\t") for line in run([*score, "--per-line"]).splitlines()]
    tokens = sum(int(count) for _, count in scored)
    case.report.check("tokens of `--per-line` that differ", abs(tokens - int(whole[5].rstrip(","))), 0)
    case.report.check("the loss by `--per-line`", error([-sum(float(log) for log, _ in scored) / tokens], [float(whole[1])]),
                      1e-4)
    prefix = "\n".join(" ".join(words[44:46]) for _ in range(5)) + "\n"
    Path(f"{folder}/prefix").write_text(prefix)
    begun = run([tool, "translate", f"{folder}/model.heddle", "--checkpoint", f"{folder}/published", "--prefix",
                 f"{folder}/prefix"], "\n".join(lines[:5]) + "\n").splitlines()
    case.report.check("translations without their prefix", sum(not line.startswith(prefix.split("\n")[0]) for line in begun), 0)
    return case


def oracle_loss(oracle, config, sources):
    """Returns the loss of repeating the source."""
    rows, labels = [], []
    for ids in sources:
        rows.append(oracle.logits(torch.tensor(ids + [0]), torch.tensor([config["decoder_start_token_id"]] + ids)))
        labels += ids + [0]
    return torch.nn.functional.cross_entropy(torch.cat(rows), torch.tensor(labels))


CASES = {
    "translate": translate,
    "marian": lambda *a: marian(*a),
    "marian-bf16-shards": lambda *a: marian(*a, {"activation_function": "relu"}, kind="BF16", shards=3),
    "marian-untied": lambda *a: marian(*a, {"share_encoder_decoder_embeddings": False, "activation_function": "gelu",
                                            "scale_embedding": False, "tie_word_embeddings": False}),
    "bert": lambda *a: bert(*a, {"architectures": ["BertModel"]}, {"base": ""}),
    # With the names of files converted from TensorFlow.
    "bert-masked-lm": lambda *a: bert(*a, {}, {"gains": "gamma", "biases": "beta"}, kind="F16"),
    "bert-untied": lambda *a: bert(*a, {"tie_word_embeddings": False, "hidden_act": "gelu_new"}, shards=2),
    "gpt2": lambda *a: gpt2(*a),
    "gpt2-untied": lambda *a: gpt2(*a, {"tie_word_embeddings": False, "activation_function": "gelu", "n_inner": 30}),
    "gpt2-bare-names": lambda *a: gpt2(*a, {}, ""),
    "llama": lambda *a: llama(*a),
    "llama-untied": lambda *a: llama(*a, {"tie_word_embeddings": False, "num_key_value_heads": 6, "head_dim": 10}, kind="BF16",
                                     shards=2),
    "llama-one-key-head": lambda *a: llama(*a, {"num_key_value_heads": 1, "hidden_act": "gelu_new"}, ""),
    "llama-linear": lambda *a: llama(*a, {"rope_scaling": {"type": "linear", "factor": 4.0}}),
    "llama-dynamic": lambda *a: llama(*a, {"max_position_embeddings": 33, "rope_scaling": {"type": "dynamic", "factor": 2.0}}),
    "llama-3": lambda *a: llama(*a, {"rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "llama-yarn": lambda *a: llama(*a, {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}}),
    "llama-yarn-attention": lambda *a: llama(*a, {"rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "attention_factor": 0.7, "truncate": False}}),
    "llama-yarn-mscale": lambda *a: llama(*a, {"rope_scaling": {
        "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "mscale": 2.0, "mscale_all_dim": 0.5,
        "attention_factor": None}}),
    "mistral": lambda *a: llama(*a, {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 5}),
    "qwen2": lambda *a: llama(*a, {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_bias": True,
                                   "sliding_window": 5, "use_sliding_window": False, "max_window_layers": 1}),
    "qwen3": lambda *a: llama(*a, {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 10,
                                   "attention_bias": False, "sliding_window": None, "use_sliding_window": False,
                                   "max_window_layers": 2, "layer_types": ["full_attention", "full_attention"]}),
    "qwen3-biases-windows": lambda *a: llama(*a, {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_attention_heads": 3, "num_key_value_heads": 1,
        "attention_bias": True, "tie_word_embeddings": False, "num_hidden_layers": 3, "sliding_window": 5,
        "use_sliding_window": True, "max_window_layers": 1}, kind="BF16"),
    "llama-biases": lambda *a: llama(*a, {"attention_bias": True, "mlp_bias": True}),
    # All heads together have more columns than a token, or fewer.
    "llama-heads": lambda *a: llama(*a, {"num_attention_heads": 7, "num_key_value_heads": 1, "head_dim": 8}),
    "qwen3-heads": lambda *a: llama(*a, {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_attention_heads": 5,
                                         "num_key_value_heads": 5, "head_dim": 6}),
    "llama-neighbours": lambda *a: llama(*a, {"num_key_value_heads": 3, "head_dim": 10}, neighbours=True),
    "gemma2": lambda *a: llama(*a, family=published.GEMMA2),
    "gemma2-plain": lambda *a: llama(*a, {"attn_logit_softcapping": None, "final_logit_softcapping": None,
                                          "tie_word_embeddings": False, "hidden_activation": "silu", "layer_types": [
                                              "full_attention", "full_attention", "sliding_attention"]},
                                     "", family=published.GEMMA2),
    # Integer weights; no width here is a multiple of 32.
    **{f"llama-{weights.replace(':', '-')}": lambda *a, weights=weights: llama(*a, weights=weights)
       for weights in ("int8", "int4", "int8:16", "int4:8")},
    "llama-untied-int4": lambda *a: llama(*a, {"tie_word_embeddings": False}, weights="int4", kind="BF16"),
    "llama-caches-f16": lambda *a: llama(*a, caches="f16"),
    "gpt2-caches-f16": lambda *a: gpt2(*a, caches="f16"),
    "marian-caches-f16": lambda *a: marian(*a, caches="f16"),
    "gpt2-int8": lambda *a: gpt2(*a, weights="int8"),
    "gpt2-int4": lambda *a: gpt2(*a, weights="int4"),
    "qwen2-int8": lambda *a: llama(*a, {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_bias": True},
                                   weights="int8"),
    "gemma2-int4": lambda *a: llama(*a, family=published.GEMMA2, weights="int4:16"),
}

# GGUF files. Blocks of 32 numbers run along the inputs.
WIDE = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96}
QWEN2 = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_bias": True}
QWEN3 = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 10, "attention_bias": False}
# The format has no key for the scores' width.
GEMMA2 = {"query_pre_attn_scalar": 16}


def gguf(changes={}, family=published.LLAMA, packed=None, **files):
    """Returns a case with a quantised file of as many bits as the artifact, so that packing loses nothing."""
    def case(arguments, folder):
        done = llama(arguments, folder, changes, family=family, weights=packed, gguf=files.pop("gguf", {}), **files)
        if packed:
            done.report.check("what packing loses", done.lost, 0)
        return done
    return case


CASES.update({
    "gguf-llama": gguf(gguf={"version": 2}),
    "gguf-llama-untied": gguf({"tie_word_embeddings": False, "num_key_value_heads": 6, "head_dim": 10}, kind="BF16",
                              gguf={"alignment": 64}),
    "gguf-llama-biases": gguf({"attention_bias": True, "mlp_bias": True}, kind="F16"),
    "gguf-llama-heads": gguf({"num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 4}),
    "gguf-llama-3": gguf({"rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "gguf-llama-linear": gguf({"rope_scaling": {"type": "linear", "factor": 4.0}}),
    "gguf-qwen2-yarn": gguf({**QWEN2, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}}),
    "gguf-llama-yarn-attention": gguf({"rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "attention_factor": 0.7}}),
    "gguf-mistral": gguf({"architectures": ["MistralForCausalLM"], "sliding_window": 5}),
    "gguf-qwen2": gguf(QWEN2),
    "gguf-qwen3": gguf(QWEN3),
    "gguf-gemma2": gguf(GEMMA2, published.GEMMA2),
    "gguf-llama-q8": gguf(WIDE, kind="Q8_0"),
    "gguf-llama-q4": gguf(WIDE, kind="Q4_0"),
    "gguf-llama-q4-q6": gguf({"hidden_size": 256, "tie_word_embeddings": False, "num_attention_heads": 4,
                              "intermediate_size": 96}, kind="Q4_0", gguf={"kinds": {"lm_head": "Q6_K"}}),
    "gguf-qwen3-q8": gguf({**QWEN3, **WIDE, "head_dim": 16}, kind="Q8_0"),
    "gguf-gemma2-q4": gguf({**GEMMA2, **WIDE}, published.GEMMA2, kind="Q4_0"),
    "gguf-llama-q4-int4": gguf(WIDE, packed="int4", kind="Q4_0"),
    "gguf-llama-q8-int8": gguf(WIDE, packed="int8:32", kind="Q8_0"),
})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--target", default="vulkan:software")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = CASES[arguments.case](arguments, folder)
        case.model.close()
    print(f"{arguments.case}: {case.report.failed} failed")
    sys.exit(case.report.failed != 0)


if __name__ == "__main__":
    main()
