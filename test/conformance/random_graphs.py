"""Compares random graphs of the dialect, with gradients, compiled with and without fusion, with the reference
interpreter.

    random_graphs.py --bin build/bin [--seed N] [--count N] [--keep DIR]

The same number always gives the same graph. A graph that differs is kept as a module with its inputs, and the command
that shows the difference is printed."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import tensor_files
from graph_text import Module, Scope, Value, is_size, type_of

WIDTHS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33]
FUSION = ["fuse-attention", "fuse-projections", "fuse-cross-entropy", "fuse-updates", "fuse-kernels"]
TOLERANCE = 2e-4  # for f32 results after some dozens of ops
MOST_OPS = 14


class Graph(Module):
    """A module of random ops, each of which uses results of earlier ones."""

    # Values

    def width(self):
        return self.random.choice(WIDTHS)

    def pick(self, scope, accepts):
        """Returns a value of the pool, preferring late ones; None if none is accepted."""
        found = [value for value in scope.pool if accepts(value)]
        return found[max(self.random.randrange(len(found)) for _ in range(2))] if found else None

    def matrix(self, scope, rows=None, width=None):
        """Returns a matrix whose number of rows is a run-time size."""
        def accepts(value):
            return (len(value.dims) == 2 and is_size(value.dims[0]) and rows in (None, value.dims[0]) and
                    width in (None, value.dims[1]))
        found = self.pick(scope, accepts)
        if found and self.random.random() < 0.9:
            return found
        rows = rows or self.random.choice(scope.rows)
        if width is None:
            width = self.width()
        base = self.pick(scope, lambda value: len(value.dims) == 2 and value.dims[0] == rows)
        if base:
            return self.product(scope, base, width)
        if scope is not self.top:
            return None
        return self.table(scope, rows, width)

    def product(self, scope, rows, width):
        transposed = self.random.random() < 0.3
        weight = self.weight(scope, *((width, rows.dims[1]) if transposed else (rows.dims[1], width)))
        flags = " {transpose_rhs}" if transposed else ""
        return scope.make(f"heddle.matmul {rows.name}, {weight.name}{flags} : {rows.type}, {weight.type} -> "
                          f"{type_of([rows.dims[0], width])}", [rows.dims[0], width])

    def table(self, scope, rows, width):
        table = self.weight(scope, self.random.choice([1, 3, 8, 20]), width)
        indices = self.indices(rows, table.dims[0])
        return scope.make(f"heddle.embedding {indices}, {table.name} : {type_of([rows], 'i32')}, {table.type} -> "
                          f"{type_of([rows, width])}", [rows, width])

    def fill(self, scope, dims, number):
        return scope.make(f"heddle.fill {number:e} : f32 : {type_of(dims)}", dims, keep=False)

    def apply(self, scope, op, *values, keep=True):
        return scope.make(f"{op} {', '.join(value.name for value in values)} : {values[0].type}", values[0].dims, keep)

    def squared_plus_one(self, scope, value):
        square = self.apply(scope, "arith.mulf", value, value, keep=False)
        return self.apply(scope, "arith.addf", square, self.fill(scope, value.dims, 1), keep=False)

    # Ops. Each method adds a value to the pool, or does nothing if no operand fits.

    def unary(self, scope):
        value = self.pick(scope, lambda value: True)
        if not value:
            return
        kind = self.random.choice(["tanh", "erf", "neg", "exp", "sqrt", "rsqrt", "log", "scale", "stop"])
        if kind in ("tanh", "erf"):
            self.apply(scope, f"math.{kind}", value)
        elif kind == "neg":
            self.apply(scope, "arith.negf", value)
        elif kind == "exp":
            self.apply(scope, "math.exp", self.apply(scope, "math.tanh", value, keep=False))
        elif kind == "scale":
            self.apply(scope, "arith.mulf", value, self.fill(scope, value.dims, self.random.uniform(-2, 2)))
        elif kind == "stop":
            if scope is self.top:
                self.apply(scope, "heddle.stop_gradient", value)
        else:
            self.apply(scope, f"math.{kind}", self.squared_plus_one(scope, value))

    def binary(self, scope):
        left = self.pick(scope, lambda value: True)
        if not left:
            return
        right = self.pick(scope, lambda value: value.dims == left.dims)
        kind = self.random.choice(["add", "sub", "mul", "maximum", "minimum", "div"])
        if kind == "div":
            right = self.squared_plus_one(scope, right)
        self.apply(scope, f"arith.{kind}f", left, right)

    def select(self, scope):
        left = self.pick(scope, lambda value: True)
        if not left or scope is not self.top:
            return
        right = self.pick(scope, lambda value: value.dims == left.dims)
        of, zero = self.floats(left.dims), self.fill(scope, left.dims, 0)
        truth = type_of(left.dims, "i1")
        condition = scope.make(f"arith.cmpf ogt, {of.name}, {zero.name} : {of.type}", left.dims, keep=False)
        scope.make(f"arith.select {condition.name}, {left.name}, {right.name} : {truth}, {left.type}", left.dims)

    def linear(self, scope):
        rows = self.matrix(scope)
        if not rows:
            return
        result = self.product(scope, rows, self.width())
        if self.random.random() < 0.5:
            self.add_row(scope, result)

    def add_row(self, scope, matrix):
        row = self.weight(scope, matrix.dims[-1])
        wide = self.repeat(scope, row, matrix.dims)
        self.apply(scope, self.random.choice(["arith.addf", "arith.mulf"]), matrix, wide)

    def repeat(self, scope, value, dims):
        return scope.make(f"heddle.broadcast {value.name} : {value.type} to {type_of(dims)}", dims, keep=False)

    def gram(self, scope):
        left = self.matrix(scope)
        right = left and self.matrix(scope, rows=left.dims[0])
        if right:
            dims = [left.dims[1], right.dims[1]]
            scope.make(f"heddle.matmul {left.name}, {right.name} {{transpose_lhs}} : {left.type}, {right.type} -> {type_of(dims)}",
                       dims)

    def project(self, scope):
        rows = self.matrix(scope)
        count, width = self.random.choice([1, 2, 3]), self.width()
        weights, biases = self.weight(scope, count * rows.dims[1], width), self.weight(scope, count * width)
        dims = [rows.dims[0], width]
        values = [Value(self.new_name(), dims) for _ in range(count)]
        scope.line(f"{', '.join(value.name for value in values)} = heddle.project {rows.name}, {weights.name}, {biases.name} : "
                   f"{rows.type}, {weights.type}, {biases.type} -> {', '.join(value.type for value in values)}")
        scope.pool += values

    def layer_norm(self, scope):
        rows = self.matrix(scope)
        if not rows:
            return
        gamma, beta = self.weight(scope, rows.dims[1]), self.weight(scope, rows.dims[1])
        column = type_of(rows.dims[:1])
        value, mean, rstd = Value(self.new_name(), rows.dims), self.new_name(), self.new_name()
        scope.line(f"{value.name}, {mean}, {rstd} = heddle.layer_norm {rows.name}, {gamma.name}, {beta.name} "
                   f"{{epsilon = 1.0e-2 : f32}} : {rows.type}, {gamma.type}, {beta.type} -> {column}")
        scope.pool.append(value)

    def norm(self, scope):
        """Normalises rows by their sums of squares, like an RMS norm."""
        rows = self.matrix(scope)
        if not rows:
            return
        square = self.apply(scope, "arith.mulf", rows, rows, keep=False)
        sums = scope.make(f"heddle.sum columns {square.name} : {rows.type} -> {type_of(rows.dims[:1])}", rows.dims[:1])
        shifted = self.apply(scope, "arith.addf", sums, self.fill(scope, sums.dims, 1), keep=False)
        scale = self.apply(scope, "math.rsqrt", shifted)
        self.apply(scope, "arith.mulf", rows, self.repeat(scope, scale, rows.dims))

    def sum_columns(self, scope):
        value = self.pick(scope, lambda value: len(value.dims) > 1 and is_size(value.dims[0]))
        if value:
            by_part = len(value.dims) == 3 and self.random.random() < 0.6
            dims = value.dims[:2] if by_part else value.dims[:1]
            scope.make(f"heddle.sum columns {value.name} : {value.type} -> {type_of(dims)}", dims)

    def sum_rows(self, scope):
        value = self.pick(scope, lambda value: len(value.dims) > 1 or is_size(value.dims[0]))
        if value:
            dims = [int(np.prod(value.dims[1:]))]
            scope.make(f"heddle.sum rows {value.name} : {value.type} -> {type_of(dims)}", dims)

    def broadcast(self, scope):
        def repeats(value):
            return len(value.dims) == 1 or (len(value.dims) == 2 and is_size(value.dims[0]))
        value = self.pick(scope, repeats)
        if not value:
            return
        rows, width, parts = self.random.choice(scope.rows), self.width(), self.random.choice([1, 2, 3])
        if len(value.dims) == 2:
            targets = [[*value.dims, width]]
        elif is_size(value.dims[0]):
            targets = [[value.dims[0], width], [value.dims[0], parts, width]]
        elif value.dims[0] == 1:
            targets = [[rows, width], [rows], [rows, parts, width], [parts, width], [width]]
        else:
            targets = [[rows, value.dims[0]], [rows, parts, value.dims[0]], [parts, value.dims[0]]]
        target = self.random.choice(targets)
        self.bind(target)
        wide = self.repeat(scope, value, target)
        other = self.pick(scope, lambda value: value.dims == wide.dims)
        scope.pool.append(wide)
        if other:
            self.apply(scope, self.random.choice(["arith.addf", "arith.mulf"]), other, wide)

    def parts(self, scope):
        """Reshapes columns into the parts of a row, and back."""
        value = self.pick(scope, lambda value: len(value.dims) > 1 and is_size(value.dims[0]))
        if not value:
            return
        if len(value.dims) == 3:
            dims = [value.dims[0], value.dims[1] * value.dims[2]]
        else:
            count = self.random.choice([n for n in range(1, value.dims[1] + 1) if value.dims[1] % n == 0])
            dims = [value.dims[0], count, value.dims[1] // count]
        scope.make(f"heddle.reshape {value.name} : {value.type} to {type_of(dims)}", dims)

    def softmax(self, scope):
        value = self.pick(scope, lambda value: len(value.dims) == 3 and is_size(value.dims[0]))
        if value:
            self.apply(scope, "heddle.softmax", value)

    def columns(self, scope):
        value = self.matrix(scope)
        if not value:
            return
        first = self.random.randrange(value.dims[1])
        dims = [value.dims[0], self.random.randint(1, value.dims[1] - first)]
        scope.make(f"heddle.columns {value.name} from {first} : {value.type} -> {type_of(dims)}", dims)

    def join(self, scope):
        first = self.matrix(scope)
        if not first:
            return
        parts = [first] + [self.matrix(scope, rows=first.dims[0]) for _ in range(self.random.choice([1, 1, 2]))]
        parts = [part for part in parts if part]
        dims = [first.dims[0], sum(part.dims[1] for part in parts)]
        scope.make(f"heddle.join {', '.join(part.name for part in parts)} : {', '.join(part.type for part in parts)} -> "
                   f"{type_of(dims)}", dims)

    def gather(self, scope):
        table = self.matrix(scope)
        rows = self.random.choice(scope.rows)
        indices = self.indices(rows, table.dims[0])
        dims = [rows, table.dims[1]]
        scope.make(f"heddle.embedding {indices}, {table.name} : {type_of([rows], 'i32')}, {table.type} -> {type_of(dims)}", dims)

    def look_up(self, scope):
        self.table(scope, self.random.choice(scope.rows), self.width())

    def scatter(self, scope):
        rows = self.matrix(scope)
        table = self.weight(scope, self.random.choice([1, 3, 8]), rows.dims[1])
        indices = self.indices(rows.dims[0], table.dims[0])
        table = self.apply(scope, "arith.negf", table, keep=False)  # it is changed in place
        scope.make(f"heddle.scatter_add {table.name}, {indices}, {rows.name} : {table.type}, {type_of(rows.dims[:1], 'i32')}, "
                   f"{rows.type}", table.dims)

    def segment(self, scope):
        side = self.random.choice(["source", "target"])
        rows, (starts, lengths) = self.matrix(scope, rows=side + "_tokens"), self.sequences(side)
        pool, dims = self.random.choice(["sum", "max", "min"]), ["sequences", rows.dims[1]]
        value = Value(self.new_name(), dims)
        chosen = "" if pool == "sum" else ", " + self.new_name()
        scope.line(f'{value.name}{chosen} = heddle.segment {pool} {rows.name} segments({starts}, {lengths}) '
                   f'{{row_size = "{side}_length"}} : {rows.type}, {type_of(["sequences"], "i32")} -> {value.type}'
                   f'{", " + type_of(dims, "i32") if chosen else ""}')
        scope.pool.append(value)

    def spread(self, scope):
        """Gives each token the row of its sequence."""
        side = self.random.choice(["source", "target"])
        table = self.matrix(scope, rows="sequences")
        _, sequence = self.locate(side)
        dims = [side + "_tokens", table.dims[1]]
        scope.make(f"heddle.embedding {sequence}, {table.name} : {type_of(dims[:1], 'i32')}, {table.type} -> {type_of(dims)}", dims)

    def window(self, scope):
        side = self.random.choice(["source", "target"])
        rows, (position, _) = self.matrix(scope, rows=side + "_tokens"), self.locate(side)
        first = self.random.randint(-3, 2)
        last = self.random.randint(first, 3)
        dims = [rows.dims[0], rows.dims[1] * (last - first + 1)]
        windows = scope.make(f"heddle.unfold {rows.name} at {position} from {first} to {last} : {rows.type}, "
                             f"{type_of(dims[:1], 'i32')} -> {type_of(dims)}", dims)
        if self.random.random() < 0.6:
            self.product(scope, windows, self.width())

    def rotary(self, scope):
        rows = self.matrix(scope)
        if not rows or rows.dims[1] % 2 or rows.dims[0] == "sequences":
            return
        position, _ = self.locate(rows.dims[0].removesuffix("_tokens"))
        heads = self.random.choice([n for n in range(1, rows.dims[1] // 2 + 1) if rows.dims[1] // 2 % n == 0])
        pairs, neighbours = rows.dims[1] // 2 // heads, self.random.random() < 0.4
        turned = self.random.randint(1, pairs) if self.random.random() < 0.4 else pairs
        numbers = [self.random.uniform(0, 1) for _ in range(turned)]
        numbers = [number for number in numbers for _ in range(2)] if neighbours else numbers
        frequencies = scope.make(f"heddle.numbers [{', '.join(f'{number:e}' for number in numbers)}] : {type_of([len(numbers)])}",
                                 [len(numbers)], keep=False)
        flags = ["neighbours"] * neighbours + [f"head_width = {2 * pairs} : i64"] * (turned < pairs)
        attributes = f" {{{', '.join(flags)}}}" if flags else ""
        scope.make(f"heddle.rotary {rows.name} at {position} by {frequencies.name}{attributes} : {rows.type}, "
                   f"{type_of(rows.dims[:1], 'i32')}, {frequencies.type}", rows.dims)

    def dropout(self, scope):
        value = self.pick(scope, lambda value: is_size(value.dims[0]) and len(value.dims) > 1)
        if not value:
            return
        seed, step = self.seed()
        scope.make(f"heddle.dropout {value.name} seed {seed} step {step} {{rate = 0.3 : f32, stream = {self.random.randrange(9)} : i32}} : "
                   f"{value.type}", value.dims)

    def static_rows(self, scope):
        """Slices or joins rows of a matrix with a static number of rows."""
        value = self.pick(scope, lambda value: len(value.dims) == 2 and not is_size(value.dims[0])) or \
            self.weight(scope, self.random.choice([1, 3, 6]), self.width())
        if self.random.random() < 0.5:
            first = self.random.randrange(value.dims[0])
            dims = [self.random.randint(1, value.dims[0] - first), value.dims[1]]
            scope.make(f"heddle.slice {value.name} from {first} : {value.type} to {type_of(dims)}", dims)
        else:
            weight = self.weight(scope, value.dims[1], self.width())
            dims = [value.dims[0], weight.dims[1]]
            scope.make(f"heddle.matmul {value.name}, {weight.name} : {value.type}, {weight.type} -> {type_of(dims)}", dims)

    def cross_entropy(self, scope):
        rows = self.matrix(scope)
        targets = self.indices(rows.dims[0], rows.dims[1])
        loss, column = Value(self.new_name(), rows.dims[:1]), type_of(rows.dims[:1])
        scope.line(f"{loss.name}, {self.new_name()} = heddle.cross_entropy {rows.name}, {targets} {{smoothing = "
                   f"{self.random.choice(['0.0', '0.1'])} : f32}} : {rows.type}, {type_of(rows.dims[:1], 'i32')} -> {column}")
        scope.pool.append(loss)

    def attention(self, scope):
        """Scores, a mask, softmax and the matmul with values, op by op or as one op."""
        side, other = self.random.choice(["source", "target"]), self.random.choice(["source", "target"])
        heads, width = self.random.choice([1, 1, 2, 3, 4]), self.random.choice([1, 2, 3, 4, 8, 9])
        of_keys = self.random.choice([n for n in range(1, heads + 1) if heads % n == 0])
        is_lone = self.random.random() < 0.25  # one query per sequence
        rows = "sequences" if is_lone else side + "_tokens"
        query = self.matrix(scope, rows=rows, width=heads * width)
        key = self.matrix(scope, rows=other + "_tokens", width=of_keys * width)
        value = self.matrix(scope, rows=other + "_tokens", width=of_keys * width)
        key_starts, key_lengths = self.sequences(other)
        index = type_of(["sequences"], "i32")
        if is_lone:
            starts = scope.make(f"heddle.iota {{dim = 0 : i64}} : {index}", ["sequences"], keep=False).name
            lengths = scope.make(f"heddle.fill 1 : i32 : {index}", ["sequences"], keep=False).name
            position = scope.make(f"heddle.fill 0 : i32 : {index}", ["sequences"], keep=False).name
            sequence = starts
        else:
            starts, lengths = self.sequences(side)
            position, sequence = self.locate(side)
        sizes = f'query_size = "{"" if is_lone else side + "_length"}", key_size = "{other}_length"'
        pairs = f"queries({starts}, {lengths}) keys({key_starts}, {key_lengths})"
        region = self.random.choice(["", "", "sle", "sge"])
        if region:
            region = (f"mask {{\n  ^bb0(%q: i32, %k: i32):\n    %c = arith.cmpi {region}, %k, %q : i32\n"
                      "    heddle.yield %c : i1\n  } ")
        four = ", ".join([index] * 4)
        if self.random.random() < 0.5:
            score = self.random.random() < 0.3
            score = ("score {\n  ^bb0(%s: f32, %q: i32, %k: i32, %h: i32):\n    %t = math.tanh %s : f32\n"
                     "    %d = arith.subi %k, %q : i32\n    %f = arith.sitofp %d : i32 to f32\n    %c = arith.constant 0.1 : f32\n"
                     "    %b = arith.mulf %f, %c : f32\n    %y = arith.addf %t, %b : f32\n    heddle.yield %y : f32\n  } ") if score else ""
            drops = self.random.random() < 0.3
            seed, step = self.seed() if drops else ("", "")
            result = Value(self.new_name(), query.dims)
            scope.line(f"{result.name}, {self.new_name()} = heddle.attention {query.name}, {key.name}, {value.name} {pairs} "
                       f"{f'dropout({seed}, {step}) ' if drops else ''}{score}{region}{{heads = {heads} : i64, scale = "
                       f"{width ** -0.5:e} : f32, {'dropout = 0.2 : f32, stream = 3 : i32, ' if drops else ''}{sizes}}} : ({query.type}, "
                       f"{key.type}, {value.type}, {four}{', tensor<2xi32>, tensor<1xi32>' if drops else ''}) -> ({query.type}, "
                       f"{type_of([rows, heads])})")
            scope.pool.append(result)
            return
        room = self.longest[other] + self.random.choice([0, 0, 3])
        dims = [rows, heads, room]
        scores = scope.make(f"heddle.scores {query.name}, {key.name} {pairs} {{{sizes}}} : ({query.type}, {key.type}, {four}) -> "
                            f"{type_of(dims)}", dims, keep=False)
        if self.random.random() < 0.7:
            scores = self.apply(scope, "arith.mulf", scores, self.fill(scope, dims, width ** -0.5), keep=False)
        if self.random.random() < 0.3:
            scores = self.apply(scope, "math.tanh", scores, keep=False)
        masked = scope.make(f"heddle.mask {scores.name} at({position}, {sequence}) keys({key_lengths}) {region}{{value = 0xFF800000 : "
                            f"f32}} : {scores.type}, {type_of([rows], 'i32')}, {index}", dims, keep=False)
        weights = self.apply(scope, "heddle.softmax", masked, keep=self.random.random() < 0.3)
        if self.random.random() < 0.2:
            seed, step = self.seed()
            weights = scope.make(f"heddle.dropout {weights.name} seed {seed} step {step} {{rate = 0.2 : f32, stream = 5 : i32}} : "
                                 f"{weights.type}", dims, keep=False)
        scope.make(f"heddle.context {weights.name}, {value.name} {pairs} {{{sizes}}} : ({weights.type}, {value.type}, {four}) -> "
                   f"{query.type}", query.dims)

    def scan(self, scope):
        side = self.random.choice(["source", "target"])
        step = f"step_{self.next}"
        self.declarations.append(f"heddle.size @{step} max {max(self.extents['sequences'], 1)} of @sequences from 0")
        starts, lengths = self.sequences(side)
        rows = [self.matrix(scope, rows=side + "_tokens") for _ in range(self.random.choice([1, 1, 2]))]
        states = [self.matrix(scope, rows="sequences") if self.random.random() < 0.5
                  else self.fill(scope, ["sequences", self.width()], self.random.choice([0, 0.5]))
                  for _ in range(self.random.choice([1, 1, 2]))]
        inner = Scope(self, [step])
        inner.pool = [Value(self.new_name(), [step, value.dims[1]]) for value in rows + states]
        arguments = list(inner.pool)
        for _ in range(self.random.randint(1, 6)):
            self.random.choice([self.unary, self.binary, self.linear, self.columns, self.join, self.broadcast, self.sum_columns,
                                self.layer_norm, self.norm, self.parts, self.softmax])(inner)
        new = []
        for state in states: # each from the row and the state before
            now, before = self.matrix(inner, rows=step), arguments[len(rows) + len(new)]
            parts = [self.product(inner, value, state.dims[1]) for value in (now, before)]
            both = self.apply(inner, "arith.addf", *parts, keep=False)
            new.append(self.apply(inner, "math.tanh", both))
        outputs = [self.matrix(inner, rows=step) for _ in range(self.random.choice([1, 1, 2]))]
        results = [Value(self.new_name(), state.dims) for state in states]
        results += [Value(self.new_name(), [side + "_tokens", value.dims[1]]) for value in outputs]
        arguments += [argument for argument, _ in inner.constants]
        constants = [value for _, value in inner.constants]
        index = type_of(["sequences"], "i32")
        names = lambda values: ", ".join(value.name for value in values)
        types = lambda values: ", ".join(value.type for value in values)
        given = [value for value in rows + states + constants]
        typed = ", ".join(f"{value.name}: {value.type}" for value in arguments)
        body = "\n    ".join(inner.lines + [f"heddle.yield {names(new + outputs)} : {types(new + outputs)}"])
        scope.line(f"{names(results)} = heddle.scan rows({names(rows)}) states({names(states)}) constants({names(constants)}) of({starts}, "
                   f"{lengths}){self.random.choice(['', ' reverse'])} {{row_size = \"{side}_length\", step = \"{step}\"}} : "
                   f"({types(given)}, {index}, {index}) -> ({types(results)}) {{\n  ^bb0({typed}):\n    {body}\n  }}")
        scope.pool += results

    # The whole

    def grow(self):
        ops = {self.unary: 4, self.binary: 4, self.select: 1, self.linear: 4, self.gram: 1, self.project: 1, self.layer_norm: 1, self.norm: 1,
               self.sum_columns: 2, self.sum_rows: 2, self.broadcast: 3, self.parts: 2, self.softmax: 2, self.columns: 1, self.join: 2,
               self.gather: 1, self.look_up: 1, self.scatter: 1, self.segment: 1, self.spread: 1, self.window: 2, self.rotary: 1,
               self.dropout: 1, self.static_rows: 1, self.cross_entropy: 1, self.attention: 2, self.scan: 1}
        self.look_up(self.top)
        for _ in range(self.random.randint(2, MOST_OPS)):
            self.random.choices(list(ops), list(ops.values()))[0](self.top)

    def sum_of(self, value):
        """Returns the sum of a value's elements, each multiplied by an element of an input."""
        scope, factor = self.top, self.floats(value.dims)
        current = self.apply(scope, "arith.mulf", value, factor, keep=False)
        def sum_up(how, dims):
            nonlocal current
            current = scope.make(f"heddle.{how} {current.name} : {current.type} {'to' if how == 'reshape' else '->'} {type_of(dims)}",
                                 dims, keep=False)
        if len(current.dims) == 3 and not is_size(current.dims[0]):
            sum_up("reshape", [current.dims[0], current.dims[1] * current.dims[2]])
        if len(current.dims) == 3:
            sum_up("sum columns", current.dims[:2])
        if len(current.dims) == 2:
            sum_up("sum rows", current.dims[1:])
        if is_size(current.dims[0]):
            sum_up("sum rows", [1])
        if current.dims[0] != 1:
            sum_up("sum columns", [1])
        return current

    def write(self):
        """Returns the module."""
        self.grow()
        pool = self.top.pool
        # If gradients are stopped, the first value keeps the loss dependent on a weight.
        stops = any("stop_gradient" in line for line in self.top.lines)
        chosen = [pool[-1]] + pool[:1] * stops + [value for value in pool[:-1] if self.random.random() < 0.25]
        # A view of a variable would have to be copied, so it is no output.
        outputs = [value for value in pool if is_size(value.dims[0]) and self.random.random() < 0.15]
        loss = None
        for value in chosen:
            part = self.sum_of(value)
            loss = self.apply(self.top, "arith.addf", loss, part, keep=False) if loss else part
        return self.text([loss] + outputs)


