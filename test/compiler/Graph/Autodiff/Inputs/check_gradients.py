"""Reads differentiated functions in MLIR's generic form and runs those that write to `grad.<weight>` variables in
float64. Compares the written gradients with central differences of the returned loss, along random directions. Prints a
line per gradient; exits with 1 on a difference.

The ops' semantics are written here a second time, on purpose: from the dialect's documentation, not from the rules.
Arguments are filled in by their `heddle.name`: NAME_starts, NAME_lengths, NAME_positions; others get random numbers.
"""
import math
import re
import sys

import numpy as np

SEGMENTS = {"source": ([0, 4], [4, 3]), "target": ([0, 3], [3, 2])}
SIZES = {"source_tokens": 7, "target_tokens": 5, "sequences": 2}
VOCABULARY = 6  # exclusive bound of the tokens drawn

OP = re.compile(r'(?:(%\w+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)(?: <\{(.*)\}>)?( \(\{)?(?: : (.*))?$')


class Op:
    def __init__(self, result, name, operands, attributes):
        self.result, self.name, self.region, self.results = result, name, None, []
        self.operands = [operand for operand in operands.split(", ") if operand]
        self.text = attributes or ""

    def attribute(self, name, default=None):
        found = re.search(rf'\b{name} = ("[^"]*"|[-+.\w]+)', self.text)
        return found[1].strip('"') if found else default

    def number(self, name, default=0.0):
        return float(self.attribute(name, default))

    def flag(self, name):
        return re.search(rf"\b{name}\b", self.text) is not None


def shape_of(text):
    """Returns the run-time shape of a tensor type, and whether its first extent is dynamic."""
    extents = re.match(r"tensor<((?:[?\d]+x)*)", text)[1].split("x")[:-1]
    names = iter(re.findall(r'"(\w+)"', text))
    return tuple(SIZES[next(names)] if extent == "?" else int(extent) for extent in extents), extents[:1] == ["?"]


def types_in(text):
    return re.findall(r"(?:tensor<[^,>]*(?:, #heddle\.dims<[^>]*>)?>|i32|i1|f32)", text)


def parse(lines):
    """Returns functions as (name, arguments as (name, value, type), ops), and variables as name -> type."""
    functions, variables, stack, region = [], {}, [], None
    for line in (line.strip() for line in lines):
        if line.startswith("^bb0("):
            arguments = re.findall(r"(%\w+): (tensor<[^,>]*(?:, #heddle\.dims<[^>]*>)?>|i32|f32)", line)
            stack[-1].region.append(arguments)
        elif line.startswith("}, {"):
            stack[-1].region.append(None)
        elif line.startswith("})"):
            op = stack.pop()
            op.results = types_in(line.rsplit("->", 1)[-1])
            if op.name == "func.func":
                arguments = op.region.pop(0) if op.region and isinstance(op.region[0], list) else []
                names = re.findall(r'heddle.name = "(\w+)"', op.text.split("res_attrs")[0])
                names += [""] * (len(arguments) - len(names))
                arguments = [(name, key, text) for name, (key, text) in zip(names, arguments)]
                functions.append((op.attribute("sym_name"), arguments, op.region))
        elif match := OP.match(line):
            op = Op(match[1], match[2], match[3], match[4])
            if op.name == "heddle.variable":
                variables[op.attribute("sym_name")] = re.search(r"type = (tensor<[^>]*>)", op.text)[1]
            if stack and stack[-1].name != "builtin.module":
                stack[-1].region.append(op)
            if match[5]:
                op.region = []
                stack.append(op)
            elif match[6]:
                op.results = types_in(match[6].rsplit("->", 1)[-1])
                op.inputs = types_in(match[6].rsplit("->", 1)[0])
    return functions, variables


def regions_of(op):
    """Returns each region's arguments, by name, and its ops; nothing for an empty region."""
    regions = [[]]
    for part in op.region or []:
        if part is None:
            regions.append([])
        else:
            regions[-1].append(part)
    return [([name for name, _ in region[0]], region[1:]) if region else None for region in regions]


def call(region, *values):
    names, ops = region
    return run(ops, dict(zip(names, values)), {})[0]


def dropout_mask(op, shape, rate):
    """Returns a dropout mask. Any function of stream and position will do, as long as forward and backward agree."""
    generator = np.random.RandomState(int(op.number("stream")) + 17)
    return (generator.rand(*shape) >= rate) / (1 - rate)


def layer_norm(x, epsilon):
    mean = x.mean(1)
    return mean, 1 / np.sqrt(x.var(1) + epsilon)


def targets_of(logits, targets, smoothing):
    goal = np.full(logits.shape, smoothing / logits.shape[1])
    goal[np.arange(len(targets)), targets] += 1 - smoothing
    return goal


