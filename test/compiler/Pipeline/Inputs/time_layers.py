"""time_layers.py KEY,... MODEL COMMAND...: checks that the command's CPU time with each of these keys set to 64 is less
than 14 times its time with 8; linear growth would be 8 times. The minimum of several runs counts, as other work on the
machine slows down all of them."""

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
