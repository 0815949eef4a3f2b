"""Writes files whose values nest deeply, and a file that only seems to nest deeply: nest.py FOLDER
Compiles a description with a deeply nested override: nest.py --set HEDDLE_COMPILE DESCRIPTION"""
import pathlib
import subprocess
import sys

deep = 100_000  # bytes: a program's argument has at most 128 KiB
if sys.argv[1] == "--set":
    command = [sys.argv[2], sys.argv[3], "--compile-to=import", "-o", "-", "--set", "d_model=" + "[" * deep]
    sys.exit(subprocess.run(command).returncode)

folder = pathlib.Path(sys.argv[1])
(folder / "folder").mkdir()
(folder / "folder" / "config.json").write_text('{"a": ' + "[" * deep)
(folder / "arrays.toml").write_text("d_model = " + "[" * deep + "]" * deep)
(folder / "keys.toml").write_text("a." * deep + "b = 1")
(folder / "tables.toml").write_text("[" + "a." * deep + "b]")
brackets = "[" * 500 + "." * 500
(folder / "text.toml").write_text(f'# {brackets}\nd_model = 8\nnorm = "{brackets}\\"{brackets}"\n')
(folder / "good.toml").write_text('architecture = "transformer"\nd_model = 8\nheads = 2\nd_ff = 16\n'
                                  "encoder_layers = 1\ndecoder_layers = 1\nvocab_size = 16\n")
