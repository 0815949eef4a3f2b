#!/usr/bin/python3
"""Runs conformance cases, which are listed in groups in cases.txt.

    run.py [--bin build/bin] NAME...         the cases whose names match one of these regular expressions
    run.py [--bin build/bin] --group GROUP   a group's cases of the gate; with --long, the other cases of the group
    run.py --list [NAME...]                  their names and commands

A case that is a Python script runs in a process forked from this one, which has imported the scripts' modules: loading
PyTorch takes three CPU seconds. Exits with 1 if a case fails, and with 77 if all are skipped."""

import argparse
import contextlib
import importlib
import itertools
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
SECONDS = 900  # limit for a case
SWIFTSHADER = ("/usr/lib/chromium/vk_swiftshader_icd.json", "/opt/google/chrome/vk_swiftshader_icd.json")
# Messages of programs on machines that lack what a case needs, by the case's tag: such a case is skipped.
LACKING = {"amx": r"the processor lacks [^'\n]*AMX",
           "avx512": r"the processor lacks [^'\n]*AVX512",
           "matrices": r"multiplies cooperative matrices of 8 x 8, and '[^']*' has no such matrices",
           "new-spirv-val": r"Invalid capability operand: 6022"}
# Files by others that this repository does not contain, by the tag of the cases that need them.
FOLDERS = {"files": Path(os.environ.get("HEDDLE_MODELS") or SOURCE.parent / "shared" / "models"),
           "references": Path(os.environ.get("HEDDLE_REFERENCES") or SOURCE.parent / "shared" / "references")}
TAGS = {"cuda", "swiftshader", "threads", *FOLDERS, *LACKING}


@dataclass
class Case:
    group: str
    name: str
    command: list
    tags: set
    is_long: bool = False  # not in the gate
    target: str = "vulkan:software"  # target of everything that the case compiles without naming one


def fill(text, values):
    """Returns the text with each {name} replaced by its value."""
    return re.sub(r"{(\w+)}", lambda found: values[found[1]], text)


