"""time_layers.py MODEL COMMAND...: the command's seconds of processor time for 64 + 64 layers are less than 14 times those for
8 + 8; linear would be 8. The fewest of several runs count, as other work on the machine takes from all of them."""

import resource
import subprocess
import sys


def seconds(layers):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*sys.argv[2:], sys.argv[1], f"--set=encoder_layers={layers}", f"--set=decoder_layers={layers}"],
                   check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


few = many = float("inf")
for _ in range(8):
    few, many = min(few, seconds(8)), min(many, seconds(64))
    if many <= 14 * few:
        sys.exit()
sys.exit(f"{few:.2f} s for 8 + 8 layers, {many:.2f} s for 64 + 64")
