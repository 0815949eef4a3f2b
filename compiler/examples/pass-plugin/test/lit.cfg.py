# The plug-in's tests, run by ctest. Parameters: plugin, the built library; programs, the folder of heddle-opt and heddle-compile;
# llvm, that of FileCheck; out, a folder to write to.
import os

import lit.formats

config.name = "FoldScales"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["out"]
config.environment["PATH"] = os.pathsep.join([lit_config.params["programs"], lit_config.params["llvm"], os.environ["PATH"]])
config.substitutions.append(("%plugin", lit_config.params["plugin"]))
