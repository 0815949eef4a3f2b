"""PyTorch versions of Transformers with one change each, for the model texts of the same names in texts/."""

import torch

import reference


class Gate(reference.Transformer):
    def attention(self, x, memory, name, causal):
        result = super().attention(x, memory, name, causal)
        return result * torch.sigmoid(self.linear(x, name + ".gate")) if name.endswith(".self") else result


class RmsNorm(reference.Transformer):
    def norm(self, x, name):
        root = (x.square().mean(-1, keepdim=True) + self.config["layer_norm_epsilon"]).rsqrt()
        return x * root * self.weights[name + ".gain"]


class SwiGLU(reference.Transformer):
    def feed_forward(self, x, name):
        gate = self.linear(x, name + ".gate")
        return self.linear(gate * torch.sigmoid(gate) * self.linear(x, name + ".inner"), name + ".outer")


TEXTS = {"gate": Gate, "rms-norm": RmsNorm, "swiglu": SwiGLU}