def attention_probabilities(op, query, key, segments):
    """Returns per head the probabilities before dropout, the dropout mask, and the log of the sums."""
    heads, scale = int(op.number("heads")), op.number("scale")
    score, *_, mask = regions_of(op)
    queries, keys = np.zeros((len(query), 1), int), np.zeros((1, len(key)), int)
    counts = np.zeros((len(query), len(key)), bool)
    for q0, ql, k0, kl in zip(*segments):
        for i in range(ql):
            queries[q0 + i] = i
            for j in range(kl):
                keys[0, k0 + j] = j
                counts[q0 + i, k0 + j] = call(mask, np.int32(i), np.int32(j)) if mask else True
    width = query.shape[1] // heads
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        scaled = scale * query[:, columns] @ key[:, columns].T
        scores = np.where(counts, call(score, scaled, queries, keys, head) if score else scaled, -np.inf)
        lse = np.logaddexp.reduce(scores, 1)
        rate = op.number("dropout")
        kept = dropout_mask(op, (heads,) + scores.shape, rate)[head] if rate else np.ones(scores.shape)
        slope = lambda gradient: call(regions_of(op)[1], scaled, queries, keys, head, gradient) if score else gradient
        yield columns, np.exp(scores - lse[:, None]), kept, lse, slope


def attention(op, query, key, value, *segments):
    result, lses = np.zeros(query.shape), []
    for columns, p, mask, lse, _ in attention_probabilities(op, query, key, segments[:4]):
        result[:, columns] = (p * mask) @ value[:, columns]
        lses.append(lse)
    return result, np.stack(lses, 1)


def attention_delta(op, forward, gradient):
    heads = shape_of(op.results[0])[0][1]
    return ((forward * gradient).reshape(len(forward), heads, -1).sum(2),)


def attention_gradients(op, query, key, value, gradient, lse, delta, *segments):
    dq, dk, dv = np.zeros(query.shape), np.zeros(key.shape), np.zeros(value.shape)
    scale = op.number("scale")
    for head, (columns, p, mask, _, slope) in enumerate(attention_probabilities(op, query, key, segments[:4])):
        dp = (gradient[:, columns] @ value[:, columns].T) * mask
        ds = slope(p * (dp - delta[:, head : head + 1])) * scale
        dq[:, columns], dk[:, columns] = ds @ key[:, columns], ds.T @ query[:, columns]
        dv[:, columns] = (p * mask).T @ gradient[:, columns]
    return (dq,) if op.name.endswith("query") else (dk, dv)


def locate(op, starts, lengths):
    position, sequence = np.zeros(shape_of(op.results[0])[0], int), np.zeros(shape_of(op.results[0])[0], int)
    for number, (start, length) in enumerate(zip(starts, lengths)):
        position[start : start + length], sequence[start : start + length] = np.arange(length), number
    return position, sequence


def segment(op, x, starts, lengths):
    parts = [x[start : start + length] for start, length in zip(starts, lengths)]
    pool = re.search(r"pool (\w+)", op.text)[1]
    if pool == "sum":
        return (np.stack([part.sum(0) for part in parts]),)
    best, where = {"max": (np.max, np.argmax), "min": (np.min, np.argmin)}[pool]
    return np.stack([best(part, 0) for part in parts]), np.stack([start + where(part, 0) for start, part in zip(starts, parts)])


def head_parts(segments, scores, queries, keys):
    """Yields for each sequence and head its part of the scores, of the queries' rows and of the keys' rows."""
    heads = scores.shape[1]
    width = queries.shape[1] // heads
    for q0, ql, k0, kl in zip(*segments):
        for head in range(heads):
            columns = slice(head * width, (head + 1) * width)
            yield scores[q0 : q0 + ql, head, :kl], queries[q0 : q0 + ql, columns], keys[k0 : k0 + kl, columns]


def product_of_pairs(op, x, y, *segments):
    result = np.zeros(shape_of(op.results[0])[0])
    parts = {"scores": (result, x, y), "context": (x, result, y), "transposed_context": (x, y, result)}[op.name[7:]]
    for scores, query, key in head_parts(segments, *parts):
        if op.name == "heddle.scores":
            scores[:] = query @ key.T
        elif op.name == "heddle.context":
            query[:] = scores @ key
        else:
            key[:] = scores.T @ query
    return (result,)


def mask_scores(op, scores, position, sequence, key_lengths):
    result = np.full(scores.shape, -np.inf if "0xFF800000" in op.text else op.number("value"))
    for row, head, key in np.ndindex(scores.shape):
        counts = call(regions_of(op)[0], np.int32(position[row]), np.int32(key))
        if counts and key < key_lengths[sequence[row]]:
            result[row, head, key] = scores[row, head, key]
    return (result,)


