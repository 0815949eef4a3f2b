#include "runtime/hal/vulkan/CooperativeMatrix.h"

#include <algorithm>

namespace heddle::hal::vulkan {
namespace {

// VkCooperativeMatrixPropertiesKHR.
struct Properties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void *pNext = nullptr;
  uint32_t rows = 0, columns = 0, depth = 0;
  uint32_t left = 0, right = 0, sum = 0, result = 0; // VkComponentTypeKHR
  VkBool32 saturating = VK_FALSE;
  uint32_t scope = 0; // VkScopeKHR
};

constexpr uint32_t componentFloat16 = 0, componentFloat32 = 1, scopeSubgroup = 3;

using GetProperties = VkResult(VKAPI_PTR *)(VkPhysicalDevice, uint32_t *, Properties *);

} // namespace

std::vector<uint32_t> cooperativeSides(VkInstance instance, VkPhysicalDevice device) {
  auto get = reinterpret_cast<GetProperties>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!get || get(device, &count, nullptr) != VK_SUCCESS)
    return {};
  std::vector<Properties> all(count);
  if (get(device, &count, all.data()) != VK_SUCCESS)
    return {};
  std::vector<uint32_t> sides;
  for (const Properties &one : all)
    if (one.rows == one.columns && one.rows == one.depth && one.scope == scopeSubgroup &&
        one.left == componentFloat16 && one.right == componentFloat16 && one.sum == componentFloat32 &&
        one.result == componentFloat32)
      sides.push_back(one.rows);
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  return sides;
}

} // namespace heddle::hal::vulkan
