"""Calls the entries of a compiled model with arrays, in one session of `heddle-run call --calls`, a process that
answers line by line."""

import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np


class Session:
    """A session. Variables keep their values from call to call. Ending the session fails if heddle-run fails, as it
    does after messages of Vulkan's validation layers."""

    def __init__(self, tools, artifact, folder):
        self.folder = folder
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([f"{tools}/heddle-run", "call", artifact, "--calls"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def call(self, entry, inputs=(), outputs=(), flags=()):
        """Calls an entry and returns the named outputs. `flags` are heddle-run's own flags; paths in them are relative
        to the folder."""
        words = ["--entry", entry, *flags]
        for name, value in dict(inputs).items():
            np.save(f"{self.folder}/{name}.npy", value)
            words.append(f"--input={name}=@{self.folder}/{name}.npy")
        words += [f"--output={name}=@{self.folder}/out.{name}.npy" for name in outputs]
        try:
            self.process.stdin.write(shlex.join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail(words)
        for line in self.process.stdout:
            if re.fullmatch(r"call \d+: done\n", line):
                return [np.load(f"{self.folder}/out.{name}.npy") for name in outputs]
        self.fail(words)

    def fail(self, words=()):
        code = self.process.wait()
        self.errors.seek(0)
        sys.exit(f"heddle-run call, at {shlex.join(words) or 'its end'}: exit code {code}\n{self.errors.read()}")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        if self.process.wait() != 0:
            self.fail()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
        else:
            self.process.kill()
            self.process.wait()
