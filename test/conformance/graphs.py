"""Compares attention of nodes to their neighbours, with keys through lists, with PyTorch in float64: each node's
result, and the gradients of the weights of queries, keys and values. Graphs have odd sizes: a single node, nodes
without a neighbour, several edges between the same nodes.

    graphs.py --bin build/bin [--target=NAME] [--lanes=N]"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import torch

import calls
import tensor_files

MOST_NODES, MOST_NEIGHBOURS = 100, 24
NODES_AND_EDGES = [(1, 0), (1, 1), (7, 20), (33, 200), (100, 700)]
# Width of scores and of values per head; number of heads.
SHAPES = [(1, 8, 3), (5, 5, 2), (16, 16, 1), (33, 7, 2)]
BOUND = 1e-5
# Additive scores, before and after the nonlinearity (Veličković et al. 2018, equation 3, and Brody et al. 2022,
# equation 7), and dot products.
COMBINE = {
    "additive": ("", """combine {
  ^bb0(%a: f32, %b: f32):
    %c = arith.constant 0.2 : f32
    %sum = arith.addf %a, %b : f32
    %less = arith.mulf %sum, %c : f32
    %leaky = arith.maximumf %sum, %less : f32
    heddle.yield %leaky : f32
  }"""),
    "dynamic": ("parameters(%p)", """combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    %c = arith.constant 0.2 : f32
    %sum = arith.addf %a, %b : f32
    %less = arith.mulf %sum, %c : f32
    %leaky = arith.maximumf %sum, %less : f32
    %part = arith.mulf %leaky, %w : f32
    heddle.yield %part : f32
  }"""),
    "dot": ("", ""),
}
INPUTS = 6


def write_module(cases, nodes, neighbours, inputs, gradients=True):
    sizes = f"""#nodes = #heddle.dims<"nodes">
heddle.size @nodes max {nodes}
heddle.size @neighbours max {neighbours} longest "degrees"
"""
    return sizes + "".join(write_entry(*case, neighbours, inputs, gradients) for case in cases)


def write_entry(kind, width, of_value, heads, most_neighbours, inputs, gradients):
    name = f"{kind}_{width}x{of_value}x{heads}"
    room = (most_neighbours + 15) // 16 * 16  # as in the language
    rows = lambda columns: f"tensor<?x{columns}xf32, #nodes>"
    queries, values, scores = rows(width * heads), rows(of_value * heads), f"tensor<?x{heads}x{room}xf32, #nodes>"
    lists, index = f"tensor<?x{most_neighbours}xi32, #nodes>", "tensor<?xi32, #nodes>"
    parameters, combine = COMBINE[kind]
    weights = {"q": width * heads, "k": width * heads, "v": of_value * heads}
    variables = "".join(f"heddle.variable @{name}.{w} weight : tensor<{inputs}x{columns}xf32>\n"
                        f"heddle.variable @grad.{name}.{w} gradient of @{name}.{w} as gradient : tensor<{inputs}x{columns}xf32>\n"
                        for w, columns in weights.items())
    if parameters:
        row = f"tensor<{width * heads}xf32>"
        variables += f"heddle.variable @{name}.p weight : {row}\nheddle.variable @grad.{name}.p gradient of @{name}.p as gradient : {row}\n"
    port = lambda name, type, more="": f'%{name}: {type} {{heddle.name = "{name}"{more}}}'
    number = f", heddle.limit = {most_neighbours + 1} : i64"
    ports = [port("x", rows(inputs)), port("slope", values), port("neighbours", lists), port("degrees", index, number),
             port("users", lists), port("slots", lists), port("uses", index, number)]
    sequences, users = [index] * 4, [lists, lists, index]
    format_types = lambda *types: ", ".join(types)
    project = "".join(f"  %w{w} = heddle.read @{name}.{w} : tensor<{inputs}x{columns}xf32>\n"
                      f"  %{w} = heddle.matmul %x, %w{w} : {rows(inputs)}, tensor<{inputs}x{columns}xf32> -> {rows(columns)}\n"
                      for w, columns in weights.items())
    if parameters:
        project += f"  %p = heddle.read @{name}.p : {row}\n"
    sequence = "queries(%one, %ones) keys(%zeros, %degrees)"
    end = '{query_size = "", key_size = "neighbours"}'
    return f"""{variables}
