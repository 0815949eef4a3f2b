#include "runtime/core/Gguf.h"
#include "runtime/core/Log.h"
#include "runtime/train/Merge.h"
#include "tools/heddle-run/commands/OpenModel.h"

namespace heddle::run {

Status runMerge(const MergeCommand &command) {
  HEDDLE_ASSIGN(OpenModel model, openModel(command.common, nullptr));
  HEDDLE_ASSIGN(Description description, Description::parse(model.engine->description()));
  if (description.adapter.rank == 0 || description.tensors.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "merging takes an artifact that was compiled from a published model with "
                     "--lora; the adapter's names and scale are in it.");
  HEDDLE_CHECK(
      mergeAdapter(command.common.base, command.checkpoint, command.output, description, model.engine->variables()));
  const char *kind = isGgufFile(command.common.base) ? "; file " : "; folder ";
  log(LogLevel::Info, str("merged ", command.checkpoint, " into ", command.common.base, kind, command.output));
  return Success();
}

} // namespace heddle::run
