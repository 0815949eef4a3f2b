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

  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomicFloat{};
  CooperativeMatrixFeatures cooperative;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{};
  std::vector<const char *> extensions; // to enable
};

struct DeviceProperties {
  explicit DeviceProperties(VkPhysicalDevice device);
  DeviceProperties(const DeviceProperties &) = delete;
  DeviceProperties &operator=(const DeviceProperties &) = delete;

  uint64_t maxBufferBytes() const;

  VkPhysicalDeviceProperties2 core{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceVulkan13Properties v13{};
};

// Returns a queue family for compute. Prefers one without graphics, whose queue is not shared with the display.
std::optional<uint32_t> computeQueueFamily(VkPhysicalDevice device, uint32_t &timestampBits);

DeviceInfo describeDevice(VkInstance instance, VkPhysicalDevice device, uint32_t index);

} // namespace heddle::hal::vulkan
