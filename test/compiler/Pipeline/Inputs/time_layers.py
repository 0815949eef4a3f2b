"""time_layers.py KEY,... MODEL COMMAND...: the command's seconds of processor time with each of these keys of the model 64 are less than 14
times those with each of them 8; linear would be 8. The fewest of several runs count, as other work on the machine takes from all of them."""

import resource
import subprocess
import sys

keys, model, *command = sys.argv[1:]


def seconds(layers):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*command, model, *(f"--set={key}={layers}" for key in keys.split(","))], check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


few = many = float("inf")
for _ in range(8):
    few, many = min(few, seconds(8)), min(many, seconds(64))
    if many <= 14 * few:
        sys.exit()
sys.exit(f"{few:.2f} s for 8 layers, {many:.2f} s for 64")
