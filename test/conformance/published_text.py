"""Tests what published folders and GGUF files say besides the weights: ends of a turn, begin marks, tensors that no key
mentions, adapters of other kinds, and vocabularies whose length differs from the embedding's.

    published_text.py --bin build/bin --case NAME

The models are chains: the most probable token after a token is the next one of a given sequence."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gguf_files
import published
import subwords
from compiled import Report, run

WIDTH, END, TURN, BEGIN, TOKENS = 264, 256, 257, 258, 259
MARKS = ["<|end|>", "<|eot|>", "<|bos|>"]
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 4,
          "num_key_value_heads": 4, "intermediate_size": 8, "vocab_size": TOKENS, "max_position_embeddings": 32, "hidden_act": "silu",
          "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, "bos_token_id": BEGIN, "eos_token_id": END}


def chain(sequence, rows=TOKENS):
    """Returns the tensors of a model that produces the given sequence of distinct tokens."""
    tensors = {name: np.ones_like(value) if "norm" in name else np.zeros_like(value)
               for name, value in published.draw_llama({**CONFIG, "vocab_size": rows}).items()}
    tensors["model.embed_tokens.weight"] = np.eye(rows, WIDTH, dtype=np.float32)
    tensors["lm_head.weight"] = np.zeros((rows, WIDTH), np.float32)
    for before, behind in zip(sequence, sequence[1:]):
        tensors["lm_head.weight"][behind, before] = 5
    return tensors


def tokenizer(begins=False, marks=MARKS):
    letters = subwords.byte_alphabet()
    added = [{"id": 256 + i, "content": mark, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
             for i, mark in enumerate(marks)]
    first = {"SpecialToken": {"id": "<|bos|>", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [first, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                "special_tokens": {"<|bos|>": {"id": "<|bos|>", "ids": [BEGIN], "tokens": ["<|bos|>"]}}}
    return {"added_tokens": added, "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "post_processor": template if begins else None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {letters[byte]: byte for byte in range(256)}, "merges": []}}


class Models:
    def __init__(self, arguments, folder):
        self.bin, self.folder, self.report = Path(arguments.bin), Path(folder), Report()

    def write(self, tensors, config={}, vocabulary=None, name="model", **files):
        """Writes a folder; `files` are JSON files by name, without the ending."""
        folder = self.folder / name
        published.write_folder(folder, {**CONFIG, **config}, tensors)
        for file, content in {"tokenizer": vocabulary or tokenizer(), **files}.items():
            (folder / f"{file}.json").write_text(json.dumps(content))
        return folder

    def write_gguf(self, tensors, keys, name="model.gguf", extra={}):
        letters = subwords.byte_alphabet()
        strings = lambda texts: (("array", "text"), texts)
        vocabulary = {"tokenizer.ggml.model": ("text", "gpt2"), "tokenizer.ggml.pre": ("text", "gpt-2"),
                      "tokenizer.ggml.tokens": strings([letters[byte] for byte in range(256)] + MARKS),
                      "tokenizer.ggml.token_type": (("array", "i32"), [1] * 256 + [3] * 3), "tokenizer.ggml.merges": strings([]),
                      "tokenizer.ggml.bos_token_id": ("u32", BEGIN), "tokenizer.ggml.eos_token_id": ("u32", END)}
        gguf_files.write(self.folder / name, CONFIG, tensors, "F32", keys={**vocabulary, **keys}, extra=extra)
        return self.folder / name

    def compile(self, model, *flags, name="model.heddle"):
        run([str(self.bin / "heddle-compile"), str(model), "--entries=inference", "--set", "max_tokens=64", "-o", str(self.folder / name), *flags])
        return self.folder / name

    def merge(self, base):
        """Returns the model merged with an adapter that changes nothing."""
        adapter, merged = self.folder / "adapter", self.folder / f"merged{base.suffix}"
        adapter.mkdir(exist_ok=True)
        (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"]}))
        name = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
        published.write_safetensors(adapter / "adapter_model.safetensors", {f"{name}A.weight": np.ones((1, WIDTH), np.float32),
                                                                            f"{name}B.weight": np.zeros((WIDTH, 1), np.float32)})
        shutil.rmtree(merged, ignore_errors=True)
        merged.unlink(missing_ok=True)
        artifact = self.compile(base, "--lora=rank=1,targets=query", name="adapted.heddle")
        run([str(self.bin / "heddle-run"), "merge", str(artifact), "--base", str(base), "--checkpoint", str(adapter), "--output", str(merged)])
        return merged

    def call(self, command, artifact, checkpoint, *flags, text=""):
        return subprocess.run([str(self.bin / "heddle-run"), command, str(artifact), "--checkpoint", str(checkpoint), *map(str, flags)],
                              input=text, capture_output=True, text=True)

    def answer(self, model, prompt="a", *flags, artifact=None):
        done = self.call("generate", artifact or self.compile(model), model, "--tokens", 12, "--json", *flags, text=prompt + "\n")
        return json.loads(done.stdout)["completion"] if done.returncode == 0 else done.stderr

    def expect(self, what, actual, expected):
        if actual != expected:
            print(f"{what}: {actual!r}, not {expected!r}")
        self.report.check(what, float(actual != expected), 0)

    def refuses(self, what, done, *words):
        is_refused = done.returncode in (1, 2) and all(word in done.stderr for word in words)
        if not is_refused:
            print(f"{what}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        self.report.check(f"{what} is not refused", float(not is_refused), 0)

    def loss(self, artifact, model, line, kind="--text"):
        """Returns the mean loss over the tokens that `score` predicts, and their number."""
        (self.folder / "line.txt").write_text(line + "\n")
        done = self.call("score", artifact, model, kind, self.folder / "line.txt")
        found = re.search(r"loss ([\d.]+) per token of (\d+)", done.stdout)
        return (float(found[1]), int(found[2])) if found else done.stderr


def turns(models):
    """A turn ends at any token that the configuration, generation_config.json or the GGUF file names."""
    talk = chain([97, 98, 99, TURN, 100, 101, END])
    models.expect("generation_config.json", models.answer(models.write(talk, generation_config={"eos_token_id": [END, TURN]})), "bc")
    models.expect("its single end", models.answer(models.write(talk, generation_config={"eos_token_id": TURN})), "bc")
    models.expect("config.json's list", models.answer(models.write(talk, {"eos_token_id": [END, TURN]}, generation_config={})), "bc")
    models.expect("no list, a mark that is not printed", models.answer(models.write(talk, generation_config={"eos_token_id": None})), "bcde")
    for key in "eot", "eom":
        models.expect(f"GGUF's {key}", models.answer(models.write_gguf(talk, {f"tokenizer.ggml.{key}_token_id": ("u32", TURN)})), "bc")
    # Texts end with the tokenizer's end mark, whatever comes first in the list.
    folder = models.write(chain([97, END]), {"eos_token_id": [TURN, END]}, tokenizer_config={"eos_token": "<|end|>"}, generation_config={})
    models.expect("the end of a text", models.loss(models.compile(folder), folder, "a"), (0.0, 1))


def begins(models):
    """Texts begin with the begin mark if the tokenizer says so, in training, scoring and generating."""
    plain, marked = chain([97, 98, END]), chain([BEGIN, 97, 98, END])
    artifact = models.compile(models.write(plain))
    for what, tensors, vocabulary, settings, tokens in (
            ("no post-processor", plain, tokenizer(), {}, 2), ("a post-processor", marked, tokenizer(begins=True), {}, 3),
            ("add_bos_token = false", plain, tokenizer(begins=True), {"add_bos_token": False}, 2),
            ("add_bos_token", marked, tokenizer(), {"add_bos_token": True, "bos_token": {"content": "<|bos|>"}}, 3)):
        folder = models.write(tensors, {}, vocabulary, tokenizer_config=settings)
        models.expect(what, models.loss(artifact, folder, "ab"), (0.0, tokens))
        models.expect(f"records, {what}", models.loss(artifact, folder, '{"text": "ab"}', "--data"), (0.0, tokens))
        models.expect(f"merged, {what}", models.loss(artifact, models.merge(folder), "ab"), (0.0, tokens))
    for begins, tensors, tokens in (False, plain, 2), (True, marked, 3):
        file = models.write_gguf(tensors, {"tokenizer.ggml.add_bos_token": ("bool", begins)})
        models.expect(f"GGUF's add_bos_token = {begins}", models.loss(artifact, file, "ab"), (0.0, tokens))
        models.expect(f"merged, GGUF's add_bos_token = {begins}", models.loss(artifact, models.merge(file), "ab"), (0.0, tokens))


def unused(models):
    """Weights that the configuration does not account for are an error; buffers are not."""
    talk = chain([97, 98, END])
    good = models.write(talk)
    artifact = models.compile(good)
    generate = lambda model: models.call("generate", artifact, model, "--tokens", 3, text="a\n")
    bias = {f"model.layers.0.self_attn.{part}_proj.bias": np.ones(WIDTH, np.float32) for part in "qkvo"}
    models.refuses("biases", generate(models.write({**talk, **bias}, name="biases")), "weights that the model does not use",
                   "'model.layers.0.self_attn.k_proj.bias'", "and 1 more", "attention_bias")
    models.refuses("a norm", generate(models.write({**talk, "model.layers.0.self_attn.q_norm.weight": np.ones(66, np.float32)}, name="norm")),
                   "'model.layers.0.self_attn.q_norm.weight'")
    models.refuses("a layer", generate(models.write({**talk, "model.layers.1.mlp.up_proj.weight": np.ones((8, WIDTH), np.float32)},
                                                    name="layer")), "'model.layers.1.mlp.up_proj.weight'")
    buffers = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(33, np.float32), "model.rotary_emb.inv_freq": np.ones(33, np.float32)}
    models.expect("buffers", generate(models.write({**talk, **buffers}, name="buffers")).stdout, "ab\n")
    file = models.write_gguf(talk, {}, "biases.gguf", {"blk.0.attn_q.bias": ((WIDTH,), 0, np.ones(WIDTH, np.float32).tobytes())})
    models.refuses("a GGUF file's bias", generate(file), "'blk.0.attn_q.bias'", "compile this model")
    folder = models.write(talk, {"tie_word_embeddings": True}, name="tied")
    models.expect("a tied copy", models.call("generate", models.compile(folder), folder, "--tokens", 1, text="a\n").returncode, 0)


def adapters(models):
    """Adapters for which PEFT would change the base are refused by name."""
    talk = chain([97, 98, END])
    base = models.write(talk)
    artifact = models.compile(base, "--lora", "rank=2,alpha=2,targets=query")
    folder = models.folder / "adapter"
    folder.mkdir()
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    published.write_safetensors(folder / "adapter_model.safetensors", {name + "A.weight": np.ones((2, WIDTH), np.float32),
                                                                      name + "B.weight": np.zeros((WIDTH, 2), np.float32)})

    def load(**keys):
        settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "bias": "none", **keys}
        (folder / "adapter_config.json").write_text(json.dumps(settings))
        return models.call("generate", artifact, folder, "--base", base, "--tokens", 3, text="a\n")

    for kind in "pissa", "pissa_niter_16", "olora", "corda", "loftq":
        models.refuses(kind, load(init_lora_weights=kind), f'init_lora_weights = "{kind}"', "whose weights PEFT changes")
    for key, value in ("layer_replication", [[0, 1], [0, 1]]), ("alora_invocation_tokens", [3]):
        models.refuses(key, load(**{key: value}), key)
    for kind in True, False, None, "gaussian", "orthogonal", "eva":
        models.expect(f"init_lora_weights = {kind}", load(init_lora_weights=kind, layer_replication=None).stdout, "ab\n")


def rows(models):
    """Tokens beyond the embedding are unknown, and rows beyond the vocabulary are never produced."""
    talk = chain([97, 98, 99, END])
    longer = models.write(talk, vocabulary=tokenizer(marks=[*MARKS, "[PAD]"]))
    artifact = models.compile(longer)
    models.expect("a token without a row", models.answer(longer, artifact=artifact), "bc")
    models.expect("its text", models.answer(longer, "[PAD]a", artifact=artifact), "bc")
    spare = chain([97, 98, 99, END], TOKENS + 4)
    spare["lm_head.weight"][TOKENS + 1, 97] = 9
    shorter = models.write(spare, {"vocab_size": TOKENS + 4})
    artifact = models.compile(shorter)
    models.expect("a row without a token", models.answer(shorter, artifact=artifact), "bc")
    models.expect("the same, drawn", models.answer(shorter, "a", "--sample", artifact=artifact), "bc")
    models.expect("the same with a penalty", models.answer(shorter, "a", "--repetition-penalty", 1.1, artifact=artifact), "bc")


def meaning(models):
    """Weights whose configuration implies other arithmetic than the artifact's are refused by name, in folders and in
    GGUF files."""
    talk = chain([97, 98, END])
    good = models.write(talk)
    artifact = models.compile(good)
    load = lambda model, *flags: models.call("generate", artifact, model, "--tokens", 3, *flags, text="a\n")
    models.expect("the same", load(models.write(talk, {"max_position_embeddings": 64, "rope_scaling": None}, name="same")).stdout, "ab\n")
    models.expect("the same in a GGUF file", load(models.write_gguf(talk, {}, "same.gguf")).stdout, "ab\n")
    for what, changes, word in (
            ("rope_theta", {"rope_theta": 5e5}, "rotary_base (500000, now 10000)"),
            ("rope_parameters", {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}, "rotary_base"),
            ("linear scaling", {"rope_scaling": {"type": "linear", "factor": 2.0}}, 'rotary_scaling ("linear", now "none")'),
            ("an epsilon", {"rms_norm_eps": 1e-6}, "norm_epsilon"), ("heads", {"num_attention_heads": 2, "head_dim": 132}, "heads (2, now 4)"),
            ("an activation", {"hidden_act": "gelu"}, 'activation ("gelu", now "swish")'),
            ("an architecture", {"architectures": ["Qwen2ForCausalLM"]}, 'architecture ("qwen2", now "llama")')):
        models.refuses(what, load(models.write(talk, changes, name="other")), "is another model than the artifact was compiled from", word)
    models.refuses("a GGUF file's epsilon", load(models.write_gguf(
        talk, {"llama.attention.layer_norm_rms_epsilon": ("f32", 1e-6)}, "other.gguf")), "norm_epsilon")
    models.refuses("a GGUF file's base", load(models.write_gguf(talk, {"llama.rope.freq_base": ("f32", 5e5)}, "base.gguf")), "rotary_base")
    forced = load(models.write(talk, {"rope_theta": 5e5}, name="forced"), "--force")
    models.expect("--force", (forced.stdout, "rotary_base" in forced.stderr), ("ab\n", True))


def samples(models):
    """The sampling rules of generation_config.json are used, and reported, if no flag says how to choose tokens. A
    checkpoint keeps them."""
    talk, rules = chain([97, 98, 99, TURN, 100, 101, END]), {"do_sample": True, "temperature": 60.0, "top_k": 40, "top_p": 0.95, "min_p": None}
    same = ["--sample", "--temperature", 60, "--top-k", 40, "--top-p", 0.95]
    folder = models.write(talk, generation_config={**rules, "repetition_penalty": 1.5, "typical_p": 0.9})
    artifact = models.compile(folder, "--entries=all")
    answer = lambda *flags, model=folder: models.answer(model, "a", *flags, artifact=artifact)
    said = lambda *flags, model=folder: models.call("generate", artifact, model, "--tokens", 2, *flags, text="a\n").stderr
    line = "samples as the model's generation_config.json says: temperature 60.0, top-k 40, top-p 0.95"
    for seed in 1, 7:
        models.expect(f"its rules, seed {seed}", answer("--seed", seed), answer(*same, "--repetition-penalty", 1.5, "--seed", seed))
    models.expect("they differ from the most probable tokens", answer() == answer("--greedy"), False)
    models.expect("the line", line + ", repetition-penalty 1.5, without its typical_p; --greedy chooses" in said(), True)
    for flags in (["--greedy"], ["--sample"], ["--repetition-penalty", 1.1]):
        models.expect(f"no line with {flags[0]}", "generation_config" in said(*flags), False)
    models.expect("--greedy", answer("--greedy"), "bcde")
    models.expect("--sample has no rules", answer("--sample", "--temperature", 60), answer("--sample", "--temperature", 60, "--top-p", 1))
    (models.folder / "text.txt").write_text("ab\n")
    run([str(models.bin / "heddle-run"), "train", str(artifact), "--weights", str(folder), "--text", str(models.folder / "text.txt"),
         "--checkpoint", str(models.folder / "ck"), "--steps", "1"])
    models.expect("a checkpoint's line", line in said(model=models.folder / "ck"), True)
    for name, config in ("no samples", {**rules, "do_sample": False}), ("nothing said of samples", {"temperature": 60.0}):
        models.expect(name, answer(model=models.write(talk, generation_config=config, name="greedy")), "bcde")
    for key, value in ("temperature", "hot"), ("top_k", -1), ("top_p", 1.5), ("repetition_penalty", 0):
        wrong = models.write(talk, generation_config={**rules, key: value}, name="wrong")
        models.refuses(key, models.call("generate", artifact, wrong, text="a\n"), f"generation_config.json' has {key} = ", "--greedy")
        models.expect(f"--greedy with a wrong {key}", answer("--greedy", model=wrong), "bcde")


CASES = {"samples": samples, "turns": turns, "begins": begins, "unused": unused, "adapters": adapters, "rows": rows, "meaning": meaning}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = Models(arguments, folder)
        CASES[arguments.case](models)
    print(f"{arguments.case}: {models.report.failed} failed")
    sys.exit(models.report.failed != 0)


if __name__ == "__main__":
    main()
