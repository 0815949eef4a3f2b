#!/usr/bin/python3
"""Runs ctest for tools/test.sh. Then prints the skipped tests with the reasons, the ten longest tests, and the CPU
seconds of all tests, compared with the gate's budget.

    gate.py [--budget] BUILD_DIR [ctest's own options]

Returns ctest's exit code. Returns 1 if --budget is given and, on a machine for continuous integration (CI=true), the
tests took more than 1.5 times the budget, or 2.5 times on a processor without AVX-512."""

import os
import re
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
BUDGET = 1800  # CPU seconds of all tests of the gate: 15 minutes on two cores
# Nearly the same tests took 1,348 s on a Zen 4, and 3,146 s on a Zen 3 of 2.4 GHz.
TOO_MUCH = 1.5 if "avx512f" in Path("/proc/cpuinfo").read_text() else 2.5


def passed_in(cases):
    """Returns the GoogleTest tests that at least one of these programs ran; another program may have skipped them
    because it lacks the emulated CUDA driver."""
    return {name for case in cases for name in re.findall(r"^\[       OK \] (\S+) \(", case.findtext("system-out") or "", re.MULTILINE)}


def skipped_in(case, passed=frozenset()):
    """Returns names and reasons of what was skipped: the test itself, or cases, lit files and GoogleTest tests within
    it, except those that passed elsewhere."""
    said = case.findtext("system-out") or ""
    within = re.findall(r"^skipped: ([^\n:]+): ([^\n]*)$", said, re.MULTILINE)
    for file in re.findall(r"^UNSUPPORTED: \S+ :: (\S+)", said, re.MULTILINE):
        found = re.search(r"(?:REQUIRES|UNSUPPORTED): (.*)", (TESTS / file).read_text())
        wanted = found[1] if found else "what its folder's lit.local.cfg says"
        if "long" not in wanted or "long" in case.get("name"):
            within.append((file, f"requires {wanted}"))
    for reason, name in re.findall(r"^\S+:\d+: Skipped\n(.*)\n+\[  SKIPPED \] (\S+) \(", said, re.MULTILINE):
        if name not in passed:
            within.append((f"{case.get('name')}, {name}", reason))
    if within:
        return within
    if case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return [(case.get("name"), lines[-1] if lines else "no reason given")]
    return []


def main():
    arguments = sys.argv[1:]
    has_budget = arguments[:1] == ["--budget"]
    build, *options = arguments[has_budget:]
    with tempfile.TemporaryDirectory() as folder:
        code = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--output-junit", f"{folder}/results.xml",
                               "--test-output-size-passed", "1000000", *options], stdin=subprocess.DEVNULL).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime
        if not os.path.exists(f"{folder}/results.xml"):
            sys.exit(code)
        cases = xml.parse(f"{folder}/results.xml").getroot().findall("testcase")

    passed = passed_in(cases)
    skipped = [pair for case in cases for pair in skipped_in(case, passed)]
    print(f"\nSkipped: {len(skipped)}")
    for name, reason in skipped:
        print(f"  {name}: {reason}")
    print("\nThe longest:")
    for case in sorted(cases, key=lambda case: -float(case.get("time")))[:10]:
        print(f"  {float(case.get('time')):6.1f} s  {case.get('name')}")
    print(f"\n{len(cases)} tests took {seconds:.0f} s of processors", end="")
    print(f"; the budget is {BUDGET} s, {abs(BUDGET - seconds):.0f} s {'are over' if BUDGET < seconds else 'are left'}" if has_budget else "")
    if has_budget and seconds > TOO_MUCH * BUDGET:
        print(f"The tests take more than {TOO_MUCH} times their budget: make some faster, or leave them to tools/test.sh --long.")
        if os.environ.get("CI") == "true":
            sys.exit(code or 1)
    sys.exit(code)


if __name__ == "__main__":
    main()
