// The format of kernels in an artifact. All targets of a backend (runtime/hal/Backend.h) share a format, which the
// backend's folder defines.
#pragma once

#include "runtime/artifact/KernelCode.h"
#include "runtime/schema/artifact_generated.h"

#include <string>
#include <string_view>

namespace heddle {

struct CodeFormat {
  std::string_view backend;    // the part of targets' names before the colon: "vulkan"
  std::string_view name;       // "PTX"
  std::string_view binaryName; // the name of assembled code: "cubin"; empty if the format has none
  bool isText = false;         // the code is text, padded with NUL to whole words; it ends in at least one NUL
  // Returns what is wrong with a kernel of an artifact, or an empty string. Drivers trust code that has passed.
  std::string (*check)(const schema::Kernel &kernel, const KernelCode &code) = nullptr;
};

// Returns the format of a target's code. Null if this build does not know the target's backend, in which case it has no
// such device either.
const CodeFormat *findCodeFormat(std::string_view target);

// Adds a format, which must live as long as the program. To be called before the first artifact is loaded. The formats
// of Heddle's own backends need not be registered.
void registerCodeFormat(const CodeFormat &format);

} // namespace heddle