def softmax(op, x):
    powers = np.where(np.isneginf(x), 0, np.exp(x))
    sums = powers.sum(2, keepdims=True)
    return (powers / np.where(sums > 0, sums, 1),)


def broadcast(op, x):
    shape, (extents, column) = shape_of(op.results[0])[0], shape_of(op.inputs[0])
    if extents != (1,) and column and len(shape) == 2:
        x = x[:, None]
    if len(extents) == 2:  # one number per part
        x = x[:, :, None]
    return (np.broadcast_to(x, shape),)


def scatter_add(op, table, indices, rows):
    table = table.copy()
    np.add.at(table, indices, rows)
    return (table,)


def find_first(op, indices):
    places = np.full(shape_of(op.results[0])[0], -1)
    for place, number in reversed(list(enumerate(indices))):
        places[number] = place
    return (places,)


def sum_equal(op, indices, first, rows):
    sums = np.zeros_like(rows)
    np.add.at(sums, first[indices, 0], rows)
    return (sums,)


def cross_entropy(op, logits, targets):
    lse = np.logaddexp.reduce(logits, 1)
    return lse - (targets_of(logits, targets, op.number("smoothing")) * logits).sum(1), lse


def cross_entropy_grad(op, logits, targets, lse, gradient):
    goal = targets_of(logits, targets, op.number("smoothing"))
    return ((np.exp(logits - lse[:, None]) - goal) * gradient[:, None],)


def layer_norm_grad(op, gradient, x, gamma, mean, rstd):
    normalised, scaled = (x - mean[:, None]) * rstd[:, None], gradient * gamma
    along = (scaled * normalised).mean(1, keepdims=True)
    return (rstd[:, None] * (scaled - scaled.mean(1, keepdims=True) - normalised * along),)


def forward_layer_norm(op, x, gamma, beta):
    mean, rstd = layer_norm(x, op.number("epsilon"))
    return (x - mean[:, None]) * rstd[:, None] * gamma + beta, mean, rstd


def fill(op):
    value = re.search(r"value = ([-+.\w]+)", op.text)[1]
    return (np.full(shape_of(op.results[0])[0], float(value)),)


def sinusoid(op, positions):
    width = shape_of(op.results[0])[0][1]
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return (np.stack([np.sin(angles), np.cos(angles)], 2).reshape(len(positions), width),)


