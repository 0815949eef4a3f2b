"""The files of the source tree that checks of its texts read."""

import fnmatch
import pathlib
import subprocess


def files(source, *patterns):
    """Those that match one of the patterns: what git knows or would add, so that what is built or copied into the tree is left out; in
    an exported tree all of them."""
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        found = [source / name for name in listed.stdout.split("\0") if name]
    else:
        found = [file for file in source.rglob("*") if not file.relative_to(source).parts[0].startswith(("build", "out"))
                 and any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns)]
    return sorted(file for file in found if file.is_file())
