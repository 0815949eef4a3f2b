"""Checks every kernel of a model with spirv-val for Vulkan 1.3."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        artifact = f"{folder}/model.heddle"
        sets = [word for value in arguments.set for word in ("--set", value)]
        subprocess.run([f"{arguments.bin}/heddle-compile", arguments.model, "-o", artifact, f"--target={arguments.target}",
                        f"--precision={arguments.precision}", *sets], check=True)
        subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, f"--kernels={folder}/kernels"], check=True)
        kernels = sorted(Path(folder, "kernels").iterdir())
        failed = 0
        for kernel in kernels:
            done = subprocess.run(["spirv-val", "--target-env", "vulkan1.3", kernel], capture_output=True, text=True)
            if done.returncode != 0:
                failed += 1
                print(f"FAIL {kernel.stem}: {done.stdout}{done.stderr}")
    print(f"{len(kernels) - failed} of {len(kernels)} kernels are valid")
    sys.exit(failed != 0 or not kernels)


if __name__ == "__main__":
    main()
