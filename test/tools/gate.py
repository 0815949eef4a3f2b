#!/usr/bin/python3
"""Runs ctest for tools/test.sh. Then prints the skipped tests with the reasons, the ten longest tests, and the CPU
seconds of all tests, compared with the gate's budget.

    gate.py [--budget] BUILD_DIR [ctest's own options]

The budget is in seconds of a reference processor. A fixed piece of work, which clang compiles before the tests, says
how many seconds of this processor they are.

Returns ctest's exit code. Returns 1 if --budget is given and, on a machine for continuous integration (CI=true), the
tests took more than 1.5 times the budget."""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
BUDGET = 1800  # CPU seconds of all tests of the gate, on the reference processor: 15 minutes on two cores
TOO_MUCH = 1.5
REFERENCE = 1.51  # CPU seconds in which the reference processor, a Zen 3 of 2.4 GHz, compiles WORK
# Most of the gate's time is LLVM's code generator. The work is compiled by clang and not by heddle-compile, so that the
# budget does not grow if heddle-compile becomes slower.
WORK = "\n".join(f"""void f{i}(float *a, const float *b, int n) {{
  for (int i = 0; i < n; ++i) {{
    float s = b[i];
    for (int j = 0; j < {3 + i % 7}; ++j)
      s = s * b[i + j] + {i};
    a[i] = s > 0 ? s : -s;
  }}
}}""" for i in range(200))


def seconds_of_children():
    """Returns the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slowness(measure, rounds=3):
    """Returns how many times as long as the reference processor this one takes: the least of several measurements of
    WORK, as other programs only add to them."""
    return min(measure() for _ in range(rounds)) / REFERENCE


def compile_work():
    """Returns the CPU seconds in which clang compiles WORK."""
    clang = shutil.which("clang++-22") or shutil.which("clang++")
    if not clang:
        sys.exit("gate.py: there is no clang++ to measure the processor's speed by; tools/setup.sh installs it")
    before = seconds_of_children()
    subprocess.run([clang, "-O2", "-x", "c++", "-c", "-o", "/dev/null", "-"], input=WORK, text=True, check=True)
    return seconds_of_children() - before


def verdict(seconds, budget):
    """Returns what tests that took so many CPU seconds have left of their budget, and whether they took too many."""
    left = budget - seconds
    return f"the budget is {budget:.0f} s, {abs(left):.0f} s {'are over' if left < 0 else 'are left'}", seconds > TOO_MUCH * budget


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
    factor = slowness(compile_work) if has_budget else 1
    before = seconds_of_children()
    with tempfile.TemporaryDirectory() as folder:
        code = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--output-junit", f"{folder}/results.xml",
                               "--test-output-size-passed", "1000000", *options], stdin=subprocess.DEVNULL).returncode
        seconds = seconds_of_children() - before
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
    text, is_too_much = verdict(seconds, BUDGET * factor)
    print(f"; {text}; this processor takes {factor:.2f} times as long as the reference" if has_budget else "")
    if has_budget and is_too_much:
        print(f"The tests take more than {TOO_MUCH} times their budget: make some faster, or leave them to tools/test.sh --long.")
        if os.environ.get("CI") == "true":
            sys.exit(code or 1)
    sys.exit(code)


if __name__ == "__main__":
    main()
