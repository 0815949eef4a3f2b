#include "runtime/hal/vulkan/Features.h"

#include <algorithm>
#include <cstring>

namespace heddle::hal::vulkan {
namespace {

bool hasExtension(VkPhysicalDevice device, const char *name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const auto &extension) { return !std::strcmp(extension.extensionName, name); });
}

std::string versionString(uint32_t version) {
  return str(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".", VK_API_VERSION_PATCH(version));
}

} // namespace

DeviceFeatures::DeviceFeatures(VkPhysicalDevice device) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
  if (hasExtension(device, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
    atomicFloat.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
    v13.pNext = &atomicFloat;
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  }
  if (hasExtension(device, kCooperativeMatrixExtension)) {
    cooperative.pNext = v13.pNext;
    v13.pNext = &cooperative;
    extensions.push_back(kCooperativeMatrixExtension);
  }
  if (hasExtension(device, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) {
    executables.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    executables.pNext = v13.pNext;
    v13.pNext = &executables;
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  }
  vkGetPhysicalDeviceFeatures2(device, &core);
}

void DeviceFeatures::keepUseful(bool codeReports) {
  // Enables only what kernels may declare. Robust access, for example, would slow a matmul down by a tenth.
  VkPhysicalDeviceFeatures has = core.features;
  core.features = {};
  core.features.shaderInt64 = has.shaderInt64; // for artifacts older than 2026-11
  core.features.shaderInt16 = has.shaderInt16;

  VkPhysicalDeviceVulkan11Features has11 = v11;
  v11 = {has11.sType, has11.pNext};
  v11.storageBuffer16BitAccess = has11.storageBuffer16BitAccess;
  v11.variablePointersStorageBuffer = has11.variablePointersStorageBuffer;
  v11.variablePointers = has11.variablePointers;

  VkPhysicalDeviceVulkan12Features has12 = v12;
  v12 = {has12.sType, has12.pNext};
  v12.bufferDeviceAddress = has12.bufferDeviceAddress;
  v12.timelineSemaphore = has12.timelineSemaphore;
  v12.vulkanMemoryModel = has12.vulkanMemoryModel;
  v12.vulkanMemoryModelDeviceScope = has12.vulkanMemoryModelDeviceScope;
  v12.scalarBlockLayout = has12.scalarBlockLayout;
  v12.shaderFloat16 = has12.shaderFloat16;
  v12.shaderInt8 = has12.shaderInt8;
  v12.storageBuffer8BitAccess = has12.storageBuffer8BitAccess;
  v12.shaderSubgroupExtendedTypes = has12.shaderSubgroupExtendedTypes;

  VkPhysicalDeviceVulkan13Features has13 = v13;
  v13 = {has13.sType, has13.pNext};
  v13.synchronization2 = has13.synchronization2;
  v13.maintenance4 = has13.maintenance4;
  v13.subgroupSizeControl = has13.subgroupSizeControl;
  v13.computeFullSubgroups = has13.computeFullSubgroups;
  v13.shaderZeroInitializeWorkgroupMemory = has13.shaderZeroInitializeWorkgroupMemory;
  v13.shaderIntegerDotProduct = has13.shaderIntegerDotProduct;

  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT hasAtomics = atomicFloat;
  atomicFloat = {hasAtomics.sType, hasAtomics.pNext};
  atomicFloat.shaderBufferFloat32Atomics = hasAtomics.shaderBufferFloat32Atomics;
  atomicFloat.shaderBufferFloat32AtomicAdd = hasAtomics.shaderBufferFloat32AtomicAdd;

  cooperative.robustBufferAccess = VK_FALSE;
  if (!codeReports)
    executables.pipelineExecutableInfo = VK_FALSE;
}

std::string DeviceFeatures::missing() const {
  const std::pair<VkBool32, const char *> required[] = {
      {v12.bufferDeviceAddress, "bufferDeviceAddress"},
      {v12.timelineSemaphore, "timelineSemaphore"},
      {v13.synchronization2, "synchronization2"},
      {v12.vulkanMemoryModel, "vulkanMemoryModel"},
  };
  std::string names;
  for (auto [present, name] : required)
    if (!present)
      names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

DeviceProperties::DeviceProperties(VkPhysicalDevice device) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
  vkGetPhysicalDeviceProperties2(device, &core);
}

uint64_t DeviceProperties::maxBufferBytes() const { return v13.maxBufferSize ? v13.maxBufferSize : UINT64_MAX; }

std::optional<uint32_t> computeQueueFamily(VkPhysicalDevice device, uint32_t &timestampBits) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  std::optional<uint32_t> best;
  for (uint32_t i = 0; i < count; ++i) {
    VkQueueFlags flags = families[i].queueFlags;
    if (!(flags & VK_QUEUE_COMPUTE_BIT) || (best && (flags & VK_QUEUE_GRAPHICS_BIT)))
      continue;
    bool better = !best || (families[*best].queueFlags & VK_QUEUE_GRAPHICS_BIT);
    if (better)
      best = i;
  }
  timestampBits = best ? families[*best].timestampValidBits : 0;
  return best;
}

