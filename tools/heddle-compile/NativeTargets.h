// --target=native: the targets for this machine.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <vector>

namespace mlir::heddle {

/// Returns a target for each usable GPU, then the best target for the processor. Software Vulkan is left out. Fails if
/// a driver is broken, or if this machine has no device that Heddle compiles for.
::heddle::Result<std::vector<std::string>> findNativeTargets();

} // namespace mlir::heddle