COMPARISONS = {0: np.equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal}
OPS = {
    "heddle.fill": fill,
    "heddle.broadcast": broadcast,
    "heddle.embedding": lambda op, i, table: (table[i],),
    "heddle.scatter_add": scatter_add,
    "heddle.find_first": find_first,
    "heddle.sum_equal": sum_equal,
    "heddle.densify": lambda op, places, rows: (np.where(places < 0, 0, rows[places[:, 0]]),),
    "heddle.dropout": lambda op, x, *_: (x * dropout_mask(op, x.shape, op.number("rate")),),
    "heddle.matmul": lambda op, a, b: (
        (a.T if op.flag("transpose_lhs") else a) @ (b.T if op.flag("transpose_rhs") else b),),
    "heddle.project": lambda op, x, w, b: tuple(
        x @ w_i + b_i for w_i, b_i in zip(np.split(w, len(w) // x.shape[1]), np.split(b, len(w) // x.shape[1]))),
    "heddle.project_grad_input": lambda op, w, *g: (sum(g_i @ w_i.T for g_i, w_i in zip(g, np.split(w, len(g)))),),
    "heddle.project_grad_weights": lambda op, x, *g: (
        np.concatenate([x.T @ g_i for g_i in g]), np.concatenate([g_i.sum(0) for g_i in g])),
    "heddle.reshape": lambda op, x: (np.reshape(x, shape_of(op.results[0])[0]),),
    "heddle.sum": lambda op, x: (np.reshape(x.sum(-1 if op.flag("columns") else 0), shape_of(op.results[0])[0]),),
    "heddle.layer_norm": forward_layer_norm,
    "heddle.layer_norm_grad": layer_norm_grad,
    "heddle.cross_entropy": cross_entropy,
    "heddle.cross_entropy_grad": cross_entropy_grad,
    "heddle.attention": attention,
    "heddle.attention_delta": attention_delta,
    "heddle.attention_grad_query": attention_gradients,
    "heddle.attention_grad_key_value": attention_gradients,
    "heddle.locate": locate,
    "heddle.segment": segment,
    "heddle.iota": lambda op: (np.arange(shape_of(op.results[0])[0][0]),),
    "heddle.scores": product_of_pairs,
    "heddle.context": product_of_pairs,
    "heddle.transposed_context": product_of_pairs,
    "heddle.mask": mask_scores,
    "heddle.softmax": softmax,
    "heddle.softmax_grad": lambda op, p, g: (p * (g - (p * g).sum(2, keepdims=True)),),
    "heddle.sinusoid": sinusoid,
    "arith.constant": lambda op: (op.number("value"),),
    "arith.sitofp": lambda op, a: (np.asarray(a, float),),
    "arith.subi": lambda op, a, b: (a - b,),
    "arith.muli": lambda op, a, b: (a * b,),
    "arith.addi": lambda op, a, b: (a + b,),
    "arith.addf": lambda op, a, b: (a + b,),
    "arith.subf": lambda op, a, b: (a - b,),
    "arith.mulf": lambda op, a, b: (a * b,),
    "arith.divf": lambda op, a, b: (a / b,),
    "arith.negf": lambda op, a: (-a,),
    "arith.maximumf": lambda op, a, b: (np.maximum(a, b),),
    "arith.minimumf": lambda op, a, b: (np.minimum(a, b),),
    "arith.cmpf": lambda op, a, b: (a > b,),  # ogt, the only predicate that the rules and the tests use
    "arith.cmpi": lambda op, a, b: (COMPARISONS[int(op.number("predicate"))](a, b),),
    "arith.select": lambda op, c, a, b: (np.where(c, a, b),),
    "math.exp": lambda op, a: (np.exp(a),),
    "math.log": lambda op, a: (np.log(a),),
    "math.sqrt": lambda op, a: (np.sqrt(a),),
    "math.rsqrt": lambda op, a: (1 / np.sqrt(a),),
    "math.tanh": lambda op, a: (np.tanh(a),),
    "math.erf": lambda op, a: (np.vectorize(math.erf)(a),),
}


def run(ops, values, state):
    """Runs a block and returns its terminator's operands. Writes go to `state`."""
    values = dict(values)

    def get(name):
        return values[name if "#" in name else name + "#0"]

    values.update({name + "#0": value for name, value in values.items()})
    for op in ops:
        operands = [get(name) for name in op.operands]
        if op.name in ("func.return", "heddle.yield"):
            return operands
        if op.name == "heddle.write":
            state[re.search(r'@"?([\w.]+)', op.text)[1]] = operands[0]
            continue
        if op.name == "heddle.read":
            results = (state[re.search(r'@"?([\w.]+)', op.text)[1]],)
        else:
            results = OPS[op.name](op, *operands)
        values.update({f"{op.result}#{i}": result for i, result in enumerate(results)})


def argument(generator, name, type_text):
    shape, _ = shape_of(type_text)
    what, _, kind = name.rpartition("_")
    if kind in ("starts", "lengths"):
        return np.array(SEGMENTS[what][kind == "lengths"])
    if kind == "positions":
        return np.concatenate([np.arange(length) for length in SEGMENTS[what][1]])
    return generator.randint(0, VOCABULARY, shape) if "xi32" in type_text else generator.randn(*shape)


def check(name, arguments, ops, variables):
    """Compares the function's gradients with central differences, and prints the outcome."""
    generator = np.random.RandomState(1)
    values = {key: argument(generator, argument_name, text) for argument_name, key, text in arguments}
    # Matrices keep the scores small; vectors are positive, away from the poles of the ops under test.
    shapes = {key: shape_of(text)[0] for key, text in variables.items()}
    state = {key: 0.5 * generator.randn(*shape) if len(shape) > 1 else 0.5 + generator.rand(*shape)
             for key, shape in shapes.items()}
    state.update({key: np.zeros(value.shape) for key, value in state.items() if key.startswith("grad.")})
    written = dict(state)
    run(ops, values, written)
    weights = [key[5:] for key in state if key.startswith("grad.") and written[key] is not state[key]]
    good, step = True, 1e-5
    for weight in weights:
        worst = 0
        for _ in range(5):
            direction = generator.randn(*state[weight].shape)
            losses = [run(ops, values, dict(state, **{weight: state[weight] + sign * step * direction}))[0][0]
                      for sign in (1, -1)]
            numeric = (losses[0] - losses[1]) / (2 * step)
            exact = (written["grad." + weight] * direction).sum()
            worst = max(worst, abs(numeric - exact) / max(1e-4, abs(exact)))
        print(f"{name}: gradient of {weight} {'agrees' if worst < 1e-5 else f'is off by {worst:.1e}'}")
        good = good and worst < 1e-5
    return good


def is_loss(ops):
    """Returns true if a function accumulates gradients and returns the loss; an optimizer's step returns no loss."""
    names = {op.name for op in ops}
    returns = any(op.name == "func.return" and op.operands for op in ops)
    return returns and "heddle.adam" not in names and any("@grad." in op.text for op in ops)


def main():
    functions, variables = parse(sys.stdin)
    functions = [function for function in functions if is_loss(function[2])]
    return 0 if functions and all([check(*function, variables) for function in functions]) else 1


if __name__ == "__main__":
    sys.exit(main())
