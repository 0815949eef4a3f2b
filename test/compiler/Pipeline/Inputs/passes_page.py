"""passes_page.py PAGE: checks that the page describes each pass in the output of `heddle-opt --help` (read from
standard input) and each of its options."""

import pathlib
import re
import sys

page = pathlib.Path(sys.argv[1]).read_text()
sections = dict(re.findall(r"^### `-([\w-]+)`\n(.*?)(?=^###? |\Z)", page, re.MULTILINE | re.DOTALL))
help_text = sys.stdin.read()
passes = help_text[help_text.index("    Passes:"):help_text.index("    Pass Pipelines:")]

problems, name, checked = [], None, 0
for line in passes.splitlines():
    if found := re.match(r"      --([\w-]+)", line):
        name = found.group(1) if found.group(1).startswith("heddle-") else None
        if name and len([text for text in sections.get(name, "").split("\n\n") if text.strip()]) < 2:
            problems.append(f"{name} has no summary and description")
        checked += name is not None
    elif name and (found := re.match(r"        --([\w-]+)", line)) and f"-{found.group(1)} " not in sections.get(name, ""):
        problems.append(f"{name} has no text on its option {found.group(1)}")
print("\n".join(problems) or f"{checked} passes are on the page")
sys.exit(bool(problems))
