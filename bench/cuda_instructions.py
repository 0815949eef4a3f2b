#!/usr/bin/env python3
"""Lists the instructions in the loops of tensor-core kernels, read from their machine code. Runs no kernel.

  bench/cuda_instructions.py OUT.heddle [--kernel=REGEX] [--arch=sm_90a] [--bin=build/bin]

For each kernel with wgmma it prints the registers, and the instructions of the innermost loops by kind. For each kernel
with mma.sync it prints registers, spills, shared memory and warps per processor, and for the innermost loops the
instructions per multiplication (HMMA), by kind. Code without multiplications that a forward branch within the loop
skips is not counted: attention steps that no mask cuts skip it. The clocks are the time in which a processor does four
multiplications, one in each of its four parts, if a single resource limits it: the tensor cores, shared memory (128
bytes per clock), instruction issue (one per clock and part), or powers of two (four lanes per clock and part). The
largest of them is a lower bound of the loop's time.

Needs ptxas and nvdisasm of the CUDA toolkit in PATH or CUDA_HOME/bin, and heddle-inspect.
  --sass=FILE   reads one kernel's disassembly (nvdisasm -c) instead.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# On Hopper, mma.sync reaches about 62% of wgmma's rate: 16 x 8 x 16 takes 6.5 clocks instead of 4. On Ampere it takes
# 8.
TENSOR_CLOCKS = {"sm_80": 8.0, "sm_90a": 6.5}
# Shared memory in bytes, registers and threads of a processor.
PROCESSOR = {"sm_80": (164 * 1024, 65536, 2048), "sm_90a": (228 * 1024, 65536, 2048)}
KINDS = [
    ("HMMA", "HMMA"), ("HGMMA", "HGMMA"), ("LDSM", "LDSM"), ("LDGSTS", "LDGSTS"), ("MUFU", "MUFU"), ("SHFL", "SHFL"),
    ("memory", "LDG|STG|LDS|STS|LD|ST|LDC"), ("spill", "LDL|STL"),
    ("float", "FFMA|FMUL|FADD|FMNMX|FSEL|FSETP|FSET"), ("convert", "F2F|F2FP|I2F|I2FP|F2I"),
    ("move", "MOV|UMOV|S2R|S2UR|R2UR|CS2R"), ("barrier", "BAR|DEPBAR|LDGDEPBAR|BSSY|BSYNC|WARPSYNC"),
    ("branch", "BRA|EXIT|CALL|RET"),
]


def find_tool(name):
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which(name) or shutil.which(name, path=f"{home}/bin")
    if not found:
        sys.exit(f"bench/cuda_instructions.py: there is no {name} in PATH, nor in CUDA_HOME/bin; it comes with the CUDA toolkit")
    return found


def parse(text):
    """Returns the instructions without predicates, as (name, whole text), and the labels with the index that each
    stands for."""
    instructions, labels = [], {}
    for line in text.splitlines():
        if label := re.match(r"^(\.L_x_\d+):", line):
            labels[label[1]] = len(instructions)
        elif found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line):
            whole = found[1].strip().lstrip("{").strip()
            words = re.sub(r"^@!?U?P\w+\s+", "", whole).split()
            instructions.append((words[0], whole))
    return instructions, labels


def branches(instructions, labels):
    for at, (name, whole) in enumerate(instructions):
        target = re.search(r"\.L_x_\d+", whole)
        if name.startswith("BRA") and target and target[0] in labels:
            yield at, labels[target[0]]


def loops(instructions, labels):
    """Returns the innermost loops that multiply, as lists of the instructions that no step can skip."""
    ends = collections.defaultdict(int)
    for at, target in branches(instructions, labels):
        if target <= at:
            ends[target] = max(ends[target], at)

    def multiplies(begin, end):
        return any(name.startswith(("HMMA", "HGMMA")) for name, _ in instructions[begin:end])

    spans = [span for span in ends.items() if multiplies(span[0], span[1] + 1)]
    spans = [a for a in spans if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in spans)]
    for begin, end in sorted(spans):
        skipped = set()
        for at, target in branches(instructions, labels):
            if begin <= at < target <= end and not multiplies(at, target):
                inside = range(at + 1, target)
                if not any(instructions[i][0].startswith("LDGSTS") for i in inside):
                    skipped.update(inside)
        yield [instructions[i][0] for i in range(begin, end + 1) if i not in skipped and instructions[i][0] != "NOP"]


def kind_of(name):
    if name.startswith("IMAD.MOV"):
        return "move"
    base = name.split(".")[0]
    return next((kind for kind, names in KINDS if re.fullmatch(names, base)), "integer")


def wavefronts(name):
    """Returns how many times 128 bytes of shared memory a warp's instruction accesses."""
    if name.startswith("LDSM"):
        return int(name[-1]) if name[-1] in "124" else 1
    if name.startswith(("LDS", "STS", "LDGSTS")):
        return 4 if ".128" in name else 2 if ".64" in name else 1
    return 0


