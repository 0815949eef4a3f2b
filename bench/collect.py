#!/usr/bin/env python3
"""Collects the measurements of bench/run.sh into one JSON file and one page: collect.py WORK_DIR RESULTS_DIR"""

import datetime
import json
import os
import pathlib
import re
import sys


def kernel_rows(path):
    rows = []
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        if benchmark.get("run_type", "iteration") != "iteration":
            continue
        name = benchmark["name"].split("/iterations")[0]
        if benchmark.get("error_occurred"):
            rows.append({"kernel": name, "error": benchmark["error_message"]})
            continue
        keys = ("median_ms", "GFLOP/s", "of_fma", "GB/s", "of_copy", "fma_GFLOP/s", "copy_GB/s", "long_fma_GFLOP/s")
        rows.append({"kernel": name, **{key: benchmark[key] for key in keys if key in benchmark}})
    return rows


def kernel_table(rows):
    lines = ["| kernel | ms | GFLOP/s | of fma | GB/s | of copy |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['kernel']} | {row['error']} | | | | |")
            continue
        number = lambda key, digits: f"{row[key]:.{digits}f}" if row.get(key) else "-"
        lines.append(f"| {row['kernel']} | {number('median_ms', 3)} | {number('GFLOP/s', 2)} | {number('of_fma', 3)} | "
                     f"{number('GB/s', 2)} | {number('of_copy', 3)} |")
    return "\n".join(lines)


def main():
    work, results = map(pathlib.Path, sys.argv[1:])
    entries = {path.stem: json.loads(path.read_text()) for path in sorted(work.glob("*-*_step*.json"))}
    device = next(iter(entries.values()))
    date = datetime.date.today().isoformat()
    record = {"date": date, "device": device["device"], "driver": device["driver"], "target": device["target"],
              "processors": os.cpu_count(), "kernels": kernel_rows(work / "kernels.json"), "entries": entries,
              "compile_report": json.loads((work / "report.json").read_text()),
              "torch": [json.loads(path.read_text()) for path in sorted(work.glob("torch-*.json"))]}
    name = f"{date}-{re.sub('[^a-z0-9]+', '-', device['device'].lower()).strip('-')}"
    (results / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")

    page = [f"# {date}, {device['device']}", "",
            f"{device['driver']}; target {device['target']}; {os.cpu_count()} processors. Written by `bench/run.sh`.", "",
            "Fractions are of the ceilings measured beside each kernel: multiply-adds of at least 24 chains of vec4, and",
            "copies of 64 MiB, both ways. Medians.", "", "## Kernels", "", kernel_table(record["kernels"])]
    for stem in entries:
        page += ["", f"## {stem}", "", "```", (work / f"{stem}.txt").read_text().rstrip(), "```"]
    if record["torch"]:
        page += ["", "## PyTorch on the same processor", "", "```", *map(json.dumps, record["torch"]), "```"]
    (results / f"{name}.md").write_text("\n".join(page) + "\n")
    print(results / f"{name}.md")


if __name__ == "__main__":
    main()
