// What a Vulkan driver's compiler makes of an artifact's kernels.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <string>
#include <vector>

namespace heddle {

struct PipelineOptions {
  std::string device = "vulkan"; // as hal::openDevice() takes it; it may be one without memory, on which nothing runs
  std::string target;            // whose kernels; empty: all of the artifact's Vulkan targets
  std::string kernel;            // empty: all
  std::vector<std::string> without; // parts of the names of kernels to leave out
  bool json = false;
};

// Compiles the kernels one after the other, as a session would, and prints for each how long that took, what the driver
// says of the result, and, where the driver shows AMD's machine code, what the innermost loops are made of. Of a single
// kernel the machine code is printed as well.
Status printPipelines(const Artifact &artifact, const PipelineOptions &options);

} // namespace heddle
