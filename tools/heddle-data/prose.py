"""The project's own documentation as plain text: the paragraphs of its Markdown files."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORTEST = 20   # characters of a paragraph
HELD_OUT = 20   # one in this many paragraphs is held out
LEFT_OUT = ("build", "bench/results")  # and folders whose names begin with a dot


def paragraphs():
    """Returns the paragraphs of all pages, in the order of their paths."""
    pages = [path.relative_to(ROOT) for path in ROOT.rglob("*.md")]
    found = []
    for page in sorted(pages, key=pathlib.PurePath.as_posix):
        name = page.as_posix()
        if f"{name}/".startswith(tuple(f"{folder}/" for folder in LEFT_OUT)) or any(part.startswith(".") for part in page.parts):
            continue
        parts = re.split(r"\n\s*\n", (ROOT / page).read_text(encoding="utf-8"))
        found += [part.strip() for part in parts if len(part.strip()) >= SHORTEST]
    return found


def prose_files():
    """prose.txt, and valid.txt with the paragraphs that are held out. Empty lines separate paragraphs."""
    files = {"prose.txt": [], "valid.txt": []}
    for number, paragraph in enumerate(paragraphs()):
        files["valid.txt" if number % HELD_OUT == 0 else "prose.txt"] += [*paragraph.split("\n"), ""]
    return files