DeviceInfo describeDevice(VkInstance instance, VkPhysicalDevice device, uint32_t index) {
  VkPhysicalDeviceProperties basic{};
  vkGetPhysicalDeviceProperties(device, &basic);

  DeviceInfo info;
  info.id = str("vulkan:", index);
  info.name = basic.deviceName;
  info.vendorId = basic.vendorID;
  switch (basic.deviceType) {
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    info.type = DeviceType::Cpu;
    info.emulated = true;
    break;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    info.type = DeviceType::IntegratedGpu;
    break;
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    info.type = DeviceType::DiscreteGpu;
    break;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    info.type = DeviceType::VirtualGpu;
    break;
  default:
    info.type = DeviceType::Other;
  }
  info.maxLanes = basic.limits.maxComputeWorkGroupInvocations;
  info.maxSharedBytes = basic.limits.maxComputeSharedMemorySize;
  std::copy_n(basic.limits.maxComputeWorkGroupCount, 3, info.maxWorkgroups.begin());
  info.driver = str("Vulkan ", versionString(basic.apiVersion));

  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.memoryBytes = std::max<uint64_t>(info.memoryBytes, memory.memoryHeaps[i].size);

  // The structures below are Vulkan 1.3's; an older device must not be asked for them.
  if (basic.apiVersion < VK_API_VERSION_1_3) {
    info.unusable = str("it offers Vulkan ", versionString(basic.apiVersion), ", and Heddle needs 1.3");
    return info;
  }
  DeviceProperties properties(device);
  info.driver = str(properties.v12.driverName, " ", properties.v12.driverInfo, ", ", info.driver);
  info.maxAllocationBytes = std::min<uint64_t>(properties.v11.maxMemoryAllocationSize, properties.maxBufferBytes());
  info.subgroupSize = properties.v11.subgroupSize;
  bool sizedStages = properties.v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
  info.minSubgroupSize = sizedStages ? properties.v13.minSubgroupSize : info.subgroupSize;
  info.maxSubgroupSize = sizedStages ? properties.v13.maxSubgroupSize : info.subgroupSize;
  DeviceFeatures features(device);
  if (!features.v13.subgroupSizeControl)
    info.minSubgroupSize = info.maxSubgroupSize = info.subgroupSize;
  info.float16 = features.float16() && properties.v12.shaderRoundingModeRTEFloat16;
  info.int16 = features.int16();
  if (features.cooperative.cooperativeMatrix)
    info.cooperativeSides = cooperativeSides(instance, device);
  uint32_t timestampBits = 0;
  if (std::string missing = features.missing(); !missing.empty())
    info.unusable = "it lacks " + missing;
  else if (!computeQueueFamily(device, timestampBits))
    info.unusable = "it has no queue that computes";
  else if (!info.memoryBytes) {
    info.compilesOnly = true;
    info.unusable = "its driver compiles for hardware that is not there";
  }
  return info;
}

} // namespace heddle::hal::vulkan
