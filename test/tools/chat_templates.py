"""Compares `heddle-run render` with transformers, for the chat templates of published models: chat_templates.py
HEDDLE_RUN SOURCE_DIR

The folder chat/ of HEDDLE_MODELS (default: ../shared/models beside the source) has for each model a template
NAME.jinja, and NAME.json with conversations and the texts that transformers rendered. Without the folder the test is
skipped.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

run, source = sys.argv[1], Path(sys.argv[2])
folder = Path(os.environ.get("HEDDLE_MODELS") or source.resolve().parent / "shared/models") / "chat"
if not folder.is_dir():
    print(f"skipped: there is no folder {folder}")
    sys.exit(77)
wrong = conversations = 0
templates = sorted(folder.glob("*.jinja"))
for template in templates:
    cases = json.loads(template.with_suffix(".json").read_text())
    lines = "".join(json.dumps({key: case[key] for key in ("messages", "add_generation_prompt", "variables")}) + "\n" for case in cases)
    done = subprocess.run([run, "render", template, "--now=2026-01-02T03:04:05"], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(cases):
        sys.exit(f"{template.name}: exit code {done.returncode}, {len(answers)} answers to {len(cases)} conversations: {done.stderr}")
    conversations += len(cases)
    for number, (case, answer) in enumerate(zip(cases, answers), 1):
        if "text" in case:
            is_right = answer == case["text"]
        else:
            is_right = isinstance(answer, dict) and answer["error"] == case["error"]
        if not is_right:
            wrong += 1
            print(f"{template.name}, conversation {number}: {answer!r} instead of {case.get('text', case.get('error'))!r}")
if wrong or not templates:
    sys.exit(f"{wrong} of {conversations} conversations of {len(templates)} templates differ")
print(f"{conversations} conversations of {len(templates)} templates are those of transformers")
