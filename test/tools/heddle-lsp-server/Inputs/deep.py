"""Sends a language server deeply nested messages and modules: deep.py SERVER prints the answers."""

import sys

from editor import Editor

DEEP = 10000
DEEPER = 10000000

editor = Editor(sys.argv[1])
for depth in DEEP, DEEPER:
    editor.send_text(b'{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": ' + b"[" * depth + b"]" * depth + b"}")
    answer = editor.receive()
    print("answer:", answer["id"], answer["error"]["message"])
uri = "file:///deep.mlir"
module = 'func.func private @f()\n    attributes {a = %s}\n'
deep, shallow = "[" * DEEP + "]" * DEEP, "[[]]"
print("opened:", editor.open(uri, module % deep))
for version, text in enumerate([shallow, deep, shallow], 2):
    print("changed:", editor.change(uri, version, [{"text": module % text}]))
found = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 3}})["result"]
print("hover:", found is not None)
regions = 'module {' * DEEPER
print("regions:", editor.open("file:///regions.mlir", "\n\n" + regions))
sys.exit(editor.end())
