#include "tools/heddle-run/commands/Commands.h"

#include "runtime/core/Log.h"
#include "runtime/train/Average.h"
#include "runtime/train/CheckpointFolder.h"

#include <algorithm>

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
  constexpr size_t most = 5; // as in section 6.1 of the paper
  size_t last = command.last.value_or(std::min(most, found.size()));
  if (found.size() < last)
    return makeError(ErrorKind::InvalidArgument, "'", command.checkpoint, "' holds ", found.size(),
                     " checkpoints, and --last asks for ", last, "; train with --keep-last ", last,
                     " or ask for fewer.");
  found.erase(found.begin(), found.end() - ptrdiff_t(last));
  HEDDLE_CHECK(averageCheckpoints(found, decayingWeights(found.size(), command.decay), command.output));
  log(LogLevel::Info, str("averaged ", found.size(), " checkpoints, ", found.front().filename().string(), " to ",
                          found.back().filename().string(), "; checkpoint ", command.output));
  return Success();
}

} // namespace heddle::run
