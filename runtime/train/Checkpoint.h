// A checkpoint is a folder with these files:
//   weights.safetensors
//   optimizer.safetensors  moments, step and seed; random numbers are counter-based, so these are their whole state
//   the vocabulary         spm.model; or source.spm, target.spm and vocab.json; or vocab.json and merges.txt;
//                          and labels.json if the model predicts labels
//   manifest.json          written last; lists the files' hashes and the model and training run that they belong to
#pragma once

#include "runtime/artifact/Meaning.h"
#include "runtime/core/Status.h"
#include "runtime/data/BatchSource.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/tokenizers/TextCodec.h"

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

// The validation results so far.
struct ValidationRecord {
  std::optional<double> bestLoss; // nullopt before the first validation
  uint64_t bestStep = 0;
  uint64_t sinceBest = 0; // validations since the best one

  // Records a validation. Returns true if it is the best so far.
  bool note(uint64_t step, double loss);
};

struct Manifest {
  uint64_t step = 0;
  uint64_t seed = 0;
  DataCursor cursor;
  std::string dataFingerprint; // of the training text
  // The flags that decide which examples each step sees, by name. A run resumed with other values takes other steps.
  nlohmann::json batching = nlohmann::json::object();
  ValidationRecord validation;
  uint64_t artifactSeal = 0;
  nlohmann::json description;                    // of the model that was trained
  std::string base = {}, baseHash = {};          // for adapters: the source of the frozen weights, and their hash
  std::vector<uint64_t> averaged = {};           // if these weights are a mean of checkpoints: their steps
  uint64_t averagedSteps = 0;                    // if these weights are an average over all steps: their number
  std::map<std::string, std::string> files = {}; // hashes by name; filled in when a checkpoint is written

  static Result<Manifest> read(const std::filesystem::path &folder);
  std::string toJson() const;
};

// Writes a checkpoint as `folder`. The files are written to a temporary folder, made durable and renamed: even if the
// program is killed or the disk is full, `folder` is complete or does not exist. Fails if a weight is not finite.
Status writeCheckpoint(const std::filesystem::path &folder, Engine &engine, const TextCodec &vocabulary,
                       Manifest manifest);

// Writes a checkpoint's adapter in PEFT's format next to its existing weights.safetensors. Does nothing if the model
// has no adapters, or PEFT cannot express them (Adapter.h).
Status writePeftFiles(const std::filesystem::path &folder, const Manifest &manifest);

// Called by the other ranks while one rank writes the checkpoint.
Status takePartInWriting(Engine &engine);

// Writes a checkpoint of tensors that are not in an engine: `writeTensors` writes the files named `tensorFiles` into
// the folder that it is given.
Status writeCheckpoint(const std::filesystem::path &folder, std::span<const char *const> tensorFiles,
                       const std::function<Status(const std::filesystem::path &)> &writeTensors,
                       const TextCodec &vocabulary, Manifest manifest);

// "of step 500"; "as published" if there is no step.
std::string describeWeights(std::optional<uint64_t> step);

enum class CheckpointUse { Weights, Training };

// Loads the weights, and for CheckpointUse::Training also the optimizer state. Fails if a file differs from its hash in
// the manifest, or if the checkpoint's model computes something else, unless `others` is Warn.
Result<Manifest> loadCheckpoint(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model,
                                CheckpointUse use, OtherMeaning others = OtherMeaning::Refuse);

// Returns true if the path is a single .safetensors file: it has no manifest that names its model.
bool isWeightsFile(const std::filesystem::path &path);

// Loads the weights of a checkpoint, of the newest one in a training run's folder, of a weights file, of an adapter
// that another program wrote, or of a published model if the artifact was compiled from one; adapters become zeros
// then. Returns the step of the weights, or nullopt for weights without a step.
// If `fresh` is given, weights of a head that a published model lacks keep their values, and it gets their names.
Result<std::optional<uint64_t>> loadWeights(const std::filesystem::path &folder, Engine &engine,
                                            const ModelDescription &model, OtherMeaning others = OtherMeaning::Refuse,
                                            std::vector<std::string> *fresh = nullptr);

// Returns true if the model's own weights are frozen: checkpoints hold only its adapters.
bool isFrozen(const Engine &engine);

// The hash of the frozen weights; empty if there are none.
Result<std::string> hashFrozen(Engine &engine);

// Loads the frozen weights, and the initial values of weights that are trained in addition to adapters, from a
// published model or from a checkpoint of the model without adapters.
Status loadBase(const std::filesystem::path &folder, Engine &engine, const ModelDescription &model,
                OtherMeaning others = OtherMeaning::Refuse);

// Returns true if the weights of `checkpoint` need frozen weights from `base`. Fails if the two do not fit the artifact.
// A published model without an adapter is its own base.
Result<bool> needsBase(const std::string &base, const std::string &checkpoint, const Engine &engine);

// Loads the frozen weights from `base`, if the artifact needs them, and logs it. `checkpoint` is empty for a new
// training run.
Status openBase(const std::string &base, const std::string &checkpoint, Engine &engine,
                const ModelDescription &description, OtherMeaning others);

// Fails if the file's hash is not the hash in the manifest.
Status checkFile(const std::filesystem::path &checkpoint, const char *name, const Manifest &manifest);

// The vocabulary of a checkpoint, or of the newest one in a training run's folder.
Result<std::unique_ptr<TextCodec>> loadCheckpointVocabulary(const std::filesystem::path &folder);

// The vocabulary of a checkpoint, as above, or of any other folder or file, by loadFolderVocabulary().
Result<std::unique_ptr<TextCodec>> openVocabulary(const std::filesystem::path &place);

// The hashes of a checkpoint's vocabulary files.
std::map<std::string, std::string> vocabularyFiles(const Manifest &manifest);

} // namespace heddle
