// The tensors of an adapter in the files of other programs: PEFT's folder, and llama.cpp's GGUF file.
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

  // The names of the tensors A and B beside a linear transformation of the artifact ("decoder.0.self.query"). Nothing
  // where such files have no adapter for it.
  struct Halves {
    std::string down, up, magnitude; // the last is empty but for DoRA
  };
  virtual std::optional<Halves> halvesOf(const std::string &linear) const = 0;
  // A, rank x inputs, or B, outputs x rank, in the published model's order.
  virtual Result<HostTensor> read(const std::string &name) const = 0;
  virtual Result<HostTensor> readUp(const std::string &linear, const std::string &name) const = 0;
  virtual Result<int64_t> rankOf(const std::string &linear) const = 0;
  virtual double scaleOf(const std::string &linear, int64_t rank) const = 0;

  // The published tensor in whose place a tensor of the file stands; nothing where that is none.
  virtual std::optional<std::string> publishedName(const std::string &name) const = 0;
  virtual const AdapterConfig *config() const = 0; // null if the file has none

protected:
  std::filesystem::path place;
  const Description &model;
};

// Both keep a reference to the model.
Result<std::unique_ptr<AdapterFile>> openPeftAdapter(const std::filesystem::path &folder, const Description &model);
Result<std::unique_ptr<AdapterFile>> openGgufAdapter(const std::filesystem::path &file, const Description &model);

// Of the weights of a checkpoint: by linear transformation inputs, rank and outputs of its adapter.
std::map<std::string, Shape> findLoraShapes(const std::map<std::string, Shape, std::less<>> &weights);

// The tensor the other way round, times `scale`, with rows or columns of zeros up to the extents.
Result<HostTensor> transposePadded(const HostTensor &from, int64_t rows, int64_t columns, float scale = 1);

// The name of the published tensor that is the weight, and all of it; the weight's own name where the model was not
// published. Nothing where the tensor has more than the weight.
std::optional<std::string> nameOfWhole(const std::string &weight, const Description &model);

// The weight whose matrix is the published head's too, although the model has one matrix for both; empty if there is
// none. The head is called kSharedHead.
inline constexpr const char *kSharedHead = "lm_head";
std::string findSharedEmbedding(const Description &model);

} // namespace heddle
