// The Vulkan backend: kernels become SPIR-V modules.
#pragma once

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getVulkanBackend();

/// The targets of the backend, in VulkanProfiles.cpp.
ArrayRef<TargetProfile> getVulkanProfiles();

} // namespace mlir::heddle
