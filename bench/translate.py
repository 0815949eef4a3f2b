"""Times `heddle-run translate`: all lines at once, and the same lines one by one, each sent when the line before it has
been answered. Prints a JSON object.

    translate.py --bin build/bin --artifact numbers.heddle --checkpoint checkpoint --lines data/test.en [--beam 4]"""

import argparse
import json
import subprocess
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bin", "artifact", "checkpoint", "lines"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--beam", default="1")
    arguments = parser.parse_args()
    with open(arguments.lines, encoding="utf-8") as file:
        lines = file.read().splitlines()

    def start():
        """Starts a translator and lets it answer a line, so that its kernels are compiled."""
        process = subprocess.Popen(
            [f"{arguments.bin}/heddle-run", "translate", arguments.artifact, "--checkpoint", arguments.checkpoint,
             "--beam", arguments.beam], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ask(process, lines[0])
        return process

    def ask(process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    process = start()
    began = time.monotonic()
    one_by_one = [ask(process, line) for line in lines]
    single = time.monotonic() - began
    process.communicate()

    process = start()
    began = time.monotonic()
    together = process.communicate("\n".join(lines) + "\n")[0].splitlines(keepends=True)
    whole = time.monotonic() - began
    print(json.dumps({"lines": len(lines), "beam": int(arguments.beam), "one_by_one_s": round(single, 2),
                      "together_s": round(whole, 2), "ratio": round(single / whole, 2),
                      "same": one_by_one == together}))


if __name__ == "__main__":
    main()
