"""Checks that no source, message or page contains a word that was given up (docs/glossary.md, "Words given up").

  words.py SOURCE_DIR"""

import pathlib
import re
import sys

import tree

SUFFIXES = [f"*.{end}" for end in "cpp h td md py mlir test sh txt cmake js css html fbs toml weft in".split()]
source = pathlib.Path(sys.argv[1]).resolve()
glossary = (source / "docs/glossary.md").read_text().split("## Words given up")[1]
# A row has the regular expression to look for, its replacement, and where it applies.
rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|\n]*) \|$", glossary, flags=re.MULTILINE)
listed = sum(line.startswith("|") for line in glossary.splitlines()) - 2
if not rows or len(rows) != listed:
    sys.exit(f"words: of the {listed} rows of words that were given up in docs/glossary.md, {len(rows)} can be read")
mistakes = []
for file in tree.files(source, *SUFFIXES):
    name = str(file.relative_to(source))
    if name in ("docs/glossary.md", "CHANGELOG.md"):
        continue
    text = file.read_text(errors="replace")
    for word, instead, folders in rows:
        if folders != "everywhere" and not any(name.startswith(folder.strip(" `")) for folder in folders.split(",")):
            continue
        for match in re.finditer(word.replace("\\|", "|"), text):
            mistakes.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: '{match.group(0)}'; the word is now {instead.strip()}")
if mistakes:
    sys.exit("\n".join(mistakes))
print(f"words: none of {len(rows)} in the tree")
