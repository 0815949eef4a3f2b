// Which launches of an entry must wait for which.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// By launch, those of repetitions for each step (LaunchRuns.h), the earlier ones that it must wait for: those that
// write what it reads or writes, and those that read what it writes, but for such as another of them waits for. Empty
// where the artifact does not say what launches read and write.
std::vector<std::vector<uint32_t>> launchOrder(const schema::Module &module, const schema::Entry &entry);

} // namespace heddle
