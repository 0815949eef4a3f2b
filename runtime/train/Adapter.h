// Low-rank adapters (LoRA) in other programs' files: PEFT's adapter_config.json and adapter_model.safetensors, and
// llama.cpp's GGUF files. In an artifact compiled with --lora, the adapter of the linear transformation `P` consists of
// the weights P.lora_a, inputs x rank, and P.lora_b, rank x outputs. Those of all experts stand one below the other. PEFT
// stores all of them transposed, under the published model's names. Weights of PEFT's modules_to_save replace weights of the base.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/train/LoraWeights.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace heddle {

// Returns true if the path is an adapter folder (from PEFT or writePeftAdapter) that is not a Heddle checkpoint, or a
// GGUF file with an adapter.
bool isAdapter(const std::filesystem::path &path);

// The adapter of one linear transformation, or those of all experts' ones; the artifact's scale is still to be applied.
struct LowRank {
  LoraShape shape;
  HostTensor down, up;
  // DoRA: the norms of the columns of weight + scale * down * up, a row for each matrix.
  std::optional<HostTensor> magnitude = {};
};
using LowRanks = std::map<std::string, LowRank>; // by the linear transformation's path, "decoder.0.self.query"

struct Adapter {
  LowRanks pairs;
  std::map<std::string, HostTensor> whole; // key: the artifact's weight that the tensor replaces
};

// Reads the adapter of a folder or GGUF file for the model. An adapter of lower rank is padded with zeros, and one with
// another scale is rescaled. Fails if the file has adapters of other kinds or of a higher rank, or for linear
// transformations that have no adapter in `weights`.
Result<Adapter> readAdapter(const std::filesystem::path &path, const Description &model,
                            std::span<const VariableInfo> weights);

// Writes a checkpoint's weights.safetensors as PEFT's two files into the folder. `base` is the published model that the
// adapter belongs to. Returns false, and writes nothing, if the published model keeps several linear transformations in
// one tensor: PEFT has no adapters for these.
Result<bool> writePeftAdapter(const std::filesystem::path &weights, const std::filesystem::path &folder,
                              const Description &model, const std::string &base);
// Writes the adapter as a GGUF file for llama.cpp. Fails if such a file cannot hold the adapter.
Status writeGgufAdapter(const std::filesystem::path &weights, const std::filesystem::path &file,
                        const Description &model, const std::string &architecture);

// Sets the engine's adapters from a folder or file; adapters that it lacks become zeros. Fails if the adapter has
// magnitudes (DoRA), which only mergeAdapter() supports.
Status loadAdapter(const std::filesystem::path &path, Engine &engine);
// Fails if continuing the adapter's training would leave some of its weights untrained. Warns if the adapter was
// trained with another dropout than the engine's, which training then uses.
Status checkContinuation(const std::filesystem::path &path, const Engine &engine);
// Sets all of the engine's adapters to zeros.
Status clearAdapter(Engine &engine);
// The weights that are trained fully in addition to the engine's adapters. Empty if the engine has no adapters.
std::vector<std::string> weightsBesideAdapters(const Engine &engine);

} // namespace heddle
