"""Checks that each command of heddle-run has a page in tools/heddle-run/docs, that the pages have the same sections in the same order, and
that each page's section of options names the options that `heddle-run COMMAND --help` lists, and no others.

  command_pages.py HEDDLE_RUN SOURCE_DIR"""

import pathlib
import re
import subprocess
import sys

program = sys.argv[1]
folder = pathlib.Path(sys.argv[2]) / "tools/heddle-run/docs"
SECTIONS = ["Example", "Options", "Files written", "Exit codes"]
TOPICS = ["data", "weights"]  # pages of files that several commands read


def help_of(*words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


commands = re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1], flags=re.MULTILINE)
assert len(commands) > 10, f"--help lists {commands}"
mistakes = []
if extra := {page.stem for page in folder.glob("*.md")} - set(commands) - set(TOPICS):
    mistakes.append(f"there is no command {', '.join(sorted(extra))}")
for command in commands:
    page = folder / f"{command}.md"
    if not page.is_file():
        mistakes.append(f"{command} has no page {page}")
        continue
    text = page.read_text()
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    if not text.startswith(f"# heddle-run {command}\n") or headings[: len(SECTIONS)] != SECTIONS:
        mistakes.append(f"{page.name}: the sections are {headings}, and should begin with {SECTIONS}")
        continue
    section = text.split("## Options\n")[1].split("\n## ")[0]
    # Options that an explanation mentions may be other programs'; a table's first cell and the list of shared options are this command's.
    named = "\n".join(re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE) + re.findall(r"^\[Shared\].*", section, flags=re.MULTILINE))
    documented = set(re.findall(r"--[a-z][a-z-]*", named))
    listed = set(re.findall(r"^  (--[a-z][a-z-]*)", help_of(command), flags=re.MULTILINE))
    for option in sorted(listed - documented):
        mistakes.append(f"{page.name} does not name {option}")
    for option in sorted(documented - listed):
        mistakes.append(f"{page.name} names {option}, which the command does not have")
if mistakes:
    sys.exit("\n".join(mistakes))
print(f"the pages of {len(commands)} commands name their options")
