// The Vulkan backend: kernels become SPIR-V modules.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_VULKANBACKEND_H
#define HEDDLE_COMPILER_TARGET_VULKAN_VULKANBACKEND_H

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getVulkanBackend();

/// The targets of the backend, in VulkanProfiles.cpp.
ArrayRef<TargetProfile> getVulkanProfiles();

} // namespace mlir::heddle

#endif
