"""Checks that every relative link of a Markdown page leads to a file or folder of the tree, and to an existing heading
if it names one, that no page contains merge conflict marks, and that each folder with more than three sources has a
README.md. Below test/ the folders mirror the source, so the README.md of the folder above covers them.

  links.py SOURCE_DIR"""

import collections
import pathlib
import re
import sys

import tree

source = pathlib.Path(sys.argv[1]).resolve()


def without_code(text):
    """Removes code blocks and code spans, which hold no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page):
    """Returns the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.*?) *$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


mistakes = []
count = 0
for page in tree.files(source, "*.md"):
    if re.search(r"^(<{7}|>{7}) ", page.read_text(), flags=re.MULTILINE):
        mistakes.append(f"{page.relative_to(source)}: the marks of an unfinished merge")
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        count += 1
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists():
            mistakes.append(f"{page.relative_to(source)}: there is no {target}")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            mistakes.append(f"{page.relative_to(source)}: {path or 'the page'} has no heading #{anchor}")
assert count > 10, "too few links were found"

sources = collections.Counter(file.parent for file in tree.files(source, *(f"*.{end}" for end in "cpp h c td fbs py sh cmake mlir weft js".split())))
for folder, number in sorted(sources.items()):
    covers = [folder, *folder.parents] if source / "test" in folder.parents else [folder]
    if number > 3 and not any((place / "README.md").is_file() for place in covers if place not in (source, source / "test") or place == folder):
        mistakes.append(f"{folder.relative_to(source)} has {number} sources and no README.md")
sys.exit("\n".join(mistakes) if mistakes else 0)
