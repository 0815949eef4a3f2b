// The tensors of an adapter in another program's files: PEFT's folder, or llama.cpp's GGUF file.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/train/AdapterConfig.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

inline constexpr std::string_view kLoraDown = ".lora_a", kLoraUp = ".lora_b";

class AdapterFile {
public:
  AdapterFile(std::filesystem::path path, const Description &model) : place(std::move(path)), model(model) {}
  virtual ~AdapterFile() = default;

  const std::filesystem::path &path() const { return place; }
  virtual std::vector<std::string> names() const = 0; // of all tensors
  virtual bool has(const std::string &name) const = 0;

  // The names of the tensors A and B of a linear transformation of the artifact ("decoder.0.self.query"). nullopt if
  // such files cannot have an adapter for it.
  struct Halves {
    std::string down, up, magnitude; // `magnitude` is empty except for DoRA
  };
  virtual std::optional<Halves> halvesOf(const std::string &linear) const = 0;
  // Reads A, rank x inputs, in the published model's order.
  virtual Result<HostTensor> read(const std::string &name) const = 0;
  // Reads B, outputs x rank, or DoRA's magnitudes, one per output. If the published tensor contains several linear
  // transformations, takes the outputs of this one.
  virtual Result<HostTensor> readOutputs(const std::string &linear, const std::string &name) const = 0;
  virtual Result<int64_t> rankOf(const std::string &linear) const = 0;
  virtual double scaleOf(const std::string &linear, int64_t rank) const = 0;

  // The published tensor that a tensor of the file replaces; nullopt if it replaces none.
  virtual std::optional<std::string> publishedName(const std::string &name) const = 0;
  virtual const AdapterConfig *config() const = 0; // null if the file has none

protected:
  std::filesystem::path place;
  const Description &model;
};

// Both keep a reference to `model`.
Result<std::unique_ptr<AdapterFile>> openPeftAdapter(const std::filesystem::path &folder, const Description &model);
Result<std::unique_ptr<AdapterFile>> openGgufAdapter(const std::filesystem::path &file, const Description &model);

// Finds the adapters among a checkpoint's weights. Returns {inputs, rank, outputs} for each linear transformation.
std::map<std::string, Shape> findLoraShapes(const std::map<std::string, Shape, std::less<>> &weights);

// The transposed tensor times `scale`, padded with zeros to rows x columns.
Result<HostTensor> transposePadded(const HostTensor &from, int64_t rows, int64_t columns, float scale = 1);

// The published tensor that consists of exactly this weight; the weight's own name if the model was not published.
// nullopt if the tensor holds more than the weight.
std::optional<std::string> nameOfWhole(const std::string &weight, const Description &model);

// The published tensor that holds all outputs of a linear transformation, and perhaps those of others; its own name with
// ".weight" if the model was not published. nullopt if there is no such tensor.
std::optional<std::string> nameOfHolder(const std::string &linear, const Description &model);

// Takes the outputs of a linear transformation from B or magnitudes of all outputs of its tensor. Returns `all` if the
// shapes do not fit.
Result<HostTensor> takeOutputs(HostTensor all, const WeightOrigin &origin);

// The embedding that is also the head's matrix, if the model has one matrix for both; empty otherwise. The published
// name of the head is kSharedHead.
inline constexpr const char *kSharedHead = "lm_head";
std::string findSharedEmbedding(const Description &model);

} // namespace heddle
