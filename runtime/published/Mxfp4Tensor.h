// Matrices of MXFP4 in a folder of Hugging Face, as gpt-oss has them: for the tensor `name`, bytes of two numbers in
// `name`_blocks, and exponents in `name`_scales.
#pragma once

#include "runtime/core/PackedTensor.h"
#include "runtime/core/Safetensors.h"

#include <functional>
#include <map>

namespace heddle {

// Refers to the readers in which it was found.
class Mxfp4Tensor {
public:
  // Finds both tensors, in the same file or in two.
  static std::optional<Mxfp4Tensor> find(const std::map<std::string, SafetensorsReader> &files, std::string_view name);

  // Returns the numbers as transformers does: blocks of the shape groups x outputs x blocks x 16 become a tensor of
  // groups x inputs x outputs. Fails if the tensors do not have such shapes.
  Result<HostTensor> read() const;
  // The same as parts of GGUF's type MXFP4, which are groups x outputs x inputs, or fewer of these.
  Result<PackedTensor> readPacked() const;

private:
  Status checkShape() const;
  // Calls `take` with the bytes and exponents of each group, one after another.
  Status forGroups(const std::function<void(int64_t group, std::span<const std::byte> bytes,
                                            std::span<const std::byte> exponents)> &take) const;

  std::string name;
  const SafetensorsReader *blockFile = nullptr, *scaleFile = nullptr;
  const OtherTensor *blocks = nullptr, *scales = nullptr;
};

} // namespace heddle