func.func @{name}({", ".join(ports)}) -> ({values} {{heddle.name = "result"}}, tensor<1xf32> {{heddle.name = "loss"}}) {{
{project}  %one = heddle.iota {{dim = 0 : i64}} : {index}
  %ones = heddle.fill 1 : i32 : {index}
  %zeros = heddle.fill 0 : i32 : {index}
  %s = heddle.scores %q, %k rows(%neighbours) {parameters} users(%users, %slots, %uses) {sequence} {combine} {end}
    : ({format_types(queries, queries, lists, *([row] if parameters else []), *users, *sequences)}) -> {scores}
  %masked = heddle.mask %s at(%zeros, %one) keys(%degrees) {{value = 0xFF800000 : f32}} : {scores}, {index}, {index}
  %weights = heddle.softmax %masked : {scores}
  %y = heddle.context %weights, %v rows(%neighbours) users(%users, %slots, %uses) {sequence} {end}
    : ({format_types(scores, values, lists, *users, *sequences)}) -> {values}
  %product = arith.mulf %y, %slope : {values}
  %each = heddle.sum columns %product : {values} -> tensor<?xf32, #nodes>
  %loss = heddle.sum rows %each : tensor<?xf32, #nodes> -> tensor<1xf32>
{"  heddle.accumulate %loss" if gradients else ""}
  return %y, %loss : {values}, tensor<1xf32>
}}
"""


def make_graph(nodes, edges, most_neighbours, random):
    """Returns the lists of each node's neighbours, the lists of the nodes and slots where it is a neighbour, and the
    edges."""
    neighbours = np.zeros((nodes, most_neighbours), np.int32)
    users, slots = np.zeros_like(neighbours), np.zeros_like(neighbours)
    degrees, uses = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    to_and_from = []
    for _ in range(edges):
        to, source = random.integers(nodes), random.integers(nodes)
        if degrees[to] == most_neighbours or uses[source] == most_neighbours:
            continue
        neighbours[to, degrees[to]] = source
        users[source, uses[source]], slots[source, uses[source]] = to, degrees[to]
        degrees[to] += 1
        uses[source] += 1
        to_and_from.append((to, source))
    lists = {"neighbours": neighbours, "degrees": degrees, "users": users, "slots": slots, "uses": uses}
    return lists, torch.tensor(to_and_from, dtype=torch.long).reshape(-1, 2).T


def attend(kind, heads, query, key, value, parameter, edges):
    """Computes a message per edge, as usual in PyTorch. Edges are an array of nodes that look, and an array of the
    nodes that they look at."""
    to, source = edges
    q, k, v = (x.reshape(len(x), heads, -1) for x in (query, key, value))
    if kind == "dot":
        scores = (q[to] * k[source]).sum(-1)
    else:
        scores = torch.nn.functional.leaky_relu(q[to] + k[source], 0.2)
        scores = (scores * parameter.reshape(heads, -1) if kind == "dynamic" else scores).sum(-1)
    powers = scores.exp()
    sums = torch.zeros(len(q), heads, dtype=v.dtype).index_add(0, to, powers)
    return torch.zeros_like(v).index_add(0, to, (powers / sums[to])[..., None] * v[source]).reshape(value.shape)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--lanes", type=int, help="of a subgroup, for vulkan:portable")
    arguments = parser.parse_args()
    random, failures = np.random.default_rng(7), 0
    cases = [(kind, *shape) for kind in COMBINE for shape in SHAPES]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/graphs.mlir", "w") as file:
            file.write(write_module(cases, MOST_NODES, MOST_NEIGHBOURS, INPUTS))
        subprocess.run([f"{arguments.bin}/heddle-compile", f"{folder}/graphs.mlir", "-o", f"{folder}/graphs.heddle",
                        f"--target={arguments.target}", *([f"--lanes={arguments.lanes}"] if arguments.lanes else [])], check=True, stdout=subprocess.DEVNULL)
        with calls.Session(arguments.bin, f"{folder}/graphs.heddle", folder) as session:
            for kind, width, of_value, heads in cases:
                name = f"{kind}_{width}x{of_value}x{heads}"
                for nodes, edges in NODES_AND_EDGES:
                    failures += not check(session, folder, name, kind, heads, {"q": width, "k": width, "v": of_value}, nodes, edges, random)
    print(f"{len(cases) * len(NODES_AND_EDGES)} checks, {failures} failed")
    sys.exit(failures > 0)


def check(session, folder, name, kind, heads, widths, nodes, edges, random):
    lists, pairs = make_graph(nodes, edges, MOST_NEIGHBOURS, random)
    draw = lambda *shape: random.normal(size=shape).astype(np.float32)
    inputs = {"x": draw(nodes, INPUTS), "slope": draw(nodes, widths["v"] * heads)}
    weights = {w: draw(INPUTS, columns * heads) / INPUTS ** 0.5 for w, columns in widths.items()}
    if kind == "dynamic":
        weights["p"] = draw(widths["q"] * heads) / widths["q"] ** 0.5
    weights = {w: value.astype(np.float32) for w, value in weights.items()}
    start = {f"{name}.{w}": value for w, value in weights.items()}
    start |= {f"grad.{name}.{w}": np.zeros_like(value) for w, value in weights.items()}
    tensor_files.save_safetensors(f"{folder}/weights.safetensors", start)
    result, = session.call(name, inputs | lists, ["result"], ["--variables", f"{folder}/weights.safetensors",
                                                            "--save-variables", f"{folder}/after.safetensors"])
    after = tensor_files.load_safetensors(f"{folder}/after.safetensors")
    exact = {w: torch.tensor(value, dtype=torch.float64, requires_grad=True) for w, value in weights.items()}
    x = torch.tensor(inputs["x"], dtype=torch.float64)
    expected = attend(kind, heads, *(x @ exact[w] for w in "qkv"), exact.get("p"), pairs)
    (expected * torch.tensor(inputs["slope"], dtype=torch.float64)).sum().backward()
    right = True

    def compare(what, found, expected):
        nonlocal right
        error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1)
        if not error <= BOUND:
            print(f"{name}, {nodes} nodes, {pairs.shape[1]} edges: {what} is {error:.2e} off")
            right = False

    compare("the result", result, expected.detach().numpy())
    for w in weights:
        compare(f"the gradient of {w}", after[f"grad.{name}.{w}"], exact[w].grad.numpy())
    return right


if __name__ == "__main__":
    main()
