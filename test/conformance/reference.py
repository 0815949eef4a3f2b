"""The Transformer of "Attention Is All You Need" in PyTorch, one sequence at a time: no padding, no masks except the
causal and the window mask, nothing fused, in f64. It reads Heddle's weights by name, and is the reference for the compiled
model."""

import math

import torch
import torch.nn.functional as F

from tensor_files import is_weight


class Transformer:
    def __init__(self, config, variables):
        self.config = config
        self.weights = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
                        for name, value in variables.items() if is_weight(name)}
        self.attended = {}  # attention weights of the last sequence, heads x queries x keys, by name

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
        return x + torch.where(column % 2 == 0, angle.sin(), angle.cos())

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
    """A decoder-only model: layers without cross-attention. The sources of a batch are empty."""

    def logits(self, source, target):
        x = self.embed(target, "target_embedding")
        for i in range(self.config["decoder_layers"]):
            layer = f"decoder.{i}."
            x = self.residual(x, layer + "norm1", lambda h: self.attention(h, h, layer + "self", True))
            x = self.residual(x, layer + "norm2", lambda h: self.feed_forward(h, layer + "feed_forward"))
        return self.final(x, "decoder") @ self.table("projection").t()
