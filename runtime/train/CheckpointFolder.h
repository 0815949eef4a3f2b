// The folder of a training run: each checkpoint in a folder such as "step-00000400", and a link "best" to the one of
// the best validation. Whatever else is in the folder stays as it is.
#pragma once

#include "runtime/train/Checkpoint.h"

namespace heddle {

class CheckpointFolder {
public:
  // `keepLast` of the newest checkpoints stay, the best, and the last that was written.
  CheckpointFolder(std::filesystem::path folder, uint64_t keepLast) : folder(std::move(folder)), keepLast(keepLast) {}

  // Makes the folder, and finds out that it can be written to. Fails where it holds a training run and `isFresh`: that
  // one is to be resumed, or set aside.
  Status open(bool isFresh) const;

  // Writes the checkpoint of the manifest's step, points "best" to it where it is the best, and then removes old ones.
  Status save(Engine &engine, const TextCodec &vocabulary, const Manifest &manifest);

private:
  std::filesystem::path folder;
  uint64_t keepLast;
};

// The checkpoints of a training run, oldest first.
std::vector<std::filesystem::path> listCheckpoints(const std::filesystem::path &folder);

// What a user means by a checkpoint: a folder that is one, or the newest in the folder of a training run.
Result<std::filesystem::path> findCheckpoint(const std::filesystem::path &folder);

// Fails where nothing may be written as `output`: something is there, or a training run has names like it in the folder
// (step-00000400, best, .lock), or it would lie within a checkpoint, which a training run removes in time.
Status checkOutput(const std::filesystem::path &output);

// Moves a training run's folder out of the way, to the first free one of "ck.1", "ck.2", ..., and returns where it is
// now.
Result<std::filesystem::path> setAside(const std::filesystem::path &folder);

} // namespace heddle
