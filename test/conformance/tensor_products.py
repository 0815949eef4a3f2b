"""Compares matmuls on tensor cores and on processors with numpy: no operand transposed, the left one or the right one,
in sizes that tiles divide and that they do not, and with dynamic rows. Operands are small multiples of 1/8, so that
every product and every sum is exact in any precision. With --precision=bf16x3, which does not round to 8 bits, operands are
normal numbers, and results are within 1e-5 of float64's by norm. With --precision=tf32 operands are a little nearer to
zero than these multiples, to which they must be rounded.

    tensor_products.py --bin build/bin [--target=NAME] [--precision=NAME] [--instruction=TEXT]

On processors, it also tests matmuls of groups of rows, and entries with caches, which have kernels for one row, for up to 8 rows and for more, with
f32 and packed weights. Where processors multiply packed weights as integers, the left operand is rounded in the same way
here, and results are within 1e-6 of float64's by norm.

With --instruction, kernels of matmuls with a K of 64 or more must contain the instruction."""

import argparse
import json
import subprocess
import sys
import tempfile

import numpy as np

import calls

FORMS = {"nn": "", "nt": " {transpose_rhs}", "tn": " {transpose_lhs}"}
#        m,    n,   k
SIZES = [(64, 64, 64), (128, 256, 128), (520, 264, 192), (40, 128, 320), (257, 72, 200), (192, 512, 1024), (64, 40, 48), (256, 64, 16)]
ODD = [(33, 7, 5), (97, 172, 300), (25, 9, 267), (24, 1, 33)] # for processors
DYNAMIC = [(384, 256, 128), (300, 192, 64)]
COUNTS = (300, 33, 1)
GROUPED = [(300, 33, 40), (700, 96, 172)]
COUNTS_OF_GROUPS = [(61, 0, 200, 1, 38), (0, 0, 300, 0, 0), (0, 0, 0, 0, 5), (33, 16, 48, 17, 23)]
DECODING = [(33, 168, 320), (20, 130, 96), (12, 1164, 64), (70, 128, 288)]
DECODING_COUNTS = (1, 2, 8, 9, 20, 70)
PANELS = {"cpu:x86-64-v3": 8, "cpu:x86-64-v4-vnni": 16, "cpu:x86-64-v4-amx": 16} # the columns of a panel, where integers are multiplied


def write_entry(name, form, m, n, k, dynamic):
    """Writes an entry. If the left operand is transposed, K is dynamic; otherwise the rows are."""
    matrix = lambda rows, columns, free: (f'tensor<?x{columns}xf32, #heddle.dims<"rows{m}">>' if free else
                                          f"tensor<{rows}x{columns}xf32>")
    contracts = form == "tn"
    x = matrix(k, m, dynamic) if contracts else matrix(m, k, dynamic)
    w = matrix(n, k, False) if form == "nt" else matrix(k, n, dynamic and contracts)
    y = matrix(m, n, dynamic and not contracts)
    return f"""func.func @{name}(%x: {x} {{heddle.name = "x"}}, %w: {w} {{heddle.name = "w"}}) -> ({y} {{heddle.name = "y"}}) {{
  %y = heddle.matmul %x, %w{FORMS[form]} : {x}, {w} -> {y}
  return %y : {y}
}}
"""


def write_grouped(name, form, m, n, k):
    """Writes an entry that multiplies groups of up to m rows by a matrix each. If the left operand is transposed, their
    rows are contracted."""
    groups = len(COUNTS_OF_GROUPS[0])
    rows = lambda columns: f'tensor<?x{columns}xf32, #heddle.dims<"grouped{m}">>'
    matrices = lambda rows, columns: f"tensor<{groups * rows}x{columns}xf32>"
    x, w, y = rows(k), matrices(*(n, k) if form == "nt" else (k, n)), rows(n)
    if form == "tn":
        w, y = y, w
    starts = f"tensor<{groups + 1}xi32>"
    return f"""func.func @{name}(%x: {x} {{heddle.name = "x"}}, %w: {w} {{heddle.name = "w"}},
    %starts: {starts} {{heddle.name = "starts", heddle.limit = {m + 1} : i64}}) -> ({y} {{heddle.name = "y"}}) {{
  %y = heddle.grouped_matmul %x, %w groups(%starts){FORMS[form]} : {x}, {w}, {starts} -> {y}
  return %y : {y}
}}
"""


