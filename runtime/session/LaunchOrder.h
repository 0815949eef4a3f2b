// Finds the launches of an entry that must wait for earlier ones.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// Returns, for each launch (a repeated launch has an element per step, as in LaunchRuns.h), the earlier launches that
// it must wait for: those that write memory that it reads or writes, and those that read memory that it writes. Leaves
// out a launch if another one of the list waits for it. Empty if the artifact does not say what launches read and
// write.
std::vector<std::vector<uint32_t>> launchOrder(const schema::Module &module, const schema::Entry &entry);

} // namespace heddle
