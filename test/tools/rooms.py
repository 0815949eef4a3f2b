"""Checks which headers files include: rooms.py SOURCE TABLE..., where the tables are the rooms.txt that CMake writes for
the folders of the runtime and of the compiler.

A line of a table is "FOLDER: FOLDER...": a folder ("room"), and the other folders whose headers its files may include.
A folder sees only folders of earlier lines, so there is no circle. Only the compiler may include the dialects, which
include only each other and the artifact's schema. Examples are built against the installed package and see only its headers.
"""

import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#?\s*include\s+"((?:bench|compiler|dialects|runtime|test|tools)/[^"]+)"', re.MULTILINE)
SUFFIXES = {".cpp", ".h", ".inc", ".td"}


def read_table(text):
    lines = (line.split(":") for line in text.splitlines() if line)
    return {room.strip(): set(seen.split()) for room, seen in lines}


def find_violations(root, table):
    """Returns the entries of the table that form circles, the includes that break the table, the folders that the table
    lacks, and the entries that no include needs."""
    rooms = list(table)
    for index, (room, seen) in enumerate(table.items()):
        for other in sorted(seen - set(rooms[:index])):
            yield f"{room} sees {other}, which is not listed before it ({room.split('/')[0]}/CMakeLists.txt)"
    used = {room: set() for room in table}
    for top in ("compiler", "dialects", "runtime"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES or {"example", "examples"} & set(path.parts):
                continue
            name, folder = path.relative_to(root).as_posix(), path.parent.relative_to(root).as_posix()
            if top != "dialects" and folder not in table:
                yield f"{name}: {folder} is no room of {top}/CMakeLists.txt"
                continue
            for header in INCLUDE.findall(path.read_text()):
                other = header.rpartition("/")[0]
                if top == "dialects":
                    allowed = header.startswith(("dialects/", "runtime/schema/"))
                else:
                    used[folder].add(other)
                    allowed = other == folder or other in table[folder] or top == "compiler" and header.startswith("dialects/")
                if not allowed:
                    yield f"{name} includes {header}, and {folder} does not see {other} ({top}/CMakeLists.txt)"
    for room, seen in table.items():
        for other in sorted(seen - used[room]):
            yield f"{room} sees {other} ({room.split('/')[0]}/CMakeLists.txt) and includes nothing of it"


def check_itself():
    """Checks that all violations in a small tree are found, and nothing else."""
    files = {
        "compiler/A/A.cpp": '#include "compiler/A/A.h"\n#include "dialects/D/D.h"\n',
        "compiler/A/A.td": 'include "compiler/B/B.td"\n',
        "compiler/B/B.cpp": '#include "compiler/A/A.h"\n#include "runtime/schema/S.h"\n#include "runtime/hal/H.h"\n',
        "compiler/B/Inner/I.h": '#include <vector>\n',
        "compiler/B/Inner/Deep/D.h": "",
        "dialects/D/D.h": '#include "compiler/A/A.h"\n',
        "runtime/core/C.h": "",
        "runtime/core/example/E.cpp": '#include "runtime/schema/S.h"\n',
        "runtime/hal/H.h": '#include "runtime/core/C.h"\n#include "runtime/late/L.h"\n#include "compiler/A/A.h"\n',
        "runtime/schema/S.h": '#include "runtime/core/C.h"\n#include "dialects/D/D.h"\n',
    }
    table = read_table("runtime/core: \nruntime/schema: \nruntime/hal: runtime/core runtime/late\nruntime/late: \n"
                       "compiler/A: \ncompiler/B: compiler/A runtime/schema\ncompiler/B/Inner: compiler/A\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [line.split(" (")[0] for line in find_violations(pathlib.Path(folder), table)]
    expected = [
        "runtime/hal sees runtime/late, which is not listed before it",
        "compiler/A/A.td includes compiler/B/B.td, and compiler/A does not see compiler/B",
        "compiler/B/B.cpp includes runtime/hal/H.h, and compiler/B does not see runtime/hal",
        "compiler/B/Inner/Deep/D.h: compiler/B/Inner/Deep is no room of compiler/CMakeLists.txt",
        "dialects/D/D.h includes compiler/A/A.h, and dialects/D does not see compiler/A",
        "runtime/hal/H.h includes compiler/A/A.h, and runtime/hal does not see compiler/A",
        "runtime/schema/S.h includes runtime/core/C.h, and runtime/schema does not see runtime/core",
        "runtime/schema/S.h includes dialects/D/D.h, and runtime/schema does not see dialects/D",
        "compiler/B/Inner sees compiler/A",
    ]
    if found != expected:
        sys.exit("rooms.py does not find the violations of its own example:\n" + "\n".join(found))


def main():
    root, table = pathlib.Path(sys.argv[1]), read_table("".join(pathlib.Path(name).read_text() for name in sys.argv[2:]))
    check_itself()
    violations = list(find_violations(root, table))
    if violations:
        sys.exit("\n".join(violations))
    print(f"{len(table)} rooms include what they see")


if __name__ == "__main__":
    main()
