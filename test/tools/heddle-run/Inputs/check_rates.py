"""Checks that the fractions of `heddle-run bench --save FILE` follow from the ceilings. check_rates.py FILE"""
import json
import math
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
ceilings, (decode, encode) = report["ceilings"], report["entries"]


def check(what, found, expected):
    if not math.isclose(found, expected, rel_tol=1e-9):
        sys.exit(f"FAILED: {what} is {found}, expected {expected}")


for entry in decode, encode, *decode["kernels"]:
    if "bytes_per_second" in entry:
        for kind in "copy", "read":
            check(f"the fraction of the {kind} ceiling", entry[f"of_{kind}_ceiling"],
                  entry["bytes_per_second"] / ceilings[f"{kind}_bytes_per_second"])
        check("the fraction of the multiply-add ceiling", entry["of_fma_ceiling"],
              entry["flops_per_second"] / ceilings["fma_flops_per_second"])
check("the number of tokens", decode["tokens"], 4)
check("a token's bytes", decode["bytes_per_token"], decode["bytes"] / 4)
if "tokens" in encode:
    sys.exit("FAILED: the encoder decodes no tokens")
