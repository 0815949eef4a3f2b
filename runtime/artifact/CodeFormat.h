// The form that kernels have in an artifact: one for all targets of a backend (runtime/hal/Backend.h), in whose folder
// it is defined.
#pragma once

#include "runtime/artifact/KernelCode.h"
#include "runtime/schema/artifact_generated.h"

#include <string>
#include <string_view>

namespace heddle {

struct CodeFormat {
  std::string_view backend;    // what the names of the targets begin with, before a colon: "vulkan"
  std::string_view name;       // "PTX"
  std::string_view binaryName; // of the code assembled: "cubin"; empty where it never is
  bool isText = false;         // ends in NUL, and is filled with NUL to whole words
  // Says what is wrong with a kernel that the artifact's file holds; empty for a good kernel. A driver trusts what has
  // passed.
  std::string (*check)(const schema::Kernel &kernel, const KernelCode &code) = nullptr;
};

// The format of a target's code; null where this build does not know it: no device of its backend is there then,
// either.
const CodeFormat *findCodeFormat(std::string_view target);

// Adds a format, which lives as long as the program, before the first artifact is loaded. Those of Heddle's own
// backends are there from the start.
void registerCodeFormat(const CodeFormat &format);

} // namespace heddle
