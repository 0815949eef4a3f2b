"""Fails unless an entry, and every kernel that it launches, is the same in two plans: same_entry.py ENTRY A.mlir
B.mlir"""
import re
import sys


def read(path, name):
    text = open(path).read()
    kernels = {found.group(1): found.group(0) for found in re.finditer(r"^  spirv\.module @(\S+) .*?^  }$", text, re.M | re.S)}
    entry = re.search(rf"^  plan\.entry @{name} .*?^  }}", text, re.M | re.S).group(0)
    return entry, {kernel: kernels[kernel] for kernel in re.findall(r"plan\.launch (?:barrier )?@(\S+)", entry)}


entry, a, b = sys.argv[1:]
first, second = read(a, entry), read(b, entry)
if not first[1] or first != second:
    sys.exit(f"{entry} differs")
