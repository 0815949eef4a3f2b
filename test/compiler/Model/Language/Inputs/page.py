"""Compiles the model texts of a Markdown page: page.py PAGE HEDDLE-COMPILE FOLDER

A ```weft block must compile. A ```weft-mistake block is followed by a block with the compiler's message."""

import pathlib
import re
import subprocess
import sys

page, compiler, folder = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```([\w-]*)\n(.*?)^```$", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL)

texts = mistakes = 0
for i, (kind, text) in enumerate(blocks):
    if kind not in ("weft", "weft-mistake"):
        continue
    file = folder / f"{i}.weft"
    file.write_text(text)
    done = subprocess.run([compiler, str(file), "--compile-to=import", "-o", "-"], capture_output=True, text=True)
    if kind == "weft":
        texts += 1
        if done.returncode != 0:
            sys.exit(f"text {i} of the page does not compile: {done.stderr}")
    else:
        mistakes += 1
        expected = f"{file}:{blocks[i + 1][1]}"
        if done.returncode != 1 or done.stderr != expected:
            sys.exit(f"text {i} of the page should say:\n{expected}\nand says:\n{done.stderr}")
print(f"{texts} texts and {mistakes} mistake are as the page says")
