"""Asks a language server about a text, as an editor does: client.py SERVER FILE LINE COLUMN prints the diagnostics of FILE, and what the server
says of the place (both from 0)."""

import json
import pathlib
import subprocess
import sys

server, file, line, column = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
uri = file.absolute().as_uri()
process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def send(method, **message):
    body = json.dumps({"jsonrpc": "2.0", "method": method, **message}).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    process.stdin.flush()


def receive():
    length = 0
    while header := process.stdout.readline().strip():
        name, value = header.split(b":")
        length = int(value) if name == b"Content-Length" else length
    if not length:
        sys.exit("the server has gone")
    return json.loads(process.stdout.read(length))


def answer(number):
    while (message := receive()).get("id") != number:
        pass
    return message.get("result")


send("initialize", id=0, params={"processId": None, "rootUri": None, "capabilities": {}})
print("hover:", answer(0)["capabilities"]["hoverProvider"])
send("initialized", params={})
send("textDocument/didOpen", params={"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": file.read_text()}})
while (message := receive()).get("method") != "textDocument/publishDiagnostics":
    pass
for diagnostic in message["params"]["diagnostics"]:
    print(f"line {diagnostic['range']['start']['line']}: {diagnostic['message']}")
send("textDocument/hover", id=1, params={"textDocument": {"uri": uri}, "position": {"line": line, "character": column}})
found = answer(1)
print(found["contents"]["value"] if found else "nothing")
send("shutdown", id=2, params=None)
answer(2)
send("exit", params=None)
process.stdin.close()
sys.exit(process.wait(timeout=60))
