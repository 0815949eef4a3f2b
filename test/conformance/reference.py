"""The Transformer of "Attention Is All You Need" in PyTorch, one sequence at a time: no padding, no masks but the causal
one and the window's, nothing fused. It reads Heddle's weights by name and is what the compiled model is compared with."""

import json
import math
import struct

import numpy as np
import torch
import torch.nn.functional as F


def load_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    kinds = {"F32": np.float32, "I32": np.int32}
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


class Transformer:
    def __init__(self, config, variables):
        self.config = config
        self.weights = {name: torch.tensor(value, requires_grad=True)
                        for name, value in variables.items() if is_weight(name)}
        self.attended = {}  # of the last sequence: each attention's weights, heads x queries x keys, by name

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[name + ".gamma"], self.weights[name + ".beta"],
                            self.config["layer_norm_epsilon"])

    def attention(self, x, memory, name, causal):
        heads = self.config["heads"]
        query, key, value = (self.linear(source, f"{name}.{part}").reshape(len(source), heads, -1).transpose(0, 1)
                             for source, part in ((x, "query"), (memory, "key"), (memory, "value")))
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        cap = self.config.get("attention_soft_cap", 0)
        if cap:
            scores = cap * torch.tanh(scores / cap)
        if causal:
            scores = scores.masked_fill(torch.ones(len(x), len(memory)).triu(1).bool(), float("-inf"))
        window = self.config.get("attention_window", 0)
        if window and name.endswith(".self"):
            distance = (torch.arange(len(x))[:, None] - torch.arange(len(memory))).abs()
            scores = scores.masked_fill(distance > window / 2, float("-inf"))
        self.attended[name] = torch.softmax(scores, -1)
        result = self.attended[name] @ value
        return self.linear(result.transpose(0, 1).reshape(len(x), -1), name + ".output")

    def feed_forward(self, x, name):
        act = F.gelu if self.config.get("activation") == "gelu" else torch.relu
        return self.linear(act(self.linear(x, name + ".inner")), name + ".outer")

    def residual(self, x, norm, sublayer):
        if self.config["norm"] == "post":
            return self.norm(x + sublayer(x), norm)
        return x + sublayer(self.norm(x, norm))

    def table(self, name):
        return self.weights["embedding" if self.config.get("share_embeddings", True) else name]

    def embed(self, ids, table):
        width = self.config["d_model"]
        x = self.table(table)[ids] * math.sqrt(width)
        if self.config["positions"] == "learned":
            return x + self.weights["positions"][: len(ids)]
        place = torch.arange(len(ids), dtype=torch.float64)[:, None]
        column = torch.arange(width)
        angle = place / 10000 ** ((column // 2 * 2).double() / width)
        return x + torch.where(column % 2 == 0, angle.sin(), angle.cos()).float()

    def final(self, x, name):
        return self.norm(x, name + ".norm") if self.config["norm"] == "pre" else x

    def logits(self, source, target):
        x = self.embed(source, "source_embedding")
        for i in range(self.config["encoder_layers"]):
            layer = f"encoder.{i}."
            x = self.residual(x, layer + "norm1", lambda h: self.attention(h, h, layer + "self", False))
            x = self.residual(x, layer + "norm2", lambda h: self.feed_forward(h, layer + "feed_forward"))
        memory = self.final(x, "encoder")
        x = self.embed(target, "target_embedding")
        for i in range(self.config["decoder_layers"]):
            layer = f"decoder.{i}."
            x = self.residual(x, layer + "norm1", lambda h: self.attention(h, h, layer + "self", True))
            x = self.residual(x, layer + "norm2", lambda h: self.attention(h, memory, layer + "cross", False))
            x = self.residual(x, layer + "norm3", lambda h: self.feed_forward(h, layer + "feed_forward"))
        return self.final(x, "decoder") @ self.table("projection").t()

    def batch_logits(self, batch):
        return torch.cat([self.logits(torch.tensor(source), torch.tensor(target))
                          for source, target, _ in batch])

    def loss(self, batch):
        labels = torch.tensor([label for _, _, labels in batch for label in labels])
        return F.cross_entropy(self.batch_logits(batch), labels, label_smoothing=self.config["label_smoothing"])


class Decoder(Transformer):
    """A decoder alone: layers without cross-attention. The sources of a batch are empty."""

    def logits(self, source, target):
        x = self.embed(target, "target_embedding")
        for i in range(self.config["decoder_layers"]):
            layer = f"decoder.{i}."
            x = self.residual(x, layer + "norm1", lambda h: self.attention(h, h, layer + "self", True))
            x = self.residual(x, layer + "norm2", lambda h: self.feed_forward(h, layer + "feed_forward"))
        return self.final(x, "decoder") @ self.table("projection").t()


def pack_targets(batch, token_scale=True):
    """The same for a decoder alone."""
    return {name: value for name, value in pack(batch, token_scale).items() if not name.startswith("source")}


def pack(batch, token_scale=True):
    """The inputs of train_step, accumulate_step and (without the scale) eval for a list of (source, target in, target
    out) triples of token ids."""
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
    """The inputs of an entry that computes no loss: `logits`."""
    return {name: value for name, value in inputs.items() if name != "target_out"}
