// Adapters of low rank (LoRA) in the files that other programs have for them: PEFT's adapter_config.json and
// adapter_model.safetensors, and llama.cpp's GGUF files.
// In an artifact that was compiled with --lora, the adapter of the linear transformation `P` is the weights P.lora_a,
// inputs x rank, and P.lora_b, rank x outputs; PEFT keeps both the other way round, under the published model's names.
// Weights of PEFT's modules_to_save stand in the place of the base's.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/model/Engine.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace heddle {

// Whether the path is a folder that PEFT wrote, or writePeftAdapter, and no checkpoint of Heddle's; or a GGUF file that
// has an adapter.
bool isAdapter(const std::filesystem::path &path);

// Of one linear transformation: `down` is inputs x rank, `up` rank x outputs, to be multiplied by the artifact's scale.
struct LowRank {
  HostTensor down, up;
  std::optional<HostTensor> magnitude = {}; // DoRA: the norms that the columns of weight + scale down up are given
};
using LowRanks = std::map<std::string, LowRank>; // by the linear transformation's path, "decoder.0.self.query"

struct Adapter {
  LowRanks pairs;
  std::map<std::string, HostTensor> whole; // by the artifact's weight whose place they take
};

// The adapters of the folder or the GGUF file for the model; an adapter of a lower rank is filled up with zeros, one of
// another scale is scaled. Fails where the file has adapters of other kinds, of a higher rank, or for other linear
// transformations than `weights` has adapters for.
Result<Adapter> readAdapter(const std::filesystem::path &path, const Description &model,
                            std::span<const VariableInfo> weights);

// Writes the weights of a checkpoint, weights.safetensors, as PEFT's two files into the folder. `base`: the published
// model that the adapter belongs to. Returns false, and writes nothing, where the published model's names say that
// several linear transformations share a tensor, which PEFT has no adapters for.
Result<bool> writePeftAdapter(const std::filesystem::path &weights, const std::filesystem::path &folder,
                              const Description &model, const std::string &base);
// The same as a GGUF file of llama.cpp's. Fails where such files cannot have what the adapter has.
Status writeGgufAdapter(const std::filesystem::path &weights, const std::filesystem::path &file,
                        const Description &model, const std::string &architecture);

// Gives the engine's adapters the values of the folder's or file's; those that it lacks become zeros, as all do without
// a folder. Fails where the adapter has magnitudes, which mergeAdapter() knows alone.
Status loadAdapter(const std::filesystem::path &path, Engine &engine);
// Fails if training that goes on with the adapter would leave weights of it as they are. Warns if it was trained with
// another dropout than the engine's adapters: training goes on with theirs.
Status checkContinuation(const std::filesystem::path &path, const Engine &engine);
Status clearAdapter(Engine &engine);
// The weights that are trained whole beside the engine's adapters; none of an engine without adapters.
std::vector<std::string> weightsBesideAdapters(const Engine &engine);

} // namespace heddle
