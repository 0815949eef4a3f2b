#include "tools/heddle-compile/ReadModel.h"

#include "compiler/Model/HuggingFace/HuggingFace.h"
#include "compiler/Model/Import/Import.h"
#include "compiler/Model/Import/Nesting.h"
#include "mlir/Parser/Parser.h"
#include "tools/heddle-compile/Output.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::heddle;

OwningOpRef<ModuleOp> mlir::heddle::readModel(MLIRContext *context, const ModelOptions &options) {
  StringRef path = options.model;
  const DescriptionChanges &changes = options.changes;
  auto fail = [&](const Twine &message) {
    emitError(UnknownLoc::get(context)) << message;
    return OwningOpRef<ModuleOp>();
  };
  if (!llvm::sys::fs::exists(path) && llvm::sys::path::has_extension(path))
    return fail("there is no file '" + path + "'");
  if (!llvm::sys::fs::exists(path))
    return fail("there is no file or folder '" + path +
                "'; Heddle downloads no models: get the Hugging Face folder or the GGUF file first, and give its path");
  bool isFolder = llvm::sys::fs::is_directory(path);
  if (StringRef kind = describeSpecialFile(path); !isFolder && !kind.empty())
    return fail("'" + path + "' is " + kind +
                "; name a description (.toml), a text (.weft), a module (.mlir), a GGUF file (.gguf) or a folder");
  if (isFolder)
    return importHuggingFace(context, path, changes);
  StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".toml")
    return importDescription(context, path, changes);
  if (extension == ".weft")
    return importText(context, path, changes);
  if (extension == ".gguf")
    return importGguf(context, path, changes);
  if (extension == ".mlir")
    return readModule(context, path);
  return fail(
      "the name '" + path + "' does not tell what kind of model it is: the name of a description ends in " +
      ".toml, that of a model text in .weft, that of a module of the heddle dialect in .mlir, that of a GGUF file in "
      ".gguf, and a Hugging Face model is a folder");
}

OwningOpRef<ModuleOp> mlir::heddle::readModule(MLIRContext *context, StringRef path) {
  // If the file cannot be read, the parser reports it.
  if (auto file = llvm::MemoryBuffer::getFile(path))
    if (auto place = findTooDeepMLIR((*file)->getBuffer())) {
      emitError(FileLineColLoc::get(context, path, place->first, place->second))
          << "the module nests more than " << kDeepestModule << " deep";
      return {};
    }
  return parseSourceFile<ModuleOp>(path, context);
}
