// The code of an artifact's kernels, unpacked where the file has it packed.
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

// By target of the module, then by kernel.
struct CodeTable {
  std::vector<std::vector<KernelCode>> targets;
  std::vector<std::unique_ptr<std::byte[]>> unpacked; // what the spans lie in that do not lie in the file
};

// K3 and K5 of Verify.h: a file needs no more memory and time than its size allows.
Result<CodeTable> readCode(const schema::Module &module, uint64_t fileBytes);

} // namespace heddle
