#include "tools/heddle-run/commands/Commands.h"

#include "runtime/core/Log.h"
#include "runtime/train/Average.h"
#include "runtime/train/CheckpointFolder.h"

namespace heddle::run {

Status runAverage(const AverageCommand &command) {
  if (command.ema) {
    HEDDLE_ASSIGN(std::filesystem::path checkpoint, findCheckpoint(command.checkpoint));
    HEDDLE_CHECK(extractAverage(checkpoint, command.output));
    log(LogLevel::Info,
        str("the average over all steps until ", checkpoint.filename().string(), "; checkpoint ", command.output));
    return Success();
  }
  std::vector<std::filesystem::path> found = listCheckpoints(command.checkpoint);
  if (found.empty()) {
    // If there is no checkpoint at all, fails with an error that says so.
    HEDDLE_ASSIGN(std::filesystem::path single, findCheckpoint(command.checkpoint));
    return makeError(ErrorKind::InvalidArgument, "'", single.string(),
                     "' is a single checkpoint of a training run; --checkpoint takes the folder that holds several.");
  }
  if (found.size() < command.last)
    return makeError(ErrorKind::InvalidArgument, "'", command.checkpoint, "' holds ", found.size(),
                     " checkpoints, and --last asks for ", command.last, "; train with --keep-last ", command.last,
                     " or ask for fewer.");
  found.erase(found.begin(), found.end() - ptrdiff_t(command.last));
  HEDDLE_CHECK(averageCheckpoints(found, decayingWeights(found.size(), command.decay), command.output));
  log(LogLevel::Info, str("averaged ", found.size(), " checkpoints, ", found.front().filename().string(), " to ",
                          found.back().filename().string(), "; checkpoint ", command.output));
  return Success();
}

} // namespace heddle::run