def write_decoding(name, form, bits, m, n, k, panel):
    """Writes an entry that also reads a row of a cache. The weight is packed if `bits` is not 32, and in panels of so many
    columns if `panel` is not 0."""
    free = lambda *columns, element="f32": f'tensor<?{"".join(f"x{c}" for c in columns)}x{element}, #heddle.dims<"decoded{m}">>'
    rows, columns = (n, k) if form == "nt" else (k, n)
    shape = lambda rows, columns: f"{rows * columns // panel}x{panel}" if panel else f"{rows}x{columns}"
    stored = f"tensor<{shape(rows * bits // 32, columns)}x{'f32' if bits == 32 else 'i32'}>"
    scales = f"tensor<{n}x{k // 32}xf32>" if form == "nt" else f"tensor<{shape(k // 32, n)}xf32>"
    scaled = f", %s: {scales} {{heddle.name = \"s\"}}" if bits < 32 else ""
    weight = f"tensor<{rows}x{columns}xf32>"
    unpack = f"  %u = heddle.dequantize %w scales(%s) {{bits = {bits} : i64}} : ({stored}, {scales}) -> {weight}\n" if bits < 32 else ""
    x, y, z, i = free(k), free(n), free(4), free(element="i32")
    return f"""func.func @{name}(%i: {i} {{heddle.name = "i", heddle.limit = 5 : i64}}, %x: {x} {{heddle.name = "x"}},
    %w: {stored} {{heddle.name = "w"}}{scaled}) -> ({y} {{heddle.name = "y"}}, {z} {{heddle.name = "z"}}) {{
  %c = heddle.read @kept : tensor<5x4xf32>
  %z = heddle.embedding %i, %c : {i}, tensor<5x4xf32> -> {z}
{unpack}  %y = heddle.matmul %x, {"%w" if bits == 32 else "%u"}{FORMS.get(form, "")} : {x}, {weight} -> {y}
  return %y, %z : {y}, {z}
}}
"""


def pack(numbers, bits):
    """Packs neighbouring rows into words, the first in the lowest bits."""
    of_word = 32 // bits
    groups = (numbers.astype(np.int64) & ((1 << bits) - 1)).reshape(-1, of_word, numbers.shape[1])
    words = (groups << (bits * np.arange(of_word))[None, :, None]).sum(1)
    return words.astype(np.uint32).view(np.int32)


