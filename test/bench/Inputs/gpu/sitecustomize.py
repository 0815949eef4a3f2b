"""Adds functions of newer PyTorch versions, so that bench/torch_cuda.py runs on the processor."""

import sys


def attend(query, key, value, is_causal=False):
    import torch

    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(scores.float(), -1).to(value.dtype) @ value


class Finder:
    """Adds the function as soon as torch.nn.functional has been loaded."""

    def find_spec(self, name, path=None, target=None):
        functional = sys.modules.get("torch.nn.functional")
        if functional is not None and not hasattr(functional, "scaled_dot_product_attention"):
            functional.scaled_dot_product_attention = attend
        return None


sys.meta_path.insert(0, Finder())
