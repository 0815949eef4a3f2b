// The parts of heddle-inspect's output. `targetName` is empty if no target was named.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <nlohmann/json.hpp>

#include <string>

namespace heddle {

nlohmann::ordered_json toJson(const Artifact &artifact);
void printText(const Artifact &artifact);

// Fails if the artifact has no such target.
Status checkTarget(const Artifact &artifact, const std::string &targetName);
// Prints a kernel's launches, and its code if it can be shown as text.
Status printKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName);
// Writes the code of one kernel to a file or to standard output.
Status writeKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName,
                   const std::string &path);
// Writes the code of every kernel of a target (by default the first target) to FOLDER/KERNEL.ptx or .spirv.
Status writeKernels(const Artifact &artifact, const std::string &targetName, const std::string &folder);

} // namespace heddle
