"""The files of the source tree, for checks of its texts."""

import fnmatch
import pathlib
import subprocess


def files(source, *patterns):
    """Returns the files that match one of the patterns. Only files that git knows or would add count, which leaves out
    build results and copies; in an exported tree all files count."""
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        found = [source / name for name in listed.stdout.split("\0") if name]
    else:
        found = [file for file in source.rglob("*") if not file.relative_to(source).parts[0].startswith(("build", "out"))
                 and any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns)]
    return sorted(file for file in found if file.is_file())