def describe(loop, arch):
    counts = collections.Counter(map(kind_of, loop))
    products = counts["HMMA"]
    if not products:  # wgmma: its instructions have many sizes
        return [f"  loop of {len(loop)} instructions: " + ", ".join(f"{kind} {count}" for kind, count in counts.most_common())]
    parts = ", ".join(f"{kind} {count / products:.2f}" for kind, count in counts.most_common() if kind != "HMMA")
    bounds = {"tensor": TENSOR_CLOCKS[arch], "shared memory": 4 * sum(map(wavefronts, loop)) / products,
              "issue": len(loop) / products, "powers": 8 * counts["MUFU"] / products}
    listed = ", ".join(f"{name} {clocks:.1f}" for name, clocks in bounds.items())
    return [f"  loop of {len(loop)} instructions, {products} HMMA; for each of them {parts}",
            f"  clocks: {listed}"]


def report(name, lanes, shared, registers, spilled, text, arch):
    memory, all_registers, threads = PROCESSOR[arch]
    groups = min(all_registers // (max(8, -(-registers // 8) * 8) * lanes), memory // (shared + 1024), threads // lanes)
    print(f"{name}: {lanes} lanes, {registers} registers, {spilled} bytes spilled, {shared / 1024:.1f} KiB shared, "
          f"{groups * lanes // 32} warps a processor")
    for loop in loops(*parse(text)):
        print("\n".join(describe(loop, arch)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", nargs="?")
    parser.add_argument("--kernel", default="", help="a regular expression; all kernels otherwise")
    parser.add_argument("--arch", default="sm_90a", choices=sorted(PROCESSOR))
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--sass")
    arguments = parser.parse_args()
    if arguments.sass:
        with open(arguments.sass, encoding="utf-8") as file:
            for loop in loops(*parse(file.read())):
                print("\n".join(describe(loop, arguments.arch)))
        return
    if not arguments.artifact:
        parser.error("name an artifact")
    ptxas, nvdisasm, inspect = find_tool("ptxas"), find_tool("nvdisasm"), f"{arguments.bin}/heddle-inspect"
    described = json.loads(subprocess.run([inspect, arguments.artifact, "--json"], check=True, capture_output=True,
                                          text=True).stdout)
    targets = [target for target in described["targets"] if target["name"] == f"cuda:{arguments.arch}"]
    if not targets:
        sys.exit(f"bench/cuda_instructions.py: {arguments.artifact} has nothing for cuda:{arguments.arch}")
    with tempfile.TemporaryDirectory() as folder:
        code, cubin = f"{folder}/kernel.ptx", f"{folder}/kernel.cubin"
        for kernel in targets[0]["kernels"]:
            if not re.search(arguments.kernel, kernel["name"]):
                continue
            subprocess.run([inspect, arguments.artifact, f"--kernel={kernel['name']}", f"--target=cuda:{arguments.arch}",
                            "-o", code], check=True, stdout=subprocess.DEVNULL)
            with open(code, encoding="utf-8") as file:
                if not re.search(r"mma\.sync|wgmma\.mma_async", file.read()):
                    continue
            done = subprocess.run([ptxas, "-v", f"--gpu-name={arguments.arch}", code, "-o", cubin], check=True,
                                  capture_output=True, text=True)
            said = done.stdout + done.stderr
            text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
            report(kernel["name"], kernel["lanes"], kernel["shared_bytes"],
                   int(re.search(r"Used (\d+) registers", said)[1]),
                   sum(map(int, re.findall(r"(\d+) bytes spill stores", said))), text, arguments.arch)


if __name__ == "__main__":
    main()
