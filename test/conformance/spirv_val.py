"""Every kernel of a model passes spirv-val for Vulkan 1.3."""

import argparse
import json
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        artifact, code = f"{folder}/model.heddle", f"{folder}/kernel.spv"
        sets = [word for value in arguments.set for word in ("--set", value)]
        subprocess.run([f"{arguments.bin}/heddle-compile", arguments.model, "-o", artifact, f"--target={arguments.target}",
                        f"--precision={arguments.precision}", *sets], check=True)
        described = json.loads(subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        names = [kernel["name"] for kernel in described["targets"][0]["kernels"]]
        failed = 0
        for name in names:
            subprocess.run([f"{arguments.bin}/heddle-inspect", artifact, f"--kernel={name}", "-o", code], check=True,
                           stdout=subprocess.DEVNULL)
            done = subprocess.run(["spirv-val", "--target-env", "vulkan1.3", code], capture_output=True, text=True)
            if done.returncode != 0:
                failed += 1
                print(f"FAIL {name}: {done.stdout}{done.stderr}")
    print(f"{len(names) - failed} of {len(names)} kernels are valid")
    sys.exit(failed != 0 or not names)


if __name__ == "__main__":
    main()
