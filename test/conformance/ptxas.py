"""Every kernel of a model assembles for its architecture and asks for no more shared memory than a workgroup gets there. Matrix
products and attention spill no register, and no other kernel more than a few."""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import attention

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
MUST_NOT_SPILL = ("matmul", "project", "attention")
MAY_SPILL = 64  # bytes, of a lane of any other kernel
# Of attention's heads: their width, how many the queries and how many the keys have.
WIDTHS = [(8, 3, 3), (24, 1, 1), (64, 2, 2), (64, 4, 2), (96, 1, 1), (128, 2, 2), (128, 4, 1), (256, 1, 1)]
NARROW_WIDTHS = [width for width in WIDTHS if width[0] != 96]  # in 16 bits, where those of 96 spill (docs/status.md)
SHARED_KIB = {"sm_80": 163, "sm_86": 99, "sm_90a": 227}  # of a workgroup, by the CUDA programming guide


def find_ptxas():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("ptxas") or shutil.which("ptxas", path=f"{home}/bin")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True, help="a description, or `attention`: heads of many widths")
    parser.add_argument("--target", required=True)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[], help="one more for heddle-compile")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    arguments = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("there is no ptxas in PATH, nor in CUDA_HOME")
        sys.exit(SKIPPED)

    with tempfile.TemporaryDirectory() as folder:
        artifact, model = f"{folder}/model.heddle", arguments.model
        if model == "attention":
            model = f"{folder}/attention.mlir"
            with open(model, "w") as file:
                widths = NARROW_WIDTHS if arguments.precision in ("bf16", "f16") else WIDTHS
                file.write(attention.write_model(widths, rows=4096, sequences=16, longest=1024))
        sets = [word for value in arguments.set for word in ("--set", value)]
        sets += arguments.flag
        subprocess.run([f"{arguments.bin}/heddle-compile", model, "-o", artifact,
                        f"--target={arguments.target}", f"--precision={arguments.precision}", "--ptxas=none", *sets],
                       check=True, stdout=subprocess.DEVNULL)
        described = json.loads(subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, "--json"], check=True,
                                              capture_output=True, text=True).stdout)

        chip = arguments.target.split(":")[1]

        def assemble(kernel):
            """What is wrong with the kernel, if anything, and how many registers a lane of it has."""
            name = kernel["name"]
            if kernel["shared_bytes"] > SHARED_KIB[chip] * 1024:
                return f"asks for {kernel['shared_bytes']} bytes of shared memory", 0
            code = f"{folder}/{name}.ptx"
            subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, f"--kernel={name}", "-o", code], check=True,
                           stdout=subprocess.DEVNULL)
            done = subprocess.run([ptxas, f"--gpu-name={chip}", "-v", code, "-o", f"{code}.cubin"], capture_output=True, text=True)
            said = done.stdout + done.stderr
            if done.returncode != 0:
                return said, 0
            spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
            registers = int(re.search(r"Used (\d+) registers", said).group(1))
            if spilled > (0 if any(part in name for part in MUST_NOT_SPILL) else MAY_SPILL):
                return f"spills {spilled} bytes; it has {registers} registers", registers
            if serialised := re.search(r"\(C75\d\d\).*", said):
                return f"has products of warpgroups that do not run side by side: {serialised.group()}", registers
            return None, registers

        kernels = [kernel for kernel in described["targets"][0]["kernels"] if arguments.only in kernel["name"]]
        names = [kernel["name"] for kernel in kernels]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(assemble, kernels))
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
