"""Writes a small model as a GGUF file, whole or damaged, and as a Hugging Face folder:

    write_gguf.py PATH [FAMILY] [--config KEY=JSON] [--key KEY=KIND:VALUE] [--without NAME] [--tensor NAME=KIND] [--kind KIND]
                  [--folder] [--cut BYTES]

--without leaves out a key or a tensor, --tensor adds a tensor, --cut removes bytes from the end."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "conformance"))
import gguf_files
import published

QWEN = {"sliding_window": None, "use_sliding_window": False}
FAMILIES = {
    "llama": published.LLAMA,
    "llama3": {**published.LLAMA, "rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}},
    "mistral": {**published.LLAMA, "architectures": ["MistralForCausalLM"], "sliding_window": 5},
    "qwen2": {**published.LLAMA, **QWEN, "architectures": ["Qwen2ForCausalLM"], "attention_bias": True},
    "qwen3": {**published.LLAMA, **QWEN, "architectures": ["Qwen3ForCausalLM"], "head_dim": 10},
    "gemma2": {**published.GEMMA2, "query_pre_attn_scalar": 16}}

parser = argparse.ArgumentParser()
parser.add_argument("path", type=Path)
parser.add_argument("family", nargs="?", choices=FAMILIES, default="llama")
parser.add_argument("--config", action="append", default=[])
parser.add_argument("--key", action="append", default=[])
parser.add_argument("--without", action="append", default=[])
parser.add_argument("--tensor", action="append", default=[])
parser.add_argument("--kind", default="F32")
parser.add_argument("--folder", action="store_true")
parser.add_argument("--cut", type=int, default=0)
arguments = parser.parse_args()

pairs = lambda given: [one.split("=", 1) for one in given]
config = {**FAMILIES[arguments.family], "num_hidden_layers": 2}
config.update({key: json.loads(value) for key, value in pairs(arguments.config)})
tensors = published.draw_llama(config)
if arguments.folder:
    published.write_folder(arguments.path, config, tensors)
    sys.exit()
keys = {"tokenizer.ggml.bos_token_id": ("u32", config["bos_token_id"]), "tokenizer.ggml.eos_token_id": ("u32", config["eos_token_id"])}
for key, value in pairs(arguments.key):
    kind, text = value.split(":", 1)
    keys[key] = (kind, text if kind == "text" else json.loads(text)) if kind != "whole-array" else (("array", "u32"), json.loads(text))
keys.update({name: None for name in arguments.without})
extra = {name: None for name in arguments.without}
for name, kind in pairs(arguments.tensor):
    data = np.full(256, 3, np.float32)
    extra[name] = ((256,), gguf_files.TYPES[kind], gguf_files.store(data, kind)[0])
gguf_files.write(arguments.path, config, tensors, arguments.kind, keys=keys, extra=extra)
if arguments.cut:
    arguments.path.write_bytes(arguments.path.read_bytes()[:-arguments.cut])
