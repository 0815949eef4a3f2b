"""Checks that every C++ file is formatted by clang-format with `.clang-format`.

  format.py CLANG_FORMAT SOURCE_DIR"""

import subprocess
import sys

import tree

program, source = sys.argv[1:3]
sources = tree.files(source, "*.cpp", "*.h")
found = subprocess.run([program, "--dry-run", "-Werror", *sources], capture_output=True, text=True)
if found.returncode:
    sys.exit(f"{found.stderr}format: run `{program} -i` on the files above")
print(f"format: {len(sources)} files")
