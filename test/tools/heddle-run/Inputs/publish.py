"""Writes a small GPT-2 folder, whole or damaged: publish.py FOLDER KIND"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "conformance"))
import published

folder, kind = Path(sys.argv[1]), sys.argv[2]
config = {**published.GPT2, "n_layer": 1}
tensors = published.draw_gpt2(config)
if kind == "lacking":
    del tensors["transformer.h.0.ln_1.bias"]
elif kind == "shape":
    tensors["transformer.wte.weight"] = tensors["transformer.wte.weight"][:-1]
elif kind == "integers":
    tensors["transformer.ln_f.weight"] = tensors["transformer.ln_f.weight"].astype("int64")
published.write_folder(folder, config, tensors, shards=2 if kind in ("shard", "index") else 1)
if kind == "truncated":
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
elif kind == "none":
    (folder / "model.safetensors").unlink()
elif kind == "old":  # before PyTorch 1.6 a .bin file was no zip archive
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
elif kind == "shard":
    (folder / "model-00002-of-00002.safetensors").unlink()
elif kind == "index":
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"transformer.wte.weight": "../elsewhere.safetensors"}}))
