"""Tests the runner of conformance cases (test/conformance/run.py) and of the gate (test/tools/gate.py), without running
the tests themselves."""

import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
sys.path[:0] = [str(TOOLS), str(TOOLS.parent / "conformance")]
import gate
import run

LIST = """# A comment.
let flags = --set a=1
[first] 20 s, long 30 s
gate one-x-1 alone
for A in x y; B in 1 2:
  one-{A}-{B} @cuda: one.py {flags} --a {A} 'two words'
alone: $bin/heddle-inspect
[second] 5 s
target cpu:other
other @matrices @threads: other.py
"""


class CasesTest(unittest.TestCase):
    def test_expands_loops_and_words(self):
        cases = {case.name: case for case in run.read_cases(LIST)}
        self.assertEqual(list(cases), ["one-x-1", "one-x-2", "one-y-1", "one-y-2", "alone", "other"])
        self.assertEqual(cases["one-y-2"].command, ["one.py", "--set", "a=1", "--a", "y", "two words"])
        self.assertEqual(cases["one-y-2"].tags, {"cuda"})
        self.assertEqual(cases["other"].tags, {"matrices", "threads"})

    def test_gate_names_cases_of_its_group(self):
        self.assertEqual([case.name for case in run.read_cases(LIST) if not case.is_long], ["one-x-1", "alone", "other"])

    def test_targets_are_of_their_group(self):
        targets = {case.name: case.target for case in run.read_cases(LIST)}
        self.assertEqual((targets["alone"], targets["other"]), ("vulkan:software", "cpu:other"))

    def test_refuses_what_is_wrong(self):
        for text, message in (("[g] 1 s\na: x.py\na: y.py\n", "more than one case is called a"), ("[g] 1 s\ngate b\na: x.py\n", "no case is called b"),
                              ("[g] 1 s\na @fast: x.py\n", "cases.txt:2"), ("[g] 1 s\nnothing\n", "cases.txt:2"), ("a: x.py\n", "cases.txt:1")):
            with self.assertRaises(SystemExit) as raised:
                run.read_cases(text)
            self.assertIn(message, str(raised.exception.code))

    def test_every_case_has_a_script(self):
        for case in run.read_cases((TOOLS.parent / "conformance/cases.txt").read_text()):
            if case.command[0].endswith((".py", ".sh")):
                path = run.Runner(Path("build/bin").resolve()).words(case)[0]
                self.assertTrue(Path(path).exists(), f"{case.name}: {path}")


class RunTest(unittest.TestCase):
    def run_case(self, command, tags=()):
        return run.Runner(Path("build/bin").resolve()).run(run.Case("group", "case", command, set(tags)))

    def test_tells_how_programs_end(self):
        self.assertEqual(self.run_case(["/bin/true"])[0], 0)
        self.assertEqual(self.run_case(["/bin/false"])[0], 1)
        self.assertEqual(self.run_case(["/bin/sh", "-c", "echo no device; exit 77"])[0], run.SKIPPED)
        self.assertNotEqual(self.run_case(["/bin/sh", "-c", "kill -9 $$"])[0], 0)
        self.assertEqual(self.run_case(["/nowhere/program"])[0], 1)

    def test_skips_only_what_lacks_the_tag(self):
        command = ["/bin/sh", "-c", "echo Invalid capability operand: 6022; exit 1"]
        self.assertEqual(self.run_case(command)[0], 1)
        self.assertEqual(self.run_case(command, ["new-spirv-val"])[0], run.SKIPPED)

    def test_an_unknown_name_is_an_error(self):
        done = subprocess.run([sys.executable, run.__file__, "^no-such-case$"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no case is called so", done.stderr)


class GateTest(unittest.TestCase):
    def case(self, said, name="test", status="run"):
        return xml.fromstring(f'<testcase name="{name}" status="{status}"><system-out>{said}</system-out></testcase>')

    def skipped(self, *said, passed=(), **attributes):
        return gate.skipped_in(self.case(*said, **attributes), passed)

    def test_finds_what_was_skipped(self):
        self.assertEqual(self.skipped("ok a (1 s)\n"), [])
        self.assertEqual(self.skipped("no device\n", status="notrun"), [("test", "no device")])
        self.assertEqual(self.skipped("ok a\nskipped: b: no ptxas\n"), [("b", "no ptxas")])
        said = "[ RUN      ] A.b\n/x/Y.cpp:3: Skipped\nno device\n\n[  SKIPPED ] A.b (0 ms)\n[       OK ] A.c (0 ms)\n"
        self.assertEqual(self.skipped(said), [("test, A.b", "no device")])
        self.assertEqual(gate.passed_in([self.case(said)]), {"A.c"})
        self.assertEqual(self.skipped(said, passed={"A.b"}), [])
        self.assertEqual(self.skipped("UNSUPPORTED: Heddle :: bench/torch.test (1 of 2)\n", name="lit-1"), [])
        self.assertEqual(self.skipped("UNSUPPORTED: Heddle :: bench/kernels.test (1 of 2)\n", name="lit-1"),
                         [("bench/kernels.test", "requires benchmark")])

    def test_budget_is_in_seconds_of_a_reference_processor(self):
        times = iter([3 * gate.REFERENCE, 2 * gate.REFERENCE, 2.5 * gate.REFERENCE])
        factor = gate.slowness(lambda: next(times))
        self.assertAlmostEqual(factor, 2)
        self.assertEqual(gate.verdict(3000, factor * gate.BUDGET), ("the budget is 3600 s, 600 s are left", False))
        self.assertEqual(gate.verdict(5000, factor * gate.BUDGET), ("the budget is 3600 s, 1400 s are over", False))
        self.assertTrue(gate.verdict(5500, factor * gate.BUDGET)[1])

    def test_measures_the_speed_by_a_compilation(self):
        measured = gate.compile_work()
        self.assertGreater(measured, 0.1)
        self.assertLess(measured, 60)


if __name__ == "__main__":
    unittest.main()
