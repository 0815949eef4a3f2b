// Adapters of low rank (LoRA) in the files that PEFT has for them: adapter_config.json and adapter_model.safetensors.
// In an artifact that was compiled with --lora, the adapter of the linear transformation `P` is the weights P.lora_a,
// inputs x rank, and P.lora_b, rank x outputs; PEFT keeps both the other way round, under the published model's names.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/model/Engine.h"

#include <filesystem>
#include <map>
#include <string>

namespace heddle {

// Whether the folder is one that PEFT wrote, or writeAdapter, and no checkpoint of Heddle's.
bool isAdapterFolder(const std::filesystem::path &folder);

// Of one linear transformation: `down` is inputs x rank, `up` rank x outputs, to be multiplied by the artifact's scale.
struct LowRank {
  HostTensor down, up;
};
using LowRanks = std::map<std::string, LowRank>; // by the linear transformation's path, "decoder.0.self.query"

// The adapters of the folder for the model; an adapter of a lower rank is filled up with zeros, one of another scale is
// scaled. Fails where the folder has adapters of other kinds, of a higher rank, or for other linear transformations
// than `weights` has adapters for.
Result<LowRanks> readAdapter(const std::filesystem::path &folder, const Description &model,
                             std::span<const VariableInfo> weights);

// Writes what `engine` has into the two files. Does nothing where the published model's names say that several linear
// transformations share a tensor, which PEFT has no adapters for.
Status writeAdapter(const std::filesystem::path &folder, Engine &engine);

// Gives the engine's adapters the values of the folder's; those that the folder lacks become zeros, as all do without a
// folder.
Status loadAdapter(const std::filesystem::path &folder, Engine &engine);
// Warns if the folder's adapter was trained with another dropout than the engine's adapters: training goes on with
// theirs.
Status compareDropout(const std::filesystem::path &folder, const Engine &engine);
Status clearAdapter(Engine &engine);

} // namespace heddle
