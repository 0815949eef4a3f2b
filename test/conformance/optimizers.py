"""Compares optimizers that are texts with their published formulas, computed in f32, over 20 steps. The loss is the sum of the
products of weights and inputs, so an input is a weight's gradient.

    optimizers.py --bin build/bin --optimizer NAME [--target=NAME] [--case=NAME] [--torch]

With --torch, also with torch.optim."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import compiled
import tensor_files

SHAPES = {"wide": (24, 40), "tall": (37, 12), "square": (16, 16), "bias": (33,), "gain": (1,), "wide_experts": (3 * 10, 24),
          "tall_experts": (3 * 20, 8)}
EXPERTS = 3  # of the last two weights, whose matrices stand one below the other
LIBRARY = Path(__file__).parents[2] / "compiler/Model/Language/library/optimizers"
STEPS, BETA1, BETA2, EPSILON, DECAY, CLIP, EMA = 20, 0.9, 0.98, 1e-8, 0.1, 3.0, 0.9
RATE = {"adamw": 0.01, "sgd": 0.01, "nesterov": 0.01, "lion": 0.003, "adafactor": 0.05, "muon": 0.02, "muon-original": 0.02}
PARAMETERS = {"nesterov": {"nesterov": True}, "muon-original": {"muon_scale": "original", "muon_nesterov": False}}
F = np.float32
norm = lambda x: np.sqrt(np.sum(np.square(x), dtype=F))


def module(name, arguments):
    """Returns a module that has the optimizer's text."""
    text = (LIBRARY / f"{name.split('-')[0].replace('nesterov', 'sgd')}.weft").read_text()
    quote = lambda value: json.dumps(value).replace("\\n", "\\0A")
    values = {"adam_beta1": BETA1, "adam_beta2": BETA2, "adam_epsilon": EPSILON, **PARAMETERS.get(name, {})}
    shown = lambda value: quote(value) if isinstance(value, (str, bool)) else f"{value:e} : f64"
    parameters = ", ".join(f"{key} = {shown(value)}" for key, value in values.items())
    lines = [f'heddle.optimizer "{name}.weft" {{parameters = {{{parameters}}}, text = {quote(text)}}}',
             "heddle.variable @step counter as steps : tensor<1xi32> {start = #heddle.start<constant 0.0>}"]
    types = {key: f"tensor<{'x'.join(map(str, shape))}xf32>" for key, shape in SHAPES.items()}
    lines += [f"heddle.variable @{key} weight : {type} {{start = #heddle.start<normal 0.5>}}" for key, type in types.items()]

    def loss(indent="  "):
        terms = []
        for key, type in types.items():
            terms += [f"%{key} = heddle.read @{key} : {type}", f"%{key}.p = arith.mulf %{key}, %g.{key} : {type}"]
            row = f"%{key}.p"
            if len(SHAPES[key]) == 2:
                rows = f"tensor<{SHAPES[key][1]}xf32>"
                terms.append(f"%{key}.r = heddle.sum rows %{key}.p : {type} -> {rows}")
                row, type = f"%{key}.r", rows
            terms.append(f"%{key}.s = heddle.sum columns {row} : {type} -> tensor<1xf32>")
        total = None
        for key in types:
            if total is None:
                total = f"%{key}.s"
                continue
            terms.append(f"%{key}.t = arith.addf {total}, %{key}.s : tensor<1xf32>")
            total = f"%{key}.t"
        return [indent + term for term in terms], total

    options = {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON, "weight_decay": DECAY,
               "clip_norm": CLIP if arguments.case == "clipped" else 0.0}
    if arguments.case == "averaged":
        options["average_decay"] = EMA
    attributes = ", ".join(f"{key} = {value:e} : f32" for key, value in options.items())
    rate = [f"  ^bb0(%count: tensor<1xf32>):", f"    %rate = heddle.fill {RATE[name]!r} : f32 : tensor<1xf32>",
            "    heddle.yield %rate : tensor<1xf32>", "  }"]
    inputs = ", ".join(f'%g.{key}: {type} {{heddle.name = "g.{key}"}}' for key, type in types.items())
    output = 'tensor<1xf32> {heddle.name = "out"}'
    body, total = loss()
    if arguments.case == "accumulated":
        lines += [f"func.func @add({inputs}) -> ({output}) {{", *body, f"  heddle.accumulate {total}",
                  f"  return {total} : tensor<1xf32>", "}",
                  f"func.func @apply() -> ({output}) {{", f"  %used = heddle.apply {{{attributes}}} rate {{", *rate,
                  "  return %used : tensor<1xf32>", "}"]
    else:
        lines += [f"func.func @train({inputs}) -> ({output}) {{", *body, f"  %used = heddle.minimize {total} {{{attributes}}} rate {{",
                  *rate, "  return %used : tensor<1xf32>", "}"]
    # The size by which the compiler sees that a weight has a matrix for each expert.
    lines.append('heddle.size @rows max 8')
    for key, shape in SHAPES.items():
        if key.endswith("experts"):
            x, y = (f'tensor<?x{width}xf32, #heddle.dims<"rows">>' for width in (shape[0] // EXPERTS, shape[1]))
            starts = f"tensor<{EXPERTS + 1}xi32>"
            lines += [f'func.func @use_{key}(%x: {x} {{heddle.name = "x"}}, %starts: {starts} {{heddle.name = "starts", heddle.limit = 9 : i64}})'
                      f' -> ({y} {{heddle.name = "y"}}) {{', f"  %w = heddle.read @{key} : {types[key]}",
                      f"  %y = heddle.grouped_matmul %x, %w groups(%starts) : {x}, {types[key]}, {starts} -> {y}", f"  return %y : {y}", "}"]
    return "\n".join(lines) + "\n"


class Formula:
    """A weight and its optimizer's published formula, in f32."""

    def __init__(self, name, weight):
        self.name, self.w, self.step = name, weight.copy(), 0
        self.m, self.v = np.zeros_like(weight), np.zeros_like(weight)
        self.rows = np.zeros(weight.shape[:1], F)
        self.columns = np.zeros(weight.shape[-1:], F)
        self.decay = F(DECAY if weight.ndim == 2 else 0)
        self.average = np.zeros_like(weight)

    def update(self, g):
        self.step += 1
        getattr(self, self.name.split("-")[0])(g, F(RATE[self.name]))
        self.average = F(EMA) * self.average + F(1 - EMA) * self.w

    def adamw(self, g, rate):
        self.m = F(BETA1) * self.m + F(1 - BETA1) * g
        self.v = F(BETA2) * self.v + F(1 - BETA2) * g * g
        mean, square = self.m / F(1 - BETA1 ** self.step), self.v / F(1 - BETA2 ** self.step)
        self.w = self.w * (1 - rate * self.decay) - rate * mean / (np.sqrt(square) + F(EPSILON))

    def sgd(self, g, rate, nesterov=False):
        g = g + self.decay * self.w
        self.m = F(0.9) * self.m + g
        self.w = self.w - rate * (g + F(0.9) * self.m if nesterov else self.m)

    def nesterov(self, g, rate):
        self.sgd(g, rate, nesterov=True)

    def lion(self, g, rate):
        self.w = self.w * (1 - rate * self.decay) - rate * np.sign(F(0.9) * self.m + F(0.1) * g)
        self.m = F(0.99) * self.m + F(0.01) * g

    def adafactor(self, g, rate):
        share, size = F(self.step ** -0.8), self.w.size
        alpha = max(F(1e-3), norm(self.w) / F(size ** 0.5)) * min(rate, F(self.step ** -0.5))
        self.w = self.w * (1 - rate * self.decay)
        if g.ndim == 2:
            self.rows += share * (np.mean(g * g, axis=1) - self.rows)
            self.columns += share * (np.mean(g * g, axis=0) - self.columns)
            estimate = np.outer(self.rows, self.columns) / max(np.mean(self.rows), np.finfo(F).eps)
        else:
            self.v += share * (g * g - self.v)
            estimate = self.v
        step = g / np.sqrt(np.maximum(estimate, np.finfo(F).eps ** 2))
        self.w = self.w - alpha / max(F(1), norm(step) / F(size ** 0.5)) * step

    def muon(self, g, rate):
        if g.ndim != 2:
            return self.adamw(g, rate)
        original = self.name == "muon-original"
        self.m = F(0.95) * self.m + F(0.05) * g
        x = self.m if original else F(0.95) * self.m + F(0.05) * g
        x = x / (norm(x) + F(1e-7))
        turns = x.shape[0] > x.shape[1]
        x = x.T if turns else x
        for _ in range(5):
            square = x @ x.T
            x = F(3.4445) * x + (F(-4.7750) * square + F(2.0315) * square @ square) @ x
        x = x.T if turns else x
        rows, columns = self.w.shape
        scale = max(1, columns / rows) ** 0.5 if original else 0.2 * max(rows, columns) ** 0.5
        self.w = self.w * (1 - rate * self.decay) - F(scale) * rate * x


class ExpertsFormula:
    """The formula of each expert's matrix, for optimizers that treat a matrix as a whole."""

    def __init__(self, name, weight):
        self.parts = [Formula(name, part) for part in np.split(weight, EXPERTS)]

    def update(self, g):
        for formula, part in zip(self.parts, np.split(g, EXPERTS)):
            formula.update(part)

    w = property(lambda self: np.concatenate([formula.w for formula in self.parts]))
    average = property(lambda self: np.concatenate([formula.average for formula in self.parts]))


def formula_of(name, key, weight):
    return (ExpertsFormula if name.startswith("muon") and key.endswith("experts") else Formula)(name, weight)


def torch_steps(name, start, gradients):
    """Returns the weights after the steps of torch.optim."""
    import torch
    weights = {key: torch.nn.Parameter(torch.from_numpy(value.copy())) for key, value in start.items()}
    parts = [{"params": [w for w in weights.values() if (w.dim() == 2) == is_matrix], "weight_decay": DECAY * is_matrix}
             for is_matrix in (False, True)]
    optimizer = {"adamw": lambda: torch.optim.AdamW(parts, lr=RATE[name], betas=(BETA1, BETA2), eps=EPSILON),
                 "sgd": lambda: torch.optim.SGD(parts, lr=RATE[name], momentum=0.9),
                 "nesterov": lambda: torch.optim.SGD(parts, lr=RATE[name], momentum=0.9, nesterov=True),
                 "adafactor": lambda: torch.optim.Adafactor(parts, lr=RATE[name], foreach=False)}[name]()
    for step in gradients:
        for key, weight in weights.items():
            weight.grad = torch.from_numpy(step[key].copy())
        optimizer.step()
    return {key: weight.detach().numpy() for key, weight in weights.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--optimizer", choices=RATE, required=True)
    parser.add_argument("--target")
    parser.add_argument("--case", choices=["plain", "clipped", "averaged", "accumulated"], default="plain")
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    report = compiled.Report()
    random = np.random.default_rng(3)
    gradients = [{key: random.standard_normal(shape).astype(F) * F(10 ** random.uniform(-2, 1)) for key, shape in SHAPES.items()}
                 for _ in range(STEPS)]
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = f"{folder}/model.mlir"
        Path(arguments.model).write_text(module(arguments.optimizer, arguments))
        with compiled.Model(arguments, {}, folder, arguments.target) as model:
            model.call("init", save="start.safetensors", extra=["--seed", "1"])
            start = {key: value for key, value in tensor_files.load_safetensors(f"{folder}/start.safetensors").items()
                     if key in SHAPES}
            formulas = {key: formula_of(arguments.optimizer, key, value) for key, value in start.items()}
            for i, step in enumerate(gradients):
                inputs = {f"g.{key}": value for key, value in step.items()}
                save = "end.safetensors" if i + 1 == STEPS else None
                if arguments.case == "accumulated":  # in two parts
                    model.call("add", {name: value * F(0.25) for name, value in inputs.items()})
                    model.call("add", {name: value * F(0.75) for name, value in inputs.items()})
                    model.call("apply", save=save)
                else:
                    model.call("train", inputs, save=save)
                size = np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in step.values()))
                scale = F(min(1, CLIP / (size + 1e-6)) if arguments.case == "clipped" else 1)
                for key, formula in formulas.items():
                    formula.update(step[key] * scale)
            end = tensor_files.load_safetensors(f"{folder}/end.safetensors")
            for key, formula in formulas.items():
                report.check(f"{key} after {STEPS} steps", compiled.relative(end[key], formula.w), 1e-5)
                if arguments.case == "averaged":
                    report.check(f"average of {key}", compiled.relative(end[f"ema.{key}"], formula.average), 1e-5)
            if arguments.torch:
                for key, value in torch_steps(arguments.optimizer, start, gradients).items():
                    report.check(f"{key} beside torch.optim", compiled.relative(end[key], value), 1e-5)
    print(f"{arguments.optimizer} {arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
