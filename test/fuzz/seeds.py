"""Writes the inputs that fuzz targets start with, in one folder per target: seeds.py BIN FOLDER

The programs in BIN write them, so that they always have the current formats.
"""
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

TEST = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TEST / "conformance"))
import gguf_files
import packed_types
import piece_models
import subwords
from tokenize_lines import CORPUS


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}")


def torch_file():
    """Returns a file as torch.save writes it, with two tensors of one storage."""
    text = lambda value: b"X" + len(value).to_bytes(4, "little") + value
    tensor = lambda offset: (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu")
                             + b"K\x06tQK" + bytes([offset]) + b"K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02}q\0(" + text(b"a") + tensor(0) + text(b"b.weight") + tensor(4) + b"u.")
        archive.writestr("m/byteorder", "little")
        archive.writestr("m/data/0", bytes(range(24)))
    return file.getvalue()


def main():
    tools, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(root, ignore_errors=True)
    work = root / "work"
    work.mkdir(parents=True)

    def seed(target, name, content):
        (root / target).mkdir(exist_ok=True)
        (root / target / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    # Models, and the modules compiled from them.
    repository = TEST.parent
    for source in (TEST / "tools/heddle-compile/scale.mlir", TEST / "tools/heddle-compile/product.mlir"):
        seed("module", source.name, source.read_bytes())
        run(tools / "heddle-compile", source, "-o", work / "model.heddle")
        seed("artifact", source.stem, (work / "model.heddle").read_bytes())
    tiny = TEST / "tools/heddle-compile/tiny.toml"
    seed("description", "tiny.toml", tiny.read_bytes())
    seed("description", "text.toml", (repository / "models/text.toml").read_bytes())
    # Texts that trigger assertions in toml++, and a letter outside of a string.
    for number, text in enumerate(("[\n", "[[=", "heads = [}\n", "heads = 2026-11-22 1\n", "heads = 2026-11-22T:", "heads = \u00e9\n")):
        seed("description", f"broken-{number}.toml", text)
    for source in [*(repository / "models").glob("*.weft"), *(TEST / "conformance/texts").glob("*.weft")]:
        seed("text", source.name, re.sub(r"(?m)^(param .*\bclasses)$", r"\1 = 3", source.read_text()))
    small = work / "small.weft"
    small.write_text("""task classify
param width = 8
logits(source) {
  weight table[vocab_size, width] ~ normal(0.1)
  linear(gelu(layer_norm(table[source] + sum(table[source]))), classes)
}
loss(source) { cross_entropy(logits, source.label) }
""")
    seed("text", "small.weft", small.read_bytes())
    for phase in ("import", "derive"):
        run(tools / "heddle-compile", repository / "models/first-token.weft", "--set", "classes=3", "--set", "vocab_size=24", f"--compile-to={phase}", "-o", work / "phase.mlir")
        seed("module", f"first-token-{phase}.mlir", (work / "phase.mlir").read_bytes())

    # A checkpoint.
    run(tools / "heddle-data", "numbers", "--out", work / "data", "--train", "40", "--valid", "2", "--test", "1", "--maximum", "9999")
    sizes = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "max_tokens": 128, "max_sequences": 16}
    run(tools / "heddle-compile", repository / "models/numbers.toml", *(f"--set={key}={value}" for key, value in sizes.items()), "-o",
        work / "numbers.heddle")
    run(tools / "heddle-run", "train", work / "numbers.heddle", "--src", work / "data/train.en", "--tgt", work / "data/train.de", "--checkpoint",
        work / "checkpoint", "--steps", "1")
    checkpoint = work / "checkpoint/step-00000001"
    seed("manifest", "manifest.json", (checkpoint / "manifest.json").read_bytes())
    seed("json", "manifest.json", (checkpoint / "manifest.json").read_bytes())
    seed("tokenizer", "spm.model", (checkpoint / "spm.model").read_bytes())

    # Tensors.
    for name, array in (("matrix", np.ones((2, 3), np.float32)), ("numbers", np.arange(5, dtype=np.int32)), ("one", np.float32(1))):
        np.save(work / "array.npy", array)
        seed("npy", name, (work / "array.npy").read_bytes())
    header = b'{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},"__metadata__":{"x":"y"}}'
    seed("safetensors", "two", len(header).to_bytes(8, "little") + header + bytes(range(22)))
    seed("torch_file", "two", torch_file())
    for kind in ("F32", "Q8_0", "Q4_0"):
        run(sys.executable, TEST / "tools/heddle-run/Inputs/write_gguf.py", work / "model.gguf", "--kind", kind, "--config", "hidden_size=32",
            "--config", "num_attention_heads=4", "--config", "num_key_value_heads=2", "--config", "intermediate_size=32")
        seed("gguf", kind, (work / "model.gguf").read_bytes())

    # A block of each packed type; the same model in two files; an adapter's configuration.
    random = np.random.default_rng(3)
    blocks = {f"{name}.weight": ((2, values), kind, packed_types.draw_blocks(random, (2, values), name))
              for name, (kind, values, _, _) in packed_types.BLOCKS.items()}
    keys = {"general.architecture": ("text", "llama")}
    seed("gguf", "types", gguf_files.assemble(keys, blocks))
    names = sorted(blocks)
    parts = [gguf_files.assemble({**(keys if number == 0 else {}), "split.no": ("u16", number), "split.count": ("u16", 2),
                                  "split.tensors.count": ("i32", len(names))}, {name: blocks[name] for name in names[number::2]})
             for number in range(2)]
    seed("gguf_parts", "two", len(parts[0]).to_bytes(4, "little") + parts[0] + parts[1])
    seed("adapter_config", "adapter_config.json", json.dumps({
        "peft_type": "LORA", "r": 4, "lora_alpha": 6, "lora_dropout": 0.05, "use_rslora": True, "use_dora": False, "bias": "none",
        "target_modules": ["q_proj", "v_proj"], "modules_to_save": ["lm_head"], "rank_pattern": {"layers.0.self_attn.q_proj": 2},
        "alpha_pattern": {"layers.0.self_attn.q_proj": 3}, "init_lora_weights": True}))

    # Vocabularies.
    byte_pairs = subwords.BytePairs.learn(CORPUS, 40)
    for rule in ("gpt2", "smollm", "llama3", "qwen2"):
        byte_pairs.write_json(work, rule, ["<|user|>"])
        seed("tokenizer_json", rule, (work / "tokenizer.json").read_bytes())
    for name, vocabulary in piece_models.vocabularies(CORPUS).items():
        vocabulary.write(work)
        seed("tokenizer_json", name, (work / "tokenizer.json").read_bytes())
    seed("gguf", "vocabulary", gguf_files.assemble(gguf_files.byte_pair_keys(byte_pairs, "gpt-2"), {}))
    for source in (TEST / "runtime/chat/Inputs").glob("*.jinja"):
        seed("chat_template", source.name, source.read_bytes())

    # Requests to a server.
    message = {"role": "user", "content": [{"type": "text", "text": "Wie heißt der Fluß?"}]}
    for name, body in {
            "completion": {"model": "m", "prompt": ["one", "two"], "max_tokens": 5, "temperature": 0.5, "n": 2,
                           "stop": ["a", "b"], "seed": 7, "logprobs": 3, "echo": True},
            "ids": {"prompt": [[1, 2, 3], [4]], "top_p": 0.9, "top_k": -1, "min_p": 0.1, "stop": "end"},
            "chat": {"messages": [{"role": "developer", "content": "be brief"}, message], "stream": True,
                     "stream_options": {"include_usage": True}, "chat_template_kwargs": {"enable_thinking": False},
                     "logprobs": True, "top_logprobs": 2, "response_format": {"type": "text"}, "tools": []},
            "response": {"input": [{"type": "message", **message}], "instructions": "be brief",
                         "max_output_tokens": 9, "text": {"format": {"type": "text"}}},
            "vectors": {"input": [[1, 2], [3]], "encoding_format": "base64", "dimensions": 8},
            "ranking": {"query": "one", "documents": ["two", {"text": "three"}], "top_n": 1, "return_documents": True},
            "lines": {"text": ["one", ["left", "right"]], "beam": 4}}.items():
        seed("request", name, json.dumps(body))
    shutil.rmtree(work)


main()
