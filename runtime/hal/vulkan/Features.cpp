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
  auto chain = [&](auto &features, const char *extension) {
    if (!hasExtension(device, extension))
      return;
    features.pNext = v13.pNext;
    v13.pNext = &features;
    extensions.push_back(extension);
  };
  chain(atomicFloat, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  chain(cooperative, kCooperativeMatrixExtension);
  chain(executables, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  vkGetPhysicalDeviceFeatures2(device, &core);
}

// Turns off all features but those at `members`.
template <typename Features, typename... Members> static void keepOnly(Features &features, Members... members) {
  Features has = features;
  features = {};
  if constexpr (requires { features.pNext; })
    features.sType = has.sType, features.pNext = has.pNext;
  ((features.*members = has.*members), ...);
}

void DeviceFeatures::keepUseful(bool codeReports) {
  // Enables only what kernels may declare. Robust access, for example, would slow a matmul down by a tenth.
  using Core = VkPhysicalDeviceFeatures;
  keepOnly(core.features, &Core::shaderInt64, &Core::shaderInt16); // shaderInt64: for artifacts older than 2026-11
  using V11 = VkPhysicalDeviceVulkan11Features;
  keepOnly(v11, &V11::storageBuffer16BitAccess, &V11::variablePointersStorageBuffer, &V11::variablePointers);
  using V12 = VkPhysicalDeviceVulkan12Features;
  keepOnly(v12, &V12::bufferDeviceAddress, &V12::timelineSemaphore, &V12::vulkanMemoryModel,
           &V12::vulkanMemoryModelDeviceScope, &V12::scalarBlockLayout, &V12::shaderFloat16, &V12::shaderInt8,
           &V12::storageBuffer8BitAccess, &V12::shaderSubgroupExtendedTypes);
  using V13 = VkPhysicalDeviceVulkan13Features;
  keepOnly(v13, &V13::synchronization2, &V13::maintenance4, &V13::subgroupSizeControl, &V13::computeFullSubgroups,
           &V13::shaderZeroInitializeWorkgroupMemory, &V13::shaderIntegerDotProduct);
  using Atomic = VkPhysicalDeviceShaderAtomicFloatFeaturesEXT;
  keepOnly(atomicFloat, &Atomic::shaderBufferFloat32Atomics, &Atomic::shaderBufferFloat32AtomicAdd);
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

DeviceProperties::DeviceProperties(VkPhysicalDevice device) { vkGetPhysicalDeviceProperties2(device, &core); }

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
  constexpr std::pair<VkPhysicalDeviceType, DeviceType> types[] = {
      {VK_PHYSICAL_DEVICE_TYPE_CPU, DeviceType::Cpu},
      {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, DeviceType::IntegratedGpu},
      {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, DeviceType::DiscreteGpu},
      {VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, DeviceType::VirtualGpu}};
  auto type = std::ranges::find(types, basic.deviceType, &std::pair<VkPhysicalDeviceType, DeviceType>::first);
  info.type = type == std::end(types) ? DeviceType::Other : type->second;
  info.emulated = info.type == DeviceType::Cpu;
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
