"""Runs a command and succeeds if it returns the expected exit code: exit_code.py CODE COMMAND..."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command).returncode
if code != expected:
    sys.exit(f"exit code {code} instead of {expected}")
