"""Writes a module for each type of tensor that kernels do not support, at each place where a module can have a tensor,
with the expected error: input of --verify-diagnostics."""

KERNELS = "kernels take tensors of f32, bf16, f16, i32 or i1"
SCALAR = "entries compute on ranked tensors"
CALLERS = "callers exchange tensors of f32 and i32"
LARGE = "has more than 2^40 elements at its largest"
UNNAMED = "varies but names no heddle.size"
UNDECLARED = "size 'absent' is not declared"

# type -> (error for a function's input and output, for an op's result, for a variable); None: allowed there, or not
# possible.
TABLE = {
    "tensor<0xf32>": (KERNELS, KERNELS, "variables are tensors"),
    "tensor<8x0xf32>": (KERNELS, KERNELS, "variables are tensors"),
    'tensor<?x0xf32, #heddle.dims<"n">>': (KERNELS, KERNELS, "expects a static shape"),
    "tensor<f32>": (KERNELS, KERNELS, "variables are tensors"),
    "tensor<2x2x2x2xf32>": (KERNELS, KERNELS, "variables are tensors"),
    "tensor<8xindex>": (KERNELS, KERNELS, "failed to satisfy constraint"),
    "tensor<8xf64>": (KERNELS, KERNELS, "failed to satisfy constraint"),
    "tensor<8xi8>": (KERNELS, KERNELS, "failed to satisfy constraint"),
    "tensor<8xi64>": (KERNELS, KERNELS, "failed to satisfy constraint"),
    "tensor<8xcomplex<f32>>": (KERNELS, None, "failed to satisfy constraint"),
    "tensor<8xui32>": (KERNELS, None, "failed to satisfy constraint"),
    "tensor<8xi1>": (CALLERS, None, "variables are tensors"),
    "tensor<8xbf16>": (CALLERS, None, None),
    "tensor<*xf32>": (SCALAR, SCALAR, "failed to satisfy constraint"),
    "f32": (SCALAR, SCALAR, "failed to satisfy constraint"),
    "index": (SCALAR, SCALAR, "failed to satisfy constraint"),
    "vector<8xf32>": (SCALAR, SCALAR, "failed to satisfy constraint"),
    "memref<8xf32>": (SCALAR, None, "failed to satisfy constraint"),
    "tensor<?xf32>": (UNNAMED, UNNAMED, "expects a static shape"),
    'tensor<?xf32, #heddle.dims<"absent">>': (UNDECLARED, UNDECLARED, "expects a static shape"),
    "tensor<1048576x1048576x2xf32>": (LARGE, LARGE, LARGE),
    "tensor<4611686018427387904x8xf32>": (LARGE, LARGE, LARGE),
}


def addition(type):
    element = type.split("x")[-1].split(",")[0].rstrip(">") if "<" in type else type
    return "addf" if element.split("<")[-1].startswith(("f", "bf")) else "addi"


def modules():
    for type, (port, result, variable) in TABLE.items():
        yield "input", port, f'func.func @f(%x: {type} {{heddle.name = "x"}}) {{\n  return\n}}'
        # An entry that never returns needs no value of the type.
        yield "output", port, f'func.func private @f() -> ({type} {{heddle.name = "y"}})'
        if port:
            both = f'{type} {{heddle.name = "x"}}) {{'
            if result:
                yield "result", result, f"func.func @f(%x: {both}\n  // HERE\n  %0 = arith.{addition(type)} %x, %x : {type}\n  return\n}}"
        yield "variable", variable, f"heddle.variable @w weight : {type}"


def annotate(text, error):
    return f"// expected-error-re @+1 {{{{{{{{.*}}}}{error}}}}}\n{text}" if error else text


def main():
    chunks = []
    for place, error, text in modules():
        if place == "result":
            head, body = text.split("  // HERE\n")
            port = next(p for t, (p, _, _) in TABLE.items() if f": {t} {{" in head)
            text = annotate(head, port) + annotate(body, error)
        elif error:
            text = annotate(text, error)
        else:
            continue
        size = "heddle.size @n max 64\n" if '"n"' in text else ""
        chunks.append(size + text)
    print("\n\n// -----\n\n".join(chunks))


main()
