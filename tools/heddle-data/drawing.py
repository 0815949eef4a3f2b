"""Draws that are the same on any machine, and files that are written whole."""

import os


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def _next(self):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def below(self, bound):
        # Rejecting the lowest (2^64 mod bound) values makes every remainder equally likely.
        while (value := self._next()) < 2**64 % bound:
            pass
        return value % bound

    def choose(self, values):
        return values[self.below(len(values))]


def write_files(folder, files):
    """Writes the lines of files by name. A file is written aside and renamed, so that it is never half written."""
    for name, lines in files.items():
        path = os.path.join(folder, name)
        aside = f"{path}.{os.getpid()}.tmp"
        try:
            os.makedirs(folder, exist_ok=True)
            with open(aside, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in lines)
            os.replace(aside, path)
        except OSError as error:
            if os.path.exists(aside):
                os.remove(aside)
            raise ValueError(f"cannot write '{path}': {error.strerror}.") from error