def read_cases(text):
    """Parses a list of cases like cases.txt, whose first lines explain the format."""
    cases, group, loops, words, gates, targets = [], None, [{}], {}, {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if header := re.fullmatch(r"\[([\w-]+)\].*", line):
            group, loops = header[1], [{}]
        elif line.startswith("gate "):
            gates.setdefault(group, set()).update(line.split()[1:])
        elif line.startswith("target "):
            targets[group] = line.removeprefix("target ").strip()
        elif line.startswith("let "):
            name, _, value = line.removeprefix("let ").partition(" = ")
            words[name] = fill(value, words)
        elif line.startswith("for "):
            ranges = [part.split(" in ", 1) for part in line.removeprefix("for ").removesuffix(":").split(";")]
            loops = [dict(zip((name.strip() for name, _ in ranges), values))
                     for values in itertools.product(*(values.split() for _, values in ranges))]
        else:
            if not line.startswith(" "):
                loops = [{}]
            name, _, command = line.strip().partition(": ")
            name, *tags = name.split(" @")
            if not command or not group or set(tags) - TAGS:
                sys.exit(f"cases.txt:{number}: want `name [@tag ...]: command` below a [group]; the tags are {' '.join(sorted(TAGS))}")
            for loop in loops:
                values = {**words, **loop}
                cases.append(Case(group, fill(name, values), shlex.split(fill(command, values)), set(tags)))
    twice = {case.name for case in cases if sum(other.name == case.name for other in cases) > 1}
    if twice:
        sys.exit(f"cases.txt: more than one case is called {', '.join(sorted(twice))}")
    for case in cases:
        case.is_long = case.name not in gates.get(case.group, {case.name})
        case.target = targets.get(case.group, case.target)
    for name in set().union(*gates.values()) - {case.name for case in cases}:
        sys.exit(f"cases.txt: no case is called {name}, which a gate names")
    return cases


class Runner:
    def __init__(self, binaries):
        self.binaries = binaries
        build = binaries.parent
        self.places = {"models": SOURCE / "models", "inputs": HERE / "Inputs", "bench": SOURCE / "bench", "bin": binaries, **FOLDERS,
                       "tests": build / "test" / "bin"}
        self.emulator = build / "test" / "cuda" / "lib"

    def words(self, case):
        words = [re.sub(r"\$(\w+)", lambda found: str(self.places[found[1]]), word) for word in case.command]
        return [str(HERE / words[0]), *words[1:]]  # an absolute path stays as it is

    def environment(self, case):
        """Returns the case's environment variables, or a string that says why the machine cannot run it."""
        changed = {"HEDDLE_TARGET": case.target}
        if "threads" in case.tags:  # races between workgroups need two threads
            changed |= {"LP_NUM_THREADS": "2", "HEDDLE_THREADS": "2"}
        if "cuda" in case.tags:
            changed["LD_LIBRARY_PATH"] = str(self.emulator)
            # Other tests cover assembling kernels: here a machine with the CUDA toolkit behaves like one without it.
            changed["PATH"] = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "ptxas").exists())
            changed["CUDA_HOME"] = str(self.emulator)
        for tag in case.tags & FOLDERS.keys():
            if not FOLDERS[tag].exists():
                return f"there is no folder {FOLDERS[tag]}; HEDDLE_{'MODELS' if tag == 'files' else 'REFERENCES'} names another"
        if "swiftshader" in case.tags:
            driver = next(filter(os.path.exists, SWIFTSHADER), None)
            if not driver:
                return "there is no SwiftShader: tools/setup.sh --tests installs it"
            changed["VK_ICD_FILENAMES"] = changed["VK_DRIVER_FILES"] = driver
        return changed

    def script_of(self, case):
        script = Path(self.words(case)[0])
        return script if script.suffix == ".py" else None

    def load(self, cases):
        """Imports the scripts of these cases, so that the forked processes need not."""
        for script in dict.fromkeys(filter(None, map(self.script_of, cases))):
            folder = str(script.parent)
            if folder not in sys.path:
                sys.path.insert(0, folder)
            importlib.import_module(script.stem)

    def run_forked(self, case, log, environment):
        """Runs in a child process; does not return."""
        code = 1
        try:
            os.setsid()
            os.environ.update(environment)
            for number in (1, 2):
                os.dup2(log.fileno(), number)
            words = self.words(case)
            if not self.script_of(case):
                os.execvp(words[0], words)
            module = importlib.import_module(Path(words[0]).stem)
            sys.argv = [words[0], "--bin", str(self.binaries), *words[1:]]
            code = module.main() or 0
        except SystemExit as exit:
            code = exit.code
            if isinstance(code, str):
                print(code, file=sys.stderr)
            code = 1 if isinstance(code, str) else int(code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def run(self, case):
        """Runs the case. Returns its exit code, CPU seconds and output."""
        environment = self.environment(case)
        if isinstance(environment, str):
            return SKIPPED, 0, environment
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                self.run_forked(case, log, environment)
            late = threading.Timer(SECONDS, os.killpg, (child, signal.SIGKILL))
            late.start()
            _, status, used = os.wait4(child, 0)
            late.cancel()
            code = os.waitstatus_to_exitcode(status)
            log.seek(0)
            said = log.read()
        if code < 0:
            said += f"ended by signal {-code}; run.py sends SIGKILL after {SECONDS} s\n"
        lacking = [tag for tag in case.tags & LACKING.keys() if re.search(LACKING[tag], said)]
        return SKIPPED if code and lacking else code, used.ru_utime + used.ru_stime, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bin", type=Path, default=SOURCE / "build" / "bin")
    parser.add_argument("--group")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print what cases say, not only that of those that fail")
    arguments = parser.parse_args()
    if bool(arguments.names) == bool(arguments.group) and not arguments.list:
        parser.error("give names or --group")
    cases = read_cases((HERE / "cases.txt").read_text())
    if arguments.group:
        cases = [case for case in cases if case.group == arguments.group and case.is_long == arguments.long]
    if arguments.names:
        cases = [case for case in cases if any(re.search(name, case.name) for name in arguments.names)]
    if not cases:
        sys.exit("run.py: no case is called so; --list prints all")
    runner = Runner(arguments.bin.resolve())
    if arguments.list:
        for case in cases:
            print(case.name, *["(long)"] * case.is_long, *sorted(f"@{tag}" for tag in case.tags), "-", shlex.join(runner.words(case)))
        return
    os.environ.setdefault("HEDDLE_VALIDATION", "1")
    began = time.monotonic()
    runner.load(cases)
    skipped, failed = [], []
    with tempfile.TemporaryDirectory() as judged, tempfile.TemporaryDirectory() as code:
        os.environ["HEDDLE_JUDGED"] = judged  # scripts that pass kernels to other compilers do so once per kernel
        os.environ["HEDDLE_CODE_CACHE"] = code  # LLVM compiles each kernel once, though several models have it
        for case in cases:
            code, seconds, said = runner.run(case)
            if code == SKIPPED:
                skipped.append(case.name)
                print(f"skipped: {case.name}: {said.strip().splitlines()[-1] if said.strip() else 'no reason given'}")
                continue
            print(f"{'ok  ' if code == 0 else 'FAIL'} {case.name} ({seconds:.1f} s)", flush=True)
            if code != 0:
                failed.append(case.name)
            if code != 0 or arguments.verbose:
                print(said.rstrip())
    used = sum(os.times()[:4])
    print(f"{len(cases)} cases, {len(failed)} failed, {len(skipped)} skipped: {used:.0f} s of processors in {time.monotonic() - began:.0f} s")
    if failed:
        print("Again:", shlex.join(["test/conformance/run.py", *(f"^{name}$" for name in failed)]))
    sys.exit(1 if failed else SKIPPED if len(skipped) == len(cases) else 0)


if __name__ == "__main__":
    main()