def in_panels(matrix, panel):
    """Returns one panel after another, each with so many columns of the matrix."""
    return np.concatenate(np.split(matrix, matrix.shape[1] // panel, 1)) if panel else matrix


def as_integers(x):
    """Returns x as integers of 16 bits times a scale for each 32 elements of a row, as kernels do that multiply integers."""
    blocks = x.reshape(len(x), -1, 32)
    most = np.abs(blocks).max(2, keepdims=True)
    with np.errstate(all="ignore"):
        numbers = np.rint(blocks * (np.float32(32639) / most))
    return np.nan_to_num(numbers.astype(np.float64) * (most * np.float32(1 / 32639))).reshape(x.shape)


def check_grouped(session, cases, draw):
    failed = 0
    for name, (form, m, n, k) in cases.items():
        for counts in COUNTS_OF_GROUPS:
            starts = np.cumsum([0, *counts])
            x = draw(starts[-1], k)
            w = draw(starts[-1], n) if form == "tn" else draw(len(counts), k, n)
            parts = [x[begin:end] for begin, end in zip(starts, starts[1:])]
            if form == "tn":
                given = w
                expected = np.concatenate([part.T @ w[begin:end] for part, begin, end in zip(parts, starts, starts[1:])])
            else:
                given = np.concatenate([one.T if form == "nt" else one for one in w])
                expected = np.concatenate([part @ one for part, one in zip(parts, w)])
            (y,) = session.call(name, {"x": x, "w": np.ascontiguousarray(given), "starts": starts.astype(np.int32)}, ["y"])
            if not np.array_equal(y, expected):
                failed += 1
                print(f"FAIL {name}, groups of {counts} rows: {(y != expected).sum()} of {y.size} elements")
    return failed


def check_decoding(session, cases, draw, random, multiplies_integers):
    failed = 0
    for name, (form, bits, m, n, k, panel) in cases.items():
        for count in (c for c in DECODING_COUNTS if c <= m):
            x = draw(count, k)
            if bits == 32:
                w = draw(k, n)
                inputs = {"w": np.ascontiguousarray(w.T if form == "nt" else w)}
            else:
                shape, group = ((n, k), (1, 32)) if form == "nt" else ((k, n), (32, 1))
                numbers = random.integers(-8, 8, shape)
                scales = (0.5 ** random.integers(1, 4, (shape[0] // group[0], shape[1] // group[1]))).astype(np.float32)
                w = numbers * np.kron(scales, np.ones(group))
                w = w.T if form == "nt" else w
                inputs = {"w": in_panels(pack(numbers, bits), panel), "s": in_panels(scales, panel)}
            (y,) = session.call(name, {"x": x, "i": np.zeros(count, np.int32), **inputs}, ["y"])
            # If the right operand is transposed, a single row of bytes is not multiplied as integers.
            is_rounded = panel > 0 or (multiplies_integers and form == "nt" and bits < 32 and (bits, count) != (8, 1))
            expected = ((as_integers(x) if is_rounded else x.astype(np.float64)) @ w).astype(np.float32)
            error = np.linalg.norm(y - expected) / np.linalg.norm(expected)
            if not (error < 1e-6 if is_rounded else np.array_equal(y, expected)):
                failed += 1
                print(f"FAIL {name}, {count} rows: {(y != expected).sum()} of {y.size} elements, off by up to {np.abs(y - expected).max():.3g}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--processors", default="2", help="few of them make large tiles")
    parser.add_argument("--instruction")
    arguments = parser.parse_args()
    tools = arguments.bin
    random = np.random.default_rng(5)
    is_exact = arguments.precision != "bf16x3"
    draw = lambda *shape: (random.integers(-8, 9, shape) / 8 if is_exact else random.normal(size=shape)).astype(np.float32)
    given = lambda x: x * np.float32(1 - 2 ** -13) if arguments.precision == "tf32" else x
    worst = 0
    on_cuda, on_processor = (arguments.target.startswith(kind) for kind in ("cuda", "cpu"))
    cases = {f"{form}_{m}x{n}x{k}{'_free' * free}": (form, m, n, k, free)
             for free, sizes in ((False, SIZES + ODD * (on_processor or arguments.precision == "tf32")), (True, DYNAMIC)) for m, n, k in sizes for form in FORMS}
    panel = PANELS.get(arguments.target, 0)
    decoding = {f"decode_{form}_{m}x{n}x{k}_{bits}": (form, bits, m, n, k, panel * (form == "panels"))
                for m, n, k in DECODING for form in ("nn", "nt", "panels") for bits in (32, 8, 4)
                if on_processor and not (form == "nt" and n % (32 // bits)) and not (form == "panels" and (bits == 32 or not panel or n % panel))}
    grouped = {f"grouped_{form}_{m}x{n}x{k}": (form, m, n, k) for m, n, k in GROUPED for form in FORMS if on_processor and is_exact}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/products.mlir", "w") as file:
            for m, _, _ in DYNAMIC:
                file.write(f"heddle.size @rows{m} max {m}\n")
            for m, _, _ in GROUPED:
                file.write(f"heddle.size @grouped{m} max {m}\n")
            for m, _, _ in DECODING:
                file.write(f"heddle.size @decoded{m} max {m}\n")
            file.write("heddle.variable @kept cache : tensor<5x4xf32>\n")
            file.writelines(write_entry(name, *case) for name, case in cases.items())
            file.writelines(write_grouped(name, *case) for name, case in grouped.items())
            file.writelines(write_decoding(name, *case) for name, case in decoding.items())
        subprocess.run([f"{tools}/heddle-compile", f"{folder}/products.mlir", "-o", f"{folder}/products.heddle",
                        f"--target={arguments.target}", f"--precision={arguments.precision}",
                        *([f"--processors={arguments.processors}", "--ptxas=none"] if on_cuda else [])], check=True, stdout=subprocess.DEVNULL)
        inspect = lambda *options: subprocess.run([f"{tools}/heddle-inspect", f"{folder}/products.heddle", *options],
                                                  check=True, capture_output=True, text=True).stdout
        kernels = [kernel["name"] for kernel in json.loads(inspect("--json"))["targets"][0]["kernels"]]
        for few in ("_upto1", "_upto8") if decoding else ():
            if not any(few in kernel for kernel in kernels):
                failed += 1
                print(f"FAIL no kernel is for few rows: {few}")
        if arguments.instruction:
            have = sum(arguments.instruction in inspect("--kernel", kernel) for kernel in kernels if "matmul" in kernel)
            print(f"{have} kernels have {arguments.instruction}")
            # 16-bit rows that are not a multiple of 16 bytes are not copied asynchronously.
            needs_copies = arguments.precision != "tf32"
            deep = [name for name, (form, m, _, k, _) in cases.items() if k >= 64 and not (needs_copies and form == "tn" and m % 8)]
            failed += have < len(deep)
        session = calls.Session(tools, f"{folder}/products.heddle", folder)
        for name, (form, m, n, k, free) in cases.items():
            for count in COUNTS if free else (None,):
                rows, depth = (m, count) if free and form == "tn" else (count or m, k)
                x, w = draw(rows, depth), draw(depth, n)
                inputs = {"x": x.T if form == "tn" else x, "w": w.T if form == "nt" else w}
                (actual,) = session.call(name, {key: np.ascontiguousarray(given(value)) for key, value in inputs.items()}, ["y"])
                expected = x.astype(np.float64) @ w.astype(np.float64)
                if not is_exact:
                    error = np.linalg.norm(actual - expected) / np.linalg.norm(expected)
                    worst = max(worst, error)
                    failed += not error < 1e-5
                elif not np.array_equal(actual, expected.astype(np.float32)):
                    failed += 1
                    wrong = np.argwhere(actual != expected)
                    print(f"FAIL {name}{f', {count} rows' if free else ''}: {len(wrong)} of {expected.size} elements, the first at "
                          f"{tuple(wrong[0])}, off by up to {np.abs(actual - expected).max():.3g}")
        failed += check_grouped(session, grouped, draw)
        failed += check_decoding(session, decoding, draw, random, panel > 0)
        session.close()
    print(f"{len(cases) + len(grouped) + len(decoding)} products, {failed} problems{'' if is_exact else f', error {worst:.1e}'}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
