// A checkpoint is a folder: weights.safetensors, optimizer.safetensors (moments, step and seed: with them the state of
// the random numbers, which are counted), the vocabulary's files (spm.model; source.spm, target.spm and vocab.json;
// or vocab.json and merges.txt; of a model that gives labels also labels.json), and manifest.json, which is written
// last and says what the others belong to and what is in them.
#pragma once

#include "runtime/artifact/Meaning.h"
#include "runtime/core/Status.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/text/BatchSource.h"
#include "runtime/text/TextCodec.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

inline constexpr const char *kWeightsFile = "weights.safetensors";
inline constexpr const char *kOptimizerFile = "optimizer.safetensors";

// How validation went until here.
struct ValidationRecord {
  std::optional<double> bestLoss; // none before the first validation
  uint64_t bestStep = 0;
  uint64_t sinceBest = 0; // validations

  // Notes a validation. Returns whether it is the best.
  bool note(uint64_t step, double loss);
};

struct Manifest {
  uint64_t step = 0;
  uint64_t seed = 0;
  DataCursor cursor;
  std::string dataFingerprint; // of the training text
  // The flags that decide which pairs each step sees, by name. A run resumed with other values takes other steps.
  nlohmann::json batching = nlohmann::json::object();
  ValidationRecord validation;
  uint64_t artifactSeal = 0;
  nlohmann::json description;                    // of the model that was trained
  std::string base = {}, baseHash = {};          // of an adapter: where the frozen weights came from, and their hash
  std::vector<uint64_t> averaged = {};           // the steps whose weights these are the mean of; usually none
  uint64_t averagedSteps = 0;                    // the steps over all of which they are an average; usually 0
  std::map<std::string, std::string> files = {}; // hashes by name; filled in when a checkpoint is written

  static Result<Manifest> read(const std::filesystem::path &folder);
  std::string toJson() const;
};

// Writes a checkpoint as `folder`. The files are written aside, made durable and renamed: whenever the program is
// killed, or the disk is full, `folder` is whole or not there. Fails where a weight is not a finite number.
Status writeCheckpoint(const std::filesystem::path &folder, Engine &engine, const TextCodec &vocabulary,
                       Manifest manifest);

// Writes PEFT's files of a checkpoint's adapter beside its weights.safetensors, which is written already. Does nothing
// for a model without adapters, or where PEFT has no such adapters (Adapter.h).
Status writePeftFiles(const std::filesystem::path &folder, const Manifest &manifest);

// Called by the other ranks while one rank writes the checkpoint.
Status takePartInWriting(Engine &engine);

// The same for tensors that are in no engine: `writeTensors` writes the files of these names into the folder given to
// it.
Status writeCheckpoint(const std::filesystem::path &folder, std::span<const char *const> tensorFiles,
                       const std::function<Status(const std::filesystem::path &)> &writeTensors,
                       const TextCodec &vocabulary, Manifest manifest);

// "of step 500"; "as published" where there is no step.
std::string describeWeights(std::optional<uint64_t> step);

enum class CheckpointUse { Weights, Training };

// Loads the weights, and for CheckpointUse::Training the optimizer's state too. Fails if a file is not what was
// written, or if the checkpoint was trained with a model that computes something else, unless `others` says Warn.
Result<Manifest> loadCheckpoint(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model,
                                CheckpointUse use, OtherMeaning others = OtherMeaning::Refuse);

// Whether the path is a file of weights by itself, .safetensors: it has no manifest that says which model it is of.
bool isWeightsFile(const std::filesystem::path &path);

// Loads the weights of a checkpoint, of the newest one in a training run's folder, of a file of weights, of an adapter
// that another program wrote, or of a Hugging Face folder if the artifact was compiled from one; adapters are zeros
// then. Returns the step of the
// weights; published weights have none.
Result<std::optional<uint64_t>> loadWeights(const std::filesystem::path &folder, Engine &engine,
                                            const ModelDescription &model, OtherMeaning others = OtherMeaning::Refuse);

// Whether the model's own weights are frozen: checkpoints hold its adapters alone.
bool isFrozen(const Engine &engine);

// The hash of the frozen weights; empty if there are none.
Result<std::string> hashFrozen(Engine &engine);

// Loads the frozen weights, and where those begin that are trained beside adapters, from a Hugging Face folder or from
// a checkpoint of the model without adapters.
Status loadBase(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model,
                OtherMeaning others = OtherMeaning::Refuse);

// Fails where the file is not what was written.
Status checkFile(const std::filesystem::path &checkpoint, const char *name, const Manifest &manifest);

// The vocabulary of a checkpoint, or of the newest one in a training run's folder.
Result<std::unique_ptr<TextCodec>> loadCheckpointVocabulary(const std::filesystem::path &folder);

// The hashes of a checkpoint's files that are no tensors.
std::map<std::string, std::string> vocabularyFiles(const Manifest &manifest);

} // namespace heddle
