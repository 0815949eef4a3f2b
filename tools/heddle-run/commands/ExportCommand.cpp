#include "runtime/core/Gguf.h"
#include "runtime/core/Log.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Export.h"
#include "tools/heddle-run/commands/Opening.h"

namespace heddle::run {

Status runExport(const ExportCommand &command) {
  const std::string &base = command.common.base;
  const std::string &output = command.folder.empty() ? command.file : command.folder;
  bool isFile = isGgufFile(base);
  if (output.empty() || isFile == command.file.empty())
    return makeError(ErrorKind::InvalidArgument, "'", base, "' is a ", isFile ? "GGUF file" : "folder",
                     ", and so is what export writes of it; name it by ", isFile ? "--gguf." : "--hugging-face.");
  HEDDLE_ASSIGN(OpenModel model, openModel(command.common, nullptr));
  HEDDLE_ASSIGN(Description description, Description::parse(model.engine->description()));
  if (description.tensors.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "export takes an artifact that was compiled from a published model: it "
                     "says where in its files each weight is.");
  if (isFrozen(*model.engine))
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact has adapters; merge adds one to the weights of the model that it was trained for.");
  HEDDLE_CHECK(exportWeights(base, command.checkpoint, output, description, *findWrittenType(command.type)));
  log(LogLevel::Info, str("weights of ", command.checkpoint, "; ", isFile ? "file " : "folder ", output));
  return Success();
}

} // namespace heddle::run
