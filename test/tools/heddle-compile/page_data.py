"""Prints the data of a page of `heddle-compile --report=page.html`, unpacked as a browser does it: page_data.py PAGE
[ENTRY PHASE]

With an entry and a phase, prints the entry's text after the phase, each line with its place in the model."""

import base64
import json
import re
import sys
import zlib


def unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True)))


with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
outer = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL)[1])
report = unpack(outer["data"])
if len(sys.argv) == 2:
    for key, value in report.items():
        if key in ("remarks", "weights", "places", "snapshots"):
            for row in value:
                print(f"{key}: {json.dumps(row, ensure_ascii=False)}")
        elif key == "targets":
            for target in value:
                for part in ("kernels", "entries"):
                    for row in target[part]:
                        print(f"{target['name']} {part}: {json.dumps(row, ensure_ascii=False)}")
        else:
            print(f"{key}: {json.dumps(value, ensure_ascii=False)}")
else:
    entry, phase = sys.argv[2:4]
    snapshot = next(snapshot for snapshot in report["snapshots"] if snapshot["phase"] == phase)
    text = unpack(outer["texts"][dict(snapshot["functions"])[entry]])
    for place, line in zip(text["places"], text["text"].split("\n"), strict=True):
        print(f"{report['places'][place][0] if place >= 0 else ''} | {line}")
