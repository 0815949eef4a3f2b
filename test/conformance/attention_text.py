"""Writes modules with `heddle.attention` and its gradients, for heads of many widths and every kind of mask."""

RADIUS = 9
CAUSAL = "%late = arith.cmpi sle, %j, %i : i32"
NEAR = f"""%radius = arith.constant {RADIUS} : i32
    %far = arith.subi %i, %j : i32
    %distance = math.absi %far : i32
    %near = arith.cmpi sle, %distance, %radius : i32"""
# Each mask, as the body of a region of (%i, %j).
MASKS = {
    "full": None,
    "causal": f"{CAUSAL}\n    heddle.yield %late : i1",
    "window": f"{NEAR}\n    heddle.yield %near : i1",
    "causal_window": f"{CAUSAL}\n    {NEAR}\n    %both = arith.andi %late, %near : i1\n    heddle.yield %both : i1",
    "sinks": f"{CAUSAL}\n    heddle.yield %late : i1",  # each head has a sink, too
}


def write_sizes(rows, sequences, longest):
    return f"""heddle.size @queries max {rows}
heddle.size @keys max {rows}
heddle.size @sequences max {sequences}
heddle.size @query_length max {longest} longest "query_lengths"
heddle.size @key_length max {longest} longest "key_lengths"
!segments = tensor<?xi32, #heddle.dims<"sequences">>
"""


def write_entry(name, mask, width, heads, key_heads, rows, longest, dropout=0.0):
    """Returns an entry with the forward op and the three ops of its backward pass, as differentiation writes them."""
    sinks = name.startswith("sinks")
    sink = f"tensor<{heads}xf32>"
    matrix = lambda size, columns: f'tensor<?x{columns}xf32, #heddle.dims<"{size}">>'
    q, k, per_head = matrix("queries", width * heads), matrix("keys", width * key_heads), matrix("queries", heads)
    port = lambda name, kind: f'%{name}: {kind} {{heddle.name = "{name}"}}'
    segment = lambda name, limit: f'%{name}: !segments {{heddle.name = "{name}", heddle.limit = {limit} : i64}}'
    result = lambda name, kind: f'{kind} {{heddle.name = "{name}"}}'
    drops = dropout > 0
    region = f"{'dropout(%seed, %step) ' if drops else ''}" + (f"mask {{\n  ^bb0(%i: i32, %j: i32):\n    {mask}\n  }}" if mask else "")
    rest = f"""queries(%query_starts, %query_lengths) keys(%key_starts, %key_lengths) {region}
    {{heads = {heads} : i64, scale = {width ** -0.5:.9e} : f32, query_size = "query_length", key_size = "key_length"{f', dropout = {dropout:e} : f32, stream = 3 : i32' if drops else ''}}}"""
    segments = ", ".join(["!segments"] * 4 + ["tensor<2xi32>", "tensor<1xi32>"] * drops)
    more = (", " + port("sinks", sink) if sinks else "") + (f", {port('seed', 'tensor<2xi32>')}, {port('step', 'tensor<1xi32>')}" if drops else "")
    operands = f"({q}, {k}, {k}, {sink + ', ' if sinks else ''}{segments})"
    forward = f"%query, %key, %value {'sink(%sinks) ' if sinks else ''}{rest} : {operands} -> ({q}, {per_head})"
    backward = f"%query, %key, %value gradient %gradient, %lse, %delta {rest}"
    operands = f"({q}, {k}, {k}, {q}, {per_head}, {per_head}, {segments})"
    return f"""func.func @{name}({port("query", q)}, {port("key", k)}, {port("value", k)}, {port("gradient", q)},
    {segment("query_starts", rows + 1)}, {segment("query_lengths", longest + 1)},
    {segment("key_starts", rows + 1)}, {segment("key_lengths", longest + 1)}{more})
    -> ({result("result", q)}, {result("grad_query", q)}, {result("grad_key", k)}, {result("grad_value", k)}) {{
  %y, %lse = heddle.attention {forward}
  %delta = heddle.attention_delta %y, %gradient : {q} -> {per_head}
  %dq = heddle.attention_grad_query {backward} : {operands} -> {q}
  %dk, %dv = heddle.attention_grad_key_value {backward} : {operands} -> ({k}, {k})
  return %y, %dq, %dk, %dv : {q}, {q}, {k}, {k}
}}
"""


def masks_of(place, in_turn):
    """Returns the masks for the heads at this place of a list: all, or one of them in turn."""
    return [list(MASKS)[place % len(MASKS)]] if in_turn else list(MASKS)


def write_model(widths, rows, sequences, longest, in_turn=False):
    """Returns a module with heads of these widths and their masks."""
    return write_sizes(rows, sequences, longest) + "".join(
        write_entry(f"{name}_{width}x{heads}x{key_heads}", MASKS[name], width, heads, key_heads, rows, longest)
        for place, (width, heads, key_heads) in enumerate(widths) for name in masks_of(place, in_turn))
