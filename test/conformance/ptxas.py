"""Checks that every kernel of a model assembles for its architecture, and uses no more shared memory than a workgroup
can have. Matmuls and attention must not spill registers, and other kernels only a few. If nvdisasm is available, checks
in the machine code that nothing touches the registers of a running wgmma (sass.py)."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import packed_types
import sass
from attention_text import write_model

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
MUST_NOT_SPILL = ("matmul", "project", "attention")
MAY_SPILL = 64  # bytes per lane of any other kernel
# Attention's heads: width, number of query heads, number of key heads.
WIDTHS = [(8, 3, 3), (24, 1, 1), (64, 2, 2), (64, 4, 2), (96, 1, 1), (128, 2, 2), (128, 4, 1), (256, 1, 1)]
NARROW_WIDTHS = [width for width in WIDTHS if width[0] != 96]  # in 16 bits, heads of width 96 spill (docs/status.md)
SHARED_KIB = {"sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90a": 227, "sm_100": 227, "sm_120": 99}  # per workgroup, by the CUDA programming guide


def find_tool(name, build):
    """Returns the tool fetched by tools/setup.sh --tests, or else the machine's."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(name, path=str(build)) or shutil.which(name) or shutil.which(name, path=f"{home}/bin")


def say(ptxas, nvdisasm, chip, code, folder):
    """Returns ptxas's exit code and messages for a kernel, and its wgmma hazards. Kernels of several models often
    differ only in name: each distinct kernel is assembled once per run of run.py, whose folder caches the results.
    Without nvdisasm, hazards are not checked."""
    text = re.sub(rb"\b" + re.escape(code.stem.encode()) + rb"\b", b"kernel", code.read_bytes())
    kept = Path(os.environ.get("HEDDLE_JUDGED", folder)) / f"{chip}-{hashlib.sha256(text).hexdigest()}{'-sass' if nvdisasm else ''}"
    if not kept.exists():
        binary, hazards = f"{folder}/{code.stem}.cubin", []
        done = subprocess.run([ptxas, f"--gpu-name={chip}", "-v", code, "-o", binary], capture_output=True, text=True)
        if nvdisasm and not done.returncode and b"wgmma.mma_async" in text:
            hazards = sass.find_hazards(subprocess.run([nvdisasm, "-c", binary], capture_output=True, text=True, check=True).stdout)
        kept.with_suffix(".new").write_text(json.dumps([done.returncode, done.stdout + done.stderr, hazards]))
        kept.with_suffix(".new").rename(kept)
    return json.loads(kept.read_text())


def judge(name, code, output, hazards):
    """Returns what is wrong with the kernel, if anything, and its registers per lane."""
    if code:
        return output, 0
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", output)))
    registers = int(re.search(r"Used (\d+) registers", output).group(1))
    if spilled > (0 if any(part in name for part in MUST_NOT_SPILL) else MAY_SPILL):
        return f"spills {spilled} bytes; it has {registers} registers", registers
    if serialised := re.search(r"\(C75\d\d\).*", output):
        return f"has matmuls of warpgroups that do not run side by side: {serialised.group()}", registers
    if hazards:
        return f"{len(hazards)} hazards of wgmma; {hazards[0]}", registers
    return None, registers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True, help="a description; `attention`: heads of many widths; or `packed`: a GGUF file with matrices of many packed types")
    parser.add_argument("--target", required=True)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[], help="one more for heddle-compile")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    parser.add_argument("--disassemble-every", type=int, default=1, metavar="N",
                        help="nvdisasm, which takes most of a second to start, sees one kernel in so many")
    arguments = parser.parse_args()
    ptxas, nvdisasm = (find_tool(name, Path(arguments.bin).resolve().parent) for name in ("ptxas", "nvdisasm"))
    if not ptxas:
        print("there is no ptxas: tools/setup.sh --tests fetches it from PyPI")
        sys.exit(SKIPPED)

    if not nvdisasm:
        print("skipped: hazards of wgmma: there is no nvdisasm; tools/setup.sh --tests fetches it from PyPI")

    with tempfile.TemporaryDirectory() as folder:
        artifact, model, chip = f"{folder}/model.heddle", arguments.model, arguments.target.split(":")[1]
        if model == "attention":
            model = f"{folder}/attention.mlir"
            with open(model, "w") as file:
                widths = NARROW_WIDTHS if arguments.precision in ("bf16", "f16") else WIDTHS
                file.write(write_model(widths, rows=4096, sequences=16, longest=1024))
        if model == "packed":
            model = packed_types.write_every(folder)
        sets = [word for value in arguments.set for word in ("--set", value)]
        sets += arguments.flag
        subprocess.run([f"{arguments.bin}/heddle-compile", model, "-o", artifact,
                        f"--target={arguments.target}", f"--precision={arguments.precision}", "--ptxas=none", *sets],
                       check=True, stdout=subprocess.DEVNULL)
        described = json.loads(subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, f"--kernels={folder}/kernels"], check=True)

        def check(place, kernel):
            code = Path(folder, "kernels", kernel["name"] + ".ptx")
            if kernel["shared_bytes"] > SHARED_KIB[chip] * 1024:
                return f"asks for {kernel['shared_bytes']} bytes of shared memory", 0
            is_disassembled = place % arguments.disassemble_every == 0
            return judge(kernel["name"], *say(ptxas, nvdisasm if is_disassembled else None, chip, code, folder))

        kernels = [kernel for kernel in described["targets"][0]["kernels"] if arguments.only in kernel["name"]]
        names = [kernel["name"] for kernel in kernels]
        threads = int(os.environ.get("HEDDLE_THREADS", 0)) or os.cpu_count()
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(check, range(len(kernels)), kernels))
    failed = 0
    for name, (problem, _) in zip(names, results):
        if problem:
            failed += 1
            print(f"FAIL {name}: {problem}")
    most = max(zip((registers for _, registers in results), names), default=(0, ""))
    print(f"{len(names) - failed} of {len(names)} kernels assemble; the most registers has {most[1]}: {most[0]}")
    sys.exit(failed != 0 or not names)


if __name__ == "__main__":
    main()
