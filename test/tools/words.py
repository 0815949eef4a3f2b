"""Checks that no source, message or page contains a word that another has replaced (docs/glossary.md has today's words).

  words.py SOURCE_DIR"""

import pathlib
import re
import sys

import tree

# A regular expression, the word to use instead, and the folders where it applies ("" for the whole tree).
REPLACED = [
    (r"\bdealt\b|\bDealing\b", "distributed; for ranks and devices: shared out", [""]),
    (r"\b[sS]pread\b", "lane mapping (`#tile.mapping`)",
     ["compiler/Lanes", "compiler/Kernel/Tiling", "compiler/Analysis/Kernels", "compiler/Target", "dialects/Tile"]),
    (r"[a-z]Factors?Pass|(left|right|16-bit|rounded|tensor cores') factors?\b|factors of (matrix )?products", "operand",
     ["compiler", "dialects", "docs", "test", "tools"]),
    (r"\b(rename|describe)Place\b|\bplaceOfKernel\b", "location", [""]),
    (r"\.halves\b|\.shorts\b", "`float16`, `int16`", ["compiler/Target", "runtime/hal", "runtime/session"]),
]
SUFFIXES = [f"*.{end}" for end in "cpp h td md py mlir test sh txt cmake js css html fbs toml weft in".split()]
source = pathlib.Path(sys.argv[1]).resolve()
for _, instead, folders in REPLACED:
    for folder in folders:
        if not (source / folder).is_dir():
            sys.exit(f"words: {folder}, where '{instead}' applies, is not a folder")
mistakes = []
for file in tree.files(source, *SUFFIXES):
    name = str(file.relative_to(source))
    if name in ("test/tools/words.py", "CHANGELOG.md"):
        continue
    text = file.read_text(errors="replace")
    for word, instead, folders in REPLACED:
        if not any(name.startswith(folder) for folder in folders):
            continue
        for match in re.finditer(word, text):
            mistakes.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: '{match.group(0)}'; the word is now {instead}")
if mistakes:
    sys.exit("\n".join(mistakes))
print(f"words: none of {len(REPLACED)} in the tree")
