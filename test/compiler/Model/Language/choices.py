"""Checks that every choice of a model text's parameters compiles, with and without an entry `explain`:

    choices.py HEDDLE-COMPILE MODEL.weft...

Prints the models and the number of choices tried with each."""

import re
import subprocess
import sys
from pathlib import Path


def settings(text):
    """Yields the text's defaults, and each other value of each parameter that is one of several strings."""
    yield []
    for name, values in re.findall(r'^param (\w+) = ("[\w-]+"(?: \| "[\w-]+")+)', text, re.MULTILINE):
        for value in re.findall(r'"[\w-]+"', values)[1:]:
            yield [f"--set={name}={value}"]


def main():
    failed = False
    for model in sys.argv[2:]:
        text = Path(model).read_text()
        count = 0
        for choice in settings(text):
            for explain in "false", "true":
                flags = ["--compile-to=derive", "--set=vocab_size=40", f"--set=explain_entry={explain}", *choice]
                if re.search(r"^param .*\bclasses\b", text, re.MULTILINE):
                    flags.append("--set=classes=3")
                tried = subprocess.run([sys.argv[1], model, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                count += 1
                if tried.returncode:
                    print(f"{model} {' '.join(choice)} explain_entry={explain}: {tried.stderr}", file=sys.stderr)
                    failed = True
        print(Path(model).stem, count)
    sys.exit(failed)


if __name__ == "__main__":
    main()
