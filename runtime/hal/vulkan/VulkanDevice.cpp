#include "runtime/hal/vulkan/VulkanDevice.h"

#include "runtime/hal/vulkan/Features.h"

#include <cstring>

namespace heddle::hal::vulkan {
namespace {

// Prefers the largest heap of device memory, and within it a type that the host can access in place. Processors,
// integrated GPUs, and cards whose whole memory is in the PCI window have such a type.
MemoryChoice chooseDeviceMemory(const VkPhysicalDeviceMemoryProperties &memory, bool directAccess) {
  constexpr VkMemoryPropertyFlags writable = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // Memory with further properties (protected, lazily allocated, device-coherent) is for special purposes.
  constexpr VkMemoryPropertyFlags ordinary =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | writable | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  MemoryChoice best;
  int bestRank = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if (!(flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) || (flags & ~ordinary))
      continue;
    uint64_t heap = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size;
    bool writes = (flags & writable) == writable;
    bool reads = writes && (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    int rank = directAccess ? writes + reads : 0;
    if (heap > best.heapBytes || (heap == best.heapBytes && rank > bestRank)) {
      best = {i, heap, writes && directAccess, reads && directAccess};
      bestRank = rank;
    }
  }
  return best;
}

MemoryChoice chooseStagingMemory(const VkPhysicalDeviceMemoryProperties &memory) {
  constexpr VkMemoryPropertyFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  MemoryChoice best;
  int bestRank = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((flags & needed) != needed || (flags & VK_MEMORY_PROPERTY_PROTECTED_BIT))
      continue;
    int rank = 2 * !!(flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) + !(flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (rank > bestRank) {
      best = {i, memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size, true, true};
      bestRank = rank;
    }
  }
  return best; // Vulkan guarantees such a type
}

} // namespace

Result<std::unique_ptr<Device>> VulkanDevice::open(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                                   DeviceInfo info, const DeviceOptions &options) {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice);
  Context &context = device->context;
  context.instance = std::move(instance);
  context.physical = physical;
  context.info = std::move(info);

  std::optional<uint32_t> family = computeQueueFamily(physical, context.timestampBits);
  assert(family && "an unusable device is not opened");
  context.queueFamily = *family;
  DeviceProperties properties(physical);
  context.texelAlignment = properties.core.properties.limits.minTexelBufferOffsetAlignment;
  context.maxTexels = properties.core.properties.limits.maxTexelBufferElements;
  context.timestampPeriod = properties.core.properties.limits.timestampPeriod;
  vkGetPhysicalDeviceMemoryProperties(physical, &context.memory);
  context.deviceMemory = chooseDeviceMemory(context.memory, options.directAccess);
  context.stagingMemory = chooseStagingMemory(context.memory);

  DeviceFeatures features(physical);
  features.keepUseful(options.codeReports);
  context.codeReports = features.executables.pipelineExecutableInfo;
  float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = *family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.pNext = &features.core;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<uint32_t>(features.extensions.size());
  create.ppEnabledExtensionNames = features.extensions.data();
  if (VkResult status = vkCreateDevice(physical, &create, nullptr, &context.device)) {
    context.device = VK_NULL_HANDLE;
    return context.error(status, "opening the device");
  }
  volkLoadDeviceTable(&context.vk, context.device);

  VkPipelineCacheCreateInfo cacheInfo{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  if (VkResult status = context.vk.vkCreatePipelineCache(context.device, &cacheInfo, nullptr, &device->cache))
    return context.error(status, "creating a pipeline cache");
  if (!context.info.compilesOnly) {
    HEDDLE_ASSIGN(device->stream, Stream::create(context));
  }
  return std::unique_ptr<Device>(std::move(device));
}

VulkanDevice::~VulkanDevice() {
  stream.reset();
  if (!context.device)
    return;
  context.vk.vkDestroyPipelineCache(context.device, cache, nullptr);
  for (auto &[texels, layout] : layouts) {
    context.vk.vkDestroyPipelineLayout(context.device, layout.pipeline, nullptr);
    context.vk.vkDestroyDescriptorSetLayout(context.device, layout.descriptors, nullptr);
  }
  context.vk.vkDestroyDevice(context.device, nullptr);
}

Status VulkanDevice::requireMemory() const {
  if (stream)
    return Success();
  return makeError(ErrorKind::Unsupported, "'", context.info.id, "' (", context.info.name,
                   ") only compiles: ", context.info.unusable, ".");
}

Result<std::unique_ptr<Buffer>> VulkanDevice::newBuffer(std::string_view name, uint64_t bytes) {
  HEDDLE_CHECK(requireMemory());
  // Rounded up to 16 bytes: kernels read vec4, and vkCmdFillBuffer needs a multiple of four.
  bytes = std::max<uint64_t>((bytes + 15) / 16 * 16, 16);
  constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                       VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                       VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
  HEDDLE_ASSIGN(Memory memory, Memory::allocate(context, context.deviceMemory, usage, bytes, name));
  if (memory.mapped() && context.info.type == DeviceType::Cpu)
    std::memset(memory.mapped(), 0, bytes);
  else
    HEDDLE_CHECK(stream->fillZero(memory.buffer()));
  return std::unique_ptr<Buffer>(std::make_unique<VulkanBuffer>(std::move(memory), *stream));
}

Result<std::unique_ptr<Program>> VulkanDevice::record(std::span<const Launch> launches, uint32_t counts, bool timed) {
  HEDDLE_CHECK(requireMemory());
  auto program = std::make_unique<VulkanProgram>(context, *stream);
  HEDDLE_CHECK(program->record(launches, counts, timed));
  return std::unique_ptr<Program>(std::move(program));
}

Status VulkanDevice::wait() { return stream ? stream->wait() : Success(); }

Status VulkanDevice::write(Buffer &to, uint64_t offset, std::span<const std::byte> data) {
  assert(offset <= to.bytes() && data.size() <= to.bytes() - offset);
  HEDDLE_CHECK(stream->wait());
  const Memory &memory = static_cast<VulkanBuffer &>(to).memory;
  if (!memory.mapped())
    return stream->write(memory.buffer(), offset, data);
  if (!data.empty())
    std::memcpy(memory.mapped() + offset, data.data(), data.size());
  return Success(); // submitting makes host writes visible to the device
}

Status VulkanDevice::read(const Buffer &from, uint64_t offset, std::span<std::byte> into) {
  assert(offset <= from.bytes() && into.size() <= from.bytes() - offset);
  HEDDLE_CHECK(stream->wait());
  const Memory &memory = static_cast<const VulkanBuffer &>(from).memory;
  if (!context.deviceMemory.hostReads)
    return stream->read(memory.buffer(), offset, into);
  if (!into.empty())
    std::memcpy(into.data(), memory.mapped() + offset, into.size());
  return Success();
}

Result<std::unique_ptr<Readback>> VulkanDevice::readLater(const Buffer &from, uint64_t offset, uint64_t bytes) {
  assert(offset <= from.bytes() && bytes <= from.bytes() - offset);
  const Memory &memory = static_cast<const VulkanBuffer &>(from).memory;
  HEDDLE_ASSIGN(auto slot, stream->readLater(memory.buffer(), offset, bytes));
  return std::unique_ptr<Readback>(std::make_unique<VulkanReadback>(*stream, std::move(slot)));
}

} // namespace heddle::hal::vulkan
