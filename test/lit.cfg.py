# The lit suite: every .mlir, .toml and .test file below test/ that has a RUN line.
#
# Substitutions: the programs by name (heddle-opt, heddle-compile, heddle-run, heddle-data, heddle-inspect,
# heddle-reference, heddle-lsp-server, heddle-reduce, FileCheck, not, split-file, spirv-val); %python, the interpreter that has numpy and
# PyTorch; %pages, the folder of the generated reference; %models, %bench, %docs and %tools, these folders of the
# repository.
# Features: `spirv-val`, `numpy` and `torch`, if they are installed; `objdump`, if it is installed and disassembles code
# for x86-64; `benchmark`, if the kernel benchmark is built; `long`, for files that take more than three CPU seconds:
# `--param long=only` runs only these files, and `long=too` runs all.

import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "Heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".toml", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.heddle_test_exec_root

for name in ("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "VK_LAYER_PATH", "XDG_RUNTIME_DIR", "HOME", "LD_LIBRARY_PATH",
             "ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE", "HEDDLE_THREADS", "GALLIVM_PERF", "LP_NUM_THREADS", "OMP_NUM_THREADS",
             "OPENBLAS_NUM_THREADS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["HEDDLE_VALIDATION"] = "1"
config.environment["HEDDLE_TARGET"] = "vulkan:software"


def tool(directory, name):
    """Replaces NAME, as a word of its own in a RUN line, by its full path, so that an installed namesake is not
    used."""
    config.substitutions.append((r"(?<![\w./-])" + name + r"(?![\w.-])", os.path.join(directory, name)))


for name in ("heddle-opt", "heddle-compile", "heddle-run", "heddle-data", "heddle-inspect", "heddle-reference", "heddle-lsp-server", "heddle-reduce"):
    tool(config.heddle_tools_dir, name)
if os.path.exists(os.path.join(config.heddle_tools_dir, "heddle-bench-kernels")):
    tool(config.heddle_tools_dir, "heddle-bench-kernels")
    config.available_features.add("benchmark")
for name in ("FileCheck", "not", "split-file"):
    tool(config.llvm_tools_dir, name)
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%pages", config.heddle_pages_dir))
config.substitutions.append(("%bench", os.path.join(config.heddle_source_dir, "bench")))
config.substitutions.append(("%models", os.path.join(config.heddle_source_dir, "models")))
config.substitutions.append(("%docs", os.path.join(config.heddle_source_dir, "docs")))
config.substitutions.append(("%tools", os.path.join(config.heddle_source_dir, "tools")))

if shutil.which("spirv-val"):
    config.available_features.add("spirv-val")
if shutil.which("objdump") and platform.machine() == "x86_64":
    config.available_features.add("objdump")
for module in ("numpy", "torch"):
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    if subprocess.run([config.python, "-c", probe]).returncode == 0:
        config.available_features.add(module)
long = lit_config.params.get("long", "no")
if long != "no":
    config.available_features.add("long")
if long == "only":
    config.limit_to_features = {"long"}
