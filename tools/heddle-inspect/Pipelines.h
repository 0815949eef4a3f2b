// Shows how a Vulkan driver compiles an artifact's kernels.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <string>
#include <vector>

namespace heddle {

struct PipelineOptions {
  std::string device = "vulkan";    // as hal::openDevice() takes it; a device that cannot run kernels will do
  std::string target;               // the target to show; empty: all of the artifact's Vulkan targets
  std::string kernel;               // the kernel to show; empty: all
  std::vector<std::string> without; // leaves out kernels whose names contain one of these
  bool json = false;
};

// Compiles the kernels one after the other, as a session would. Prints for each the compile time, the driver's
// statistics, and the instructions of the innermost loops if the driver shows AMD machine code. If a single kernel is
// selected, prints its machine code, too.
Status printPipelines(const Artifact &artifact, const PipelineOptions &options);

} // namespace heddle
