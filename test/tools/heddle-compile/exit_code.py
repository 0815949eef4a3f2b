"""Runs a command and succeeds if its exit code is the one that is expected: exit_code.py CODE COMMAND..."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command).returncode
if code != expected:
    sys.exit(f"exit code {code} instead of {expected}")
