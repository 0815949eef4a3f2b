// The code of an artifact's kernels, unpacked if the file has it packed.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

struct KernelCode {
  std::span<const uint32_t> words;
  std::span<const uint8_t> binary;
};

// The code of all kernels.
struct CodeTable {
  std::vector<std::vector<KernelCode>> targets;       // by target of the module, then by kernel
  std::vector<std::unique_ptr<std::byte[]>> unpacked; // owns the unpacked code; other spans point into the file
};

// Unpacks the kernels' code and checks K3 and K5 of Verify.h, so that a small file cannot cost much memory or time.
Result<CodeTable> readCode(const schema::Module &module, uint64_t fileBytes);

} // namespace heddle
