// A checkpoint is a folder: weights.safetensors, optimizer.safetensors (moments, step and seed), the tokenizer's files
// (spm.model, or source.spm, target.spm and vocab.json), and manifest.json, which says what the others belong to.
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/model/Engine.h"
#include "tools/heddle-run/text/Batches.h"
#include "tools/heddle-run/text/Tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace heddle::run {

struct Manifest {
  uint64_t step = 0;
  uint64_t seed = 0;
  DataCursor cursor;
  std::string dataFingerprint; // of the training pairs
  nlohmann::json description;  // of the model that was trained

  static Result<Manifest> read(const std::filesystem::path &folder);
  std::string toJson() const;
};

// Whether there is a checkpoint, or the remains of one, in the folder.
bool holdsCheckpoint(const std::filesystem::path &folder);

// Writes all files beside `folder` and puts them in its place at once. Until then the checkpoint that was there stays;
// files in the folder that are no part of a checkpoint move along.
Status saveCheckpoint(const std::filesystem::path &folder, Engine &engine, const Tokenizer &tokenizer,
                      const Manifest &manifest);

enum class CheckpointUse { Weights, Training };

// Loads the weights, and for a training the optimizer's state too. Fails where the checkpoint was trained with a model
// that computes something else.
Result<Manifest> loadCheckpoint(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model,
                                CheckpointUse use);

// Loads the weights of a checkpoint, or of a Hugging Face folder where the artifact was compiled from one. Says in a
// word or two what the weights are: "step 500".
Result<std::string> loadWeights(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model);

// Moves a folder out of the way, to the first free one of "ck.1", "ck.2", ..., and returns where it is now.
Result<std::filesystem::path> setAside(const std::filesystem::path &folder);

} // namespace heddle::run
