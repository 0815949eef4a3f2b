"""Runs every ```sh block of pages for developers, in order, in a temporary folder that looks like the repository. A
block of another language (```mlir, ```ptx, ```text) that follows under the same heading shows output: its lines must
occur in the command's output in this order. "..." stands for any text within a line, and on a line of its own for
omitted lines.

  pages.py SOURCE_DIR BUILD_DIR PAGE..."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ["CMakePresets.json", "compiler", "dialects", "docs", "models", "runtime", "test", "tools"]
# Heddle is built already: the stand-in only checks that the preset and the target exist.
STAND_IN = """#!/usr/bin/env bash
[ "${1-} ${2-}" = "--build --preset" ] || exec "%(cmake)s" "$@"
grep -q "\\"name\\": \\"$3\\"" CMakePresets.json || { echo "CMakePresets.json has no preset $3" >&2; exit 1; }
[ "${4-}" != --target ] || "%(cmake)s" --build build --target help | grep -q "^$5: " || { echo "there is no target $5" >&2; exit 1; }
"""
END = "@@ end of block"


def blocks_of(text):
    """Returns pairs of a sh block's (line, commands) and the (line, text) blocks that show its output."""
    blocks = []
    inside = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```") and inside is None:
            inside = (line[3:], number, [])
        elif line.startswith("```"):
            language, begin, lines = inside
            inside = None
            if language == "sh":
                blocks.append(((begin, "\n".join(lines)), []))
            elif language in ("mlir", "ptx", "text") and blocks and blocks[-1] is not None:
                blocks[-1][1].append((begin, lines))
        elif inside is not None:
            inside[2].append(line)
        elif line.startswith("#"):
            blocks.append(None)
    return [block for block in blocks if block is not None]


def first_missing(expected, printed):
    """Returns the first expected line that is not printed after those before it; None if all are."""
    rest = iter(" ".join(line.split()) for line in printed)
    for line in expected:
        line = " ".join(line.split())
        if line in ("", "..."):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        if not any(pattern.fullmatch(candidate) for candidate in rest):
            return line
    return None


def check(page, folder, environment):
    blocks = blocks_of(page.read_text())
    if not blocks:
        sys.exit(f"{page} has no sh block")
    script = "".join(f"{commands}\necho '{END}'\n" for (_, commands), _ in blocks)
    done = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=folder / "tree", env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}FAILED: {page}")
    for ((_, commands), shown), printed in zip(blocks, done.stdout.split(END + "\n")):
        for line, expected in shown:
            if missing := first_missing(expected, printed.splitlines()):
                sys.exit(f"{printed}\n{page}:{line}: the line\n  {missing}\nis not among these above, or not behind those before it, which are printed by\n{commands}")


source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
folder = pathlib.Path(tempfile.mkdtemp())
try:
    (folder / "tree/out").mkdir(parents=True)
    for name in FOLDERS:
        (folder / "tree" / name).symlink_to(source / name)
    (folder / "tree/build").symlink_to(build)
    (folder / "stand-ins").mkdir()
    (folder / "stand-ins/cmake").write_text(STAND_IN % {"cmake": shutil.which("cmake")})
    (folder / "stand-ins/cmake").chmod(0o755)
    environment = dict(os.environ, PATH=f"{folder}/stand-ins:{os.environ['PATH']}")
    for name in sys.argv[3:]:
        check(source / name, folder, environment)
finally:
    shutil.rmtree(folder)
print("the commands of", *sys.argv[3:], "work, and print what they say")
