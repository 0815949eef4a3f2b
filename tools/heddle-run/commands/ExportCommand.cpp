#include "runtime/core/Gguf.h"
#include "runtime/core/Log.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Export.h"
#include "tools/heddle-run/commands/OpenModel.h"

namespace heddle::run {

Status runExport(const ExportCommand &command) {
  const std::string &base = command.common.base;
  const std::string &output = command.folder.empty() ? command.file : command.folder;
  bool isFile = isGgufFile(base);
  HEDDLE_ASSIGN(OpenModel model, openModel(command.common, nullptr));
  const bool isAdapted = isFrozen(*model.engine); // an adapter can be written in either format
  if (!isAdapted && isFile == command.file.empty())
    return makeError(ErrorKind::InvalidArgument, "'", base, "' is a ", isFile ? "GGUF file" : "folder",
                     ", and so is what export writes of it; name it by ", isFile ? "--gguf." : "--hugging-face.");
  HEDDLE_ASSIGN(Description description, Description::parse(model.engine->description()));
  if (description.tensors.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "export takes an artifact that was compiled from a published model: it "
                     "says where in its files each weight is.");
  if (!isAdapted)
    HEDDLE_CHECK(exportWeights(base, command.checkpoint, output, description, *findWrittenType(command.type)));
  else if (command.file.empty())
    HEDDLE_CHECK(exportPeftAdapter(base, command.checkpoint, output, description));
  else if (command.type != "F32")
    return makeError(ErrorKind::InvalidArgument, "--type=", command.type,
                     " is for models, and the artifact has an adapter, which is written as F32.");
  else
    HEDDLE_CHECK(exportGgufAdapter(base, command.checkpoint, output, description));
  log(LogLevel::Info, str(isAdapted ? "adapter of " : "weights of ", command.checkpoint, "; ",
                          command.file.empty() ? "folder " : "file ", output));
  return Success();
}

} // namespace heddle::run
