"""unused_inputs.py MODULE...: names the inputs of entries that no op reads, after dead code elimination."""

import re
import sys

for path in sys.argv[1:]:
    for entry in re.split(r"(?=^  func\.func )", open(path).read(), flags=re.M)[1:]:
        name = re.match(r"  func\.func @(\w+)", entry).group(1)
        head, body = entry.split("\n", 1)
        for argument, port in re.findall(r'(%arg\d+): [^%]*?heddle\.name = "([^"]+)"', head.split(") -> (")[0]):
            if not re.search(re.escape(argument) + r"\b", body):
                print(f"{name} reads nothing of {port}")
        print(f"checked {name}")