def check(graph, number, tools, folder):
    """Returns what is wrong, and the command that shows it; None if all is right."""
    with open(f"{folder}/graph.mlir", "w") as file:
        file.write(graph.write())
    tensor_files.save_safetensors(f"{folder}/start.safetensors", graph.variables)
    command = [f"{tools}/heddle-reference", f"{folder}/graph.mlir", "--entry=f", "--diff", f"--tolerance={TOLERANCE}", "--floor=0.01",
               f"--variables={folder}/start.safetensors"]
    for name, value in graph.inputs.items():
        np.save(f"{folder}/{name}.npy", value)
        command.append(f"--input={name}=@{folder}/{name}.npy")
    for flags in ([], [f"--{flag}=false" for flag in FUSION]):
        done = subprocess.run(command + flags, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{done.stdout}{done.stderr}", shlex.join(command + flags)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first graph")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep", help="where to keep what differs (default: a new folder)")
    arguments = parser.parse_args()
    failed = 0
    for number in range(arguments.seed, arguments.seed + arguments.count):
        folder = tempfile.mkdtemp(prefix=f"graph-{number}-")
        problem = check(Graph(number), number, arguments.bin, folder)
        if not problem:
            shutil.rmtree(folder)
            continue
        failed += 1
        text, command = problem
        if arguments.keep:
            kept = os.path.join(arguments.keep, f"graph-{number}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(folder, kept)
            command = command.replace(folder, kept)
        print(f"graph {number}: {text.strip()}\n  {command}", flush=True)
    print(f"{arguments.count} graphs from {arguments.seed} on, {failed} differ")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
