"""Modules of the graph dialect as text, with inputs and variables' values: random_graphs.py fills them with ops."""

import random

import numpy as np


def is_size(dim):
    return isinstance(dim, str)


def type_of(dims, element="f32"):
    names = [dim for dim in dims if is_size(dim)]
    encoding = ", #heddle.dims<" + ", ".join(f'"{name}"' for name in names) + ">" if names else ""
    return "tensor<" + "".join(("?" if is_size(dim) else str(dim)) + "x" for dim in dims) + element + encoding + ">"


class Value:
    def __init__(self, name, dims):
        self.name, self.dims = name, tuple(dims)

    @property
    def type(self):
        return type_of(self.dims)


class Scope:
    """A place for ops: the entry, or the region of a scan."""

    def __init__(self, graph, rows):
        self.graph, self.rows = graph, rows  # sizes that its values' rows may have
        self.lines, self.pool, self.constants = [], [], []

    def line(self, text):
        self.lines.append(text)

    def make(self, op, dims, keep=True):
        """Adds `op`, the text of an op without its result, and returns the new value."""
        value = Value(self.graph.new_name(), dims)
        self.line(f"{value.name} = {op}")
        if keep:
            self.pool.append(value)
        return value


class Module:
    """An entry under construction: sizes and inputs of a batch, variables with their values, and the text of all of
    them."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.numbers = np.random.default_rng(number)
        self.next = 0
        self.arguments, self.inputs, self.variables, self.declarations = [], {}, {}, []
        self.located = {}
        self.choose_sizes()
        self.top = Scope(self, ["source_tokens", "target_tokens", "sequences"])

    # Sizes and inputs

    def choose_sizes(self):
        sequences = self.random.choice([1, 1, 2, 3, 5])
        self.extents, self.lengths = {"sequences": sequences}, {}
        for side in ("source", "target"):
            longest = self.random.choice([1, 2, 3, 7, 12, 33])
            lengths = [self.random.randint(self.random.choice([0, 1, 1]), longest) for _ in range(sequences)]
            if sum(lengths) == 0:
                lengths[0] = 1
            self.lengths[side] = lengths
            self.extents[side + "_tokens"] = sum(lengths)
        for name, extent in self.extents.items():
            self.declarations.append(f"heddle.size @{name} max {extent + self.random.choice([0, 0, 1, 5])}")
        self.longest = {}
        for side, lengths in self.lengths.items():
            self.longest[side] = max(lengths) + self.random.choice([0, 0, 3])
            self.declarations.append(f'heddle.size @{side}_length max {self.longest[side]} longest "{side}_lengths"')

    def new_name(self):
        self.next += 1
        return f"%v{self.next}"

    def extent(self, dim):
        return self.extents[dim] if is_size(dim) else dim

    def input(self, name, dims, values, element="i32", limit=None):
        if name not in self.inputs:
            kind = {"i32": np.int32, "f32": np.float32}[element]
            self.inputs[name] = np.asarray(values, kind).reshape([self.extent(dim) for dim in dims])
            more = f", heddle.limit = {limit} : i64" if limit else ""
            self.arguments.append(f'%{name}: {type_of(dims, element)} {{heddle.name = "{name}"{more}}}')
        return f"%{name}"

    def indices(self, rows, count):
        """Adds an input with a row number below `count` for each of the rows."""
        name = f"indices_{len(self.inputs)}"
        return self.input(name, [rows], self.numbers.integers(0, self.extent(count), self.extent(rows)),
                          limit=None if is_size(count) else count)

    def floats(self, dims):
        name = f"floats_{len(self.inputs)}"
        return Value(self.input(name, dims, self.numbers.uniform(-1, 1, [self.extent(dim) for dim in dims]), "f32"), dims)

    def bind(self, dims):
        """Adds an input that fixes these dimensions' sizes, unless one has that size already."""
        for dim in dims:
            if dim in self.extents and not any(f'"{dim}"' in argument for argument in self.arguments):
                self.floats([dim])

    def sequences(self, side):
        lengths = self.lengths[side]
        starts = self.input(f"{side}_starts", ["sequences"], np.cumsum([0] + lengths[:-1]))
        return starts, self.input(f"{side}_lengths", ["sequences"], lengths, limit=self.longest[side] + 1)

    def locate(self, side):
        """Returns the names of the tokens' positions and of their sequences."""
        if side not in self.located:
            starts, lengths = self.sequences(side)
            self.indices(side + "_tokens", 1)  # it defines the number of tokens
            position, sequence = self.new_name(), self.new_name()
            self.top.line(f'{position}, {sequence} = heddle.locate rows({starts}, {lengths}) {{row_size = "{side}_length"}} : '
                          f'{type_of(["sequences"], "i32")} -> {type_of([side + "_tokens"], "i32")}')
            self.located[side] = position, sequence
        return self.located[side]

    def seed(self):
        """Returns the names of the seed and the step."""
        if "seed" not in self.variables:
            self.declarations.append("heddle.variable @seed counter as seed : tensor<2xi32>")
            self.variables["seed"] = self.numbers.integers(-2**31, 2**31 - 1, 2).astype(np.int32)
            self.top.line("%seed = heddle.read @seed : tensor<2xi32>")
        return "%seed", self.input("drawn", [1], [self.random.randrange(100)])

    def weight(self, scope, *dims):
        name = f"w{len(self.variables)}"
        self.declarations += [f"heddle.variable @{name} weight : {type_of(dims)}",
                              f"heddle.variable @grad.{name} gradient of @{name} as gradient : {type_of(dims)}"]
        fan = dims[0] if len(dims) > 1 else 1
        self.variables[name] = (self.numbers.standard_normal(dims) / fan ** 0.5).astype(np.float32)
        self.variables[f"grad.{name}"] = np.zeros(dims, np.float32)
        value = self.top.make(f"heddle.read @{name} : {type_of(dims)}", dims, keep=False)
        if scope is self.top:
            return value
        argument = Value(self.new_name(), dims)
        scope.constants.append((argument, value))
        return argument

    def text(self, outputs):
        """Returns the module; the first output is the loss."""
        results = ", ".join(f'{value.type} {{heddle.name = "out_{i}"}}' for i, value in enumerate(outputs))
        lines = self.top.lines + [f"heddle.accumulate {outputs[0].name}",
                                  f"return {', '.join(value.name for value in outputs)} : {', '.join(value.type for value in outputs)}"]
        return "\n".join(self.declarations) + f"\nfunc.func @f({', '.join(self.arguments)}) -> ({results}) {{\n  " + \
            "\n  ".join(lines) + "\n}\n"
