"""Asks a language server about a text, as an editor does: client.py SERVER FILE LINE COLUMN prints the diagnostics of
FILE, and the server's information about the position (line and column from 0)."""

import pathlib
import sys

from editor import Editor

server, file, line, column = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
uri = file.absolute().as_uri()
editor = Editor(server)
print("hover:", editor.capabilities["hoverProvider"])
for diagnostic in editor.open(uri, file.read_text()):
    print("line", diagnostic.split(":")[0] + ":" + diagnostic.split(":", 2)[2])
found = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}})["result"]
print(found["contents"]["value"] if found else "nothing")
sys.exit(editor.end())
