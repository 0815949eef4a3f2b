// VK_KHR_cooperative_matrix, of which the headers that Debian 12 packages know nothing. The numbers are the registry's.
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

// Sides of the square matrices of f16 whose products a subgroup adds up in f32, ascending. Only for devices that have
// the extension.
std::vector<uint32_t> cooperativeSides(VkInstance instance, VkPhysicalDevice device);

} // namespace heddle::hal::vulkan
