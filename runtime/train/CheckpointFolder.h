// The folder of a training run: a folder such as "step-00000400" for each checkpoint, and a link "best" to the
// checkpoint with the best validation. Other files in the folder are left alone.
#pragma once

#include "runtime/train/Checkpoint.h"

namespace heddle {

class CheckpointFolder {
public:
  // Keeps the newest `keepLast` checkpoints, the best, and the last one written.
  CheckpointFolder(std::filesystem::path folder, uint64_t keepLast) : folder(std::move(folder)), keepLast(keepLast) {}

  // Creates the folder and checks that it is writable. Fails if `isFresh` and the folder already holds a training run,
  // which must be resumed or set aside first.
  Status open(bool isFresh) const;

  // Writes the checkpoint of the manifest's step, points "best" to it if it is the best, and removes old checkpoints.
  Status save(Engine &engine, const TextCodec &vocabulary, const Manifest &manifest);

private:
  std::filesystem::path folder;
  uint64_t keepLast;
};

// The checkpoints of a training run, oldest first.
std::vector<std::filesystem::path> listCheckpoints(const std::filesystem::path &folder);

// Resolves a user's path to a checkpoint: a checkpoint folder itself, or the newest checkpoint in a training run's
// folder.
Result<std::filesystem::path> findCheckpoint(const std::filesystem::path &folder);

// Fails if `output` must not be written: it exists, or it has a name that the training run in the folder uses
// (step-00000400, best, .lock), or it lies within a checkpoint, which the training run may remove later.
Status checkOutput(const std::filesystem::path &output);

// Renames a training run's folder to the first free name of "ck.1", "ck.2", ..., and returns the new path.
Result<std::filesystem::path> setAside(const std::filesystem::path &folder);

} // namespace heddle
