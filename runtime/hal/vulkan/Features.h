// A Vulkan device's features and properties, as far as Heddle needs or can use them.
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/vulkan/CooperativeMatrix.h"

#include <optional>
#include <volk.h>

namespace heddle::hal::vulkan {

// The chained feature structures. At first they hold all supported features; keepUseful() keeps those to enable.
struct DeviceFeatures {
  explicit DeviceFeatures(VkPhysicalDevice device);
  DeviceFeatures(const DeviceFeatures &) = delete;
  DeviceFeatures &operator=(const DeviceFeatures &) = delete;

  // `codeReports`: also enable the statistics of pipelines.
  void keepUseful(bool codeReports);
  bool float16() const { return v12.shaderFloat16 && v11.storageBuffer16BitAccess; }
  bool int16() const { return core.features.shaderInt16 && v11.storageBuffer16BitAccess; }
  std::string missing() const; // the names of missing required features, comma-separated

  VkPhysicalDeviceVulkan13Features v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &v13};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &v12};
  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomicFloat{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  CooperativeMatrixFeatures cooperative;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  std::vector<const char *> extensions; // to enable
};

struct DeviceProperties {
  explicit DeviceProperties(VkPhysicalDevice device);
  DeviceProperties(const DeviceProperties &) = delete;
  DeviceProperties &operator=(const DeviceProperties &) = delete;

  uint64_t maxBufferBytes() const;

  VkPhysicalDeviceVulkan13Properties v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES, &v13};
  VkPhysicalDeviceVulkan11Properties v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &v12};
  VkPhysicalDeviceProperties2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &v11};
};

// Returns a queue family for compute. Prefers one without graphics, whose queue is not shared with the display.
std::optional<uint32_t> computeQueueFamily(VkPhysicalDevice device, uint32_t &timestampBits);

DeviceInfo describeDevice(VkInstance instance, VkPhysicalDevice device, uint32_t index);

} // namespace heddle::hal::vulkan
