"""Files of tensors, and the inputs of compiled entries for batches of token ids. Does not need PyTorch."""

import json
import struct

import numpy as np


def load_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    kinds = {"F32": np.float32, "I32": np.int32, "U8": np.uint8}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"]).copy()
    return tensors


def save_safetensors(path, tensors):
    kinds = {np.dtype(np.float32): "F32", np.dtype(np.int32): "I32"}
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        blob = np.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": kinds[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def is_weight(name):
    return not name.startswith(("adam.", "ema.", "grad.", "cache")) and name not in (
        "step", "micro_step", "seed", "loss_scale", "good_steps", "skipped_steps")


def pack_targets(batch, token_scale=True):
    """Returns the same inputs for a decoder-only model."""
    return {name: value for name, value in pack(batch, token_scale).items() if not name.startswith("source")}


def pack(batch, token_scale=True):
    """Returns the inputs of train_step, accumulate_step and (without the scale) eval, for a list of (source, target in,
    target out) triples of token ids."""
    i32 = lambda values: np.asarray(values, np.int32)
    inputs = {}
    for side, index in (("source", 0), ("target", 1)):
        lengths = [len(triple[index]) for triple in batch]
        inputs[side + "_positions"] = i32([p for length in lengths for p in range(length)])
        inputs[side + "_starts"] = i32(np.cumsum([0] + lengths[:-1]))
        inputs[side + "_lengths"] = i32(lengths)
    inputs["source"] = i32([t for source, _, _ in batch for t in source])
    inputs["target_in"] = i32([t for _, target, _ in batch for t in target])
    inputs["target_out"] = i32([t for _, _, labels in batch for t in labels])
    if token_scale:
        inputs["token_scale"] = np.asarray([1 / len(inputs["target_out"])], np.float32)
    return inputs


def without_labels(inputs):
    """Returns the inputs of an entry that computes no loss: `logits`."""
    return {name: value for name, value in inputs.items() if name != "target_out"}
