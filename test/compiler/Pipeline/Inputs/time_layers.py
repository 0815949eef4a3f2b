"""time_layers.py MODEL COMMAND...: the command's seconds of processor time for 64 + 64 layers are less than 14 times those for
8 + 8; linear would be 8."""

import resource
import subprocess
import sys


def seconds(layers):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*sys.argv[2:], sys.argv[1], f"--set=encoder_layers={layers}", f"--set=decoder_layers={layers}"],
                   check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


few, many = min(seconds(8) for _ in range(2)), min(seconds(64) for _ in range(2))
if many > 14 * few:
    sys.exit(f"{few:.2f} s for 8 + 8 layers, {many:.2f} s for 64 + 64")
