// The tensors of an adapter in another program's files: PEFT's folder, or llama.cpp's GGUF file.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/train/AdapterConfig.h"
#include "runtime/train/LoraWeights.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class AdapterFile {
public:
  AdapterFile(std::filesystem::path path, const Description &model) : place(std::move(path)), model(model) {}
  virtual ~AdapterFile() = default;

  const std::filesystem::path &path() const { return place; }
  virtual std::vector<std::string> names() const = 0; // of all tensors
  virtual bool has(const std::string &name) const = 0;

  // A pair of tensors, A and B, of one linear transformation ("decoder.0.self.query"), or of all experts' ones.
  struct Module {
    std::string name;           // of the published module or tensor, without ".weight"; empty in a GGUF file
    std::string down, up;       // names of tensors
    std::string magnitude = {}; // empty except for DoRA
    int64_t matrices = 1;       // how many A and B the tensors have
    bool isJoined = false;      // PEFT's form of all experts' A and B
  };
  // The linear transformation's pairs: one, or one for each expert. The file need not have their tensors. Empty if such
  // files cannot have an adapter for it.
  virtual std::vector<Module> modulesOf(const std::string &linear, int64_t matrices) const = 0;
  // A, rank x inputs, and B, outputs x rank; those of several matrices stand one below the other.
  struct Pair {
    HostTensor down, up;
    int64_t rank = 0; // that the tensors should have
  };
  // Reads a pair in the published model's order. If the published tensor contains several linear transformations, B has
  // the outputs of this one.
  virtual Result<Pair> readPair(const std::string &linear, const Module &module) const = 0;
  // Reads DoRA's magnitudes, one per output.
  virtual Result<HostTensor> readMagnitude(const std::string &linear, const Module &module) const = 0;
  // Reads a tensor that replaces a tensor of the base.
  virtual Result<HostTensor> readWhole(const std::string &name) const = 0;
  virtual double scaleOf(const Module &module, int64_t rank) const = 0;

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

} // namespace heddle
