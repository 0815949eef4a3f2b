"""An editor's side of a language server connection."""

import json
import subprocess
import sys


class Editor:
    def __init__(self, server):
        self.process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["result"]["capabilities"]
        self.tell("initialized", {})

    def send_text(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params, **more):
        self.send_text(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode())

    def receive(self):
        length = 0
        while header := self.process.stdout.readline().strip():
            name, value = header.split(b":")
            length = int(value) if name == b"Content-Length" else length
        if not length:
            sys.exit(f"the server has gone: {self.process.wait(timeout=60)}")
        return json.loads(self.process.stdout.read(length))

    def wait_for(self, wanted):
        while not wanted(message := self.receive()):
            pass
        return message

    def ask(self, method, params):
        """Sends a request and returns the answer."""
        self.number += 1
        self.tell(method, params, id=self.number)
        return self.wait_for(lambda message: message.get("id") == self.number)

    def diagnostics(self):
        """Returns the next diagnostics, each with line and column from 0."""
        message = self.wait_for(lambda message: message.get("method") == "textDocument/publishDiagnostics")
        return [f"{found['range']['start']['line']}:{found['range']['start']['character']}: {found['message']}"
                for found in message["params"]["diagnostics"]]

    def open(self, uri, text):
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": text}})
        return self.diagnostics()

    def change(self, uri, version, changes):
        self.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})
        return self.diagnostics()

    def end(self):
        """Shuts the server down and returns its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.stdin.close()
        return self.process.wait(timeout=60)
