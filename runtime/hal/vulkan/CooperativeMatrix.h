// VK_KHR_cooperative_matrix, which the headers of Debian 12 lack. The numbers are those of the Vulkan registry.
#pragma once

#include <vector>
#include <volk.h>

namespace heddle::hal::vulkan {

inline constexpr const char *kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void *pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 robustBufferAccess = VK_FALSE;
};

// Returns the sides, ascending, of the square f16 matrices that a subgroup can multiply with f32 accumulators. The
// device must have the extension.
std::vector<uint32_t> cooperativeSides(VkInstance instance, VkPhysicalDevice device);

} // namespace heddle::hal::vulkan
