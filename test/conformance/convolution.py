"""Compares convolutional models with PyTorch, as recurrence.py compares recurrent ones: logits of whole sequences and
token by token, every gradient, two weights by finite differences, and 20 losses of Adam.

    convolution.py --bin build/bin --models models --case NAME"""

import math

import torch

import recurrence
from recurrence import HERE, Language, Oracle


def convolve(rows, weight, bias, before, behind):
    """Computes torch's convolution, whose weights are outputs x inputs x rows of the window."""
    inputs = rows.shape[1]
    kernel = weight.reshape(before + behind + 1, inputs, -1).permute(2, 1, 0)
    padded = torch.nn.functional.pad(rows.T[None], (before, behind))
    return torch.nn.functional.conv1d(padded, kernel, bias)[0].T


class ConvolutionalLanguage(Language):
    """PyTorch version of texts/convolution.weft."""

    def __init__(self, sizes, start):
        Oracle.__init__(self, sizes, start)
        self.kernel = sizes["kernel"]

    def logits(self, source, target):
        w = self.weights
        near = torch.tanh(convolve(w["table"][target], w["near.weight"], w["near.bias"], self.kernel - 1, 0))
        moved = torch.nn.functional.pad(near, (0, 0, 3, 0))
        before = torch.cat([moved[:len(near)], moved[1:len(near) + 1]], 1)
        deep = torch.tanh(self.project(before, "output."))
        return torch.cat([deep, near], 1) @ w["output.weight_2"] + w["output.bias_2"]


class ConvS2S(Oracle):
    """PyTorch version of models/convs2s.weft."""

    def __init__(self, sizes, start):
        super().__init__(sizes, start)
        self.sizes = sizes

    def block(self, rows, path, causal):
        kernel = self.sizes["kernel"]
        before = kernel - 1 if causal else kernel // 2
        both = convolve(rows, self.weights[path + "both.weight"], self.weights[path + "both.bias"], before, kernel - 1 - before)
        return torch.nn.functional.glu(both)

    def logits(self, source, target):
        w, half = self.weights, math.sqrt(0.5)
        words = w["source_table"][source] + w["source_places"][:len(source)]
        rows = self.project(words, "encoder.")
        for layer in range(self.sizes["encoder_layers"]):
            rows = (self.block(rows, f"encoder.{layer}.", causal=False) + rows) * half
        notes = self.project(rows, "notes.")
        values = (notes + words) * half
        words = w["target_table"][target] + w["target_places"][:len(target)]
        rows = self.project(words, "decoder.")
        for layer in range(self.sizes["decoder_layers"]):
            path = f"decoder.{layer}."
            state = self.block(rows, path + "state.", causal=True)
            query = (self.project(state, path + "query.") + words) * half
            context = torch.softmax(query @ notes.T, 1) @ values * math.sqrt(len(source))
            rows = ((state + self.project(context, path)) * half + rows) * half
        return self.project(rows, "output.") @ w["output.weight_2"] + w["output.bias_2"]


def convs2s(**own):
    return {"width": 20, "words": 0, "encoder_layers": 2, "decoder_layers": 2, "kernel": 3, "dropout": 0.0, **own}


TEXT = HERE / "texts/convolution.weft"
CASES = {
    "language": (TEXT, ConvolutionalLanguage, {"width": 33, "kernel": 4}),
    "language-wide": (TEXT, ConvolutionalLanguage, {"width": 20, "kernel": 9}),  # wider than the shortest sequences
    "convs2s": ("convs2s.weft", ConvS2S, convs2s()),
    "convs2s-even": ("convs2s.weft", ConvS2S, convs2s(width=25, words=14, kernel=4)),
}


def main():
    recurrence.main(CASES)


if __name__ == "__main__":
    main()
