#!/usr/bin/env python3
"""Builds a site from all Markdown pages of this tree, with mkdocs (Debian's package `mkdocs`).

    tools/site.py [FOLDER]       into FOLDER (default: out/site); open FOLDER/index.html

Pages keep their paths, so that links between them work. Files that pages link to are copied to the site unchanged."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(SOURCE / "test/tools"))
import tree  # noqa: E402

NAVIGATION = [
    ("Heddle", [("Start", "README.md"), ("Changes", "CHANGELOG.md"), ("Figures and gaps", "docs/status.md"), ("Contributing", "CONTRIBUTING.md")]),
    ("Guides", [("Train a model", "docs/train-a-model.md"), ("Published models", "docs/published-models.md"), ("Serve a model", "docs/serve.md"), ("Devices and targets", "docs/devices.md"),
                ("Look inside", "docs/look-inside.md")]),
    ("Tutorials", [("Life of a model", "docs/life-of-a-model.md"), ("Models in a program", "docs/embed.md"), ("Write a pass", "docs/write-a-pass.md"), ("Add a pass", "docs/add-a-pass.md"),
                   ("Add an op", "docs/add-an-op.md"), ("Add a target", "docs/targets.md")]),
    ("Reference", [("Descriptions", "docs/description.md"), ("The language of models", "docs/language.md"),
                   ("Many devices", "docs/many-devices.md"), ("The runtime", "runtime/README.md"), ("Glossary", "docs/glossary.md"), ("Security", "docs/security.md")]),
    ("heddle-run", [("Commands", "tools/heddle-run/README.md")] +
     [(page.stem, str(page.relative_to(SOURCE))) for page in sorted((SOURCE / "tools/heddle-run/docs").glob("*.md"))]),
    ("How it works", [("Fusion", "docs/fusion.md"), ("Attention", "docs/attention.md"), ("Kernels for GPUs", "docs/gpu-kernels.md"),
                      ("CUDA's kernels", "docs/cuda-kernels.md"), ("Kernels for processors", "docs/cpu-kernels.md"), ("A step on CUDA", "docs/cuda-step.md"), ("Decisions", "docs/decisions.md")]),
]


def stage(pages, folder):
    """Copies the pages and the files they link to. mkdocs turns a folder's README.md into its index, so a link to a
    folder becomes a link to its README."""
    for page in pages:
        text = (SOURCE / page).read_text()

        def link(match):
            target = match.group(2)
            path, hash_mark, anchor = target.partition("#")
            if not path or "://" in path:
                return match.group(0)
            found = (SOURCE / page).parent / path
            if found.is_dir():
                if not (found / "README.md").is_file():
                    return match.group(1)
                return f"[{match.group(1)}]({path.rstrip('/')}/README.md{hash_mark}{anchor})"
            if found.suffix != ".md" and found.is_file():
                # Copied as .txt: by the name alone some browsers would download it, and mkdocs leaves out .py and
                # others.
                copy = folder / (str(found.resolve().relative_to(SOURCE)) + ".txt")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, copy)
                return f"[{match.group(1)}]({path}.txt)"
            return match.group(0)

        parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
        text = "".join(part if part.startswith("```") else re.sub(r"\[([^\]\n]+)\]\(([^)\s]+)\)", link, part) for part in parts)
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text)


def navigation(pages):
    named = {page for _, chapter in NAVIGATION for _, page in chapter}
    if missing := named - set(pages):
        sys.exit(f"site: {', '.join(sorted(missing))} is in the navigation and not in the tree")
    chapters = NAVIGATION + [("Folders", [(str(pathlib.Path(page).parent), page) for page in pages if page not in named])]
    return "".join(f"  - {chapter!r}:\n" + "".join(f"      - {title!r}: {page}\n" for title, page in entries) for chapter, entries in chapters)


def main():
    if not shutil.which("mkdocs"):
        sys.exit("site: mkdocs is not installed; it is Debian's package mkdocs")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="out/site")
    site = pathlib.Path(parser.parse_args().folder).resolve()
    pages = [str(page.relative_to(SOURCE)) for page in tree.files(SOURCE, "*.md")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        stage(pages, folder / "pages")
        (folder / "mkdocs.yml").write_text(
            f"site_name: Heddle\ndocs_dir: pages\nuse_directory_urls: false\nmarkdown_extensions:\n  - tables\n  - fenced_code\n  - toc:\n      permalink: true\n"
            f"theme:\n  name: readthedocs\n  navigation_depth: 3\nnav:\n{navigation(pages)}")
        done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", folder / "mkdocs.yml", "--site-dir", site])
        if done.returncode:
            sys.exit(done.returncode)
    print(f"site: {len(pages)} pages in {site}")


if __name__ == "__main__":
    main()
