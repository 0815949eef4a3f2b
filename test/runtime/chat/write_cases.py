"""Renders the templates of Cases.json with jinja2, set up as in transformers, and writes the results beside them:
write_cases.py

Needs jinja2 3.1. The tests only read the file. To add a case, add {"template": "..."} and run this.
"""
import datetime
import json
from pathlib import Path

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

CASES = Path(__file__).parent / "Inputs/Cases.json"


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("write"), [], [], body).set_lineno(line)

    def write(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def main():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = datetime.datetime(2026, 1, 2, 3, 4, 5).strftime
    whole = json.loads(CASES.read_text())
    cases = []
    for case in whole["cases"]:
        try:
            text = environment.from_string(case["template"]).render(tools=None, documents=None, add_generation_prompt=True, **whole["variables"])
            cases.append({"template": case["template"], "text": text})
        except Exception as error:
            cases.append({"template": case["template"], "error": f"{type(error).__name__}: {error}"})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    CASES.write_text(f'{{"variables": {json.dumps(whole["variables"])},\n"cases": [\n{lines}]}}\n')


main()
