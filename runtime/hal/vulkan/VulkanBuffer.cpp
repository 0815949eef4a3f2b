#include "runtime/core/Tensor.h"
#include "runtime/hal/vulkan/VulkanContext.h"

#include <algorithm>
#include <utility>

namespace heddle::hal::vulkan {
namespace {

Error outOfMemory(const Context &context, std::string_view name, uint64_t bytes, std::string_view why) {
  return makeError(
      ErrorKind::OutOfMemory, "there is no device memory for ", name, ": it needs ", describeBytes(bytes), ", and ",
      why, " on '", context.info.name,
      "'. Compile with smaller --max-tokens or --max-sequences, use a smaller model, or close other programs that "
      "use the device.");
}

} // namespace

Result<Memory> Memory::allocate(const Context &context, const MemoryChoice &choice, VkBufferUsageFlags usage,
                                uint64_t bytes, std::string_view name) {
  uint64_t largest = std::min(context.info.maxAllocationBytes, choice.heapBytes);
  if (bytes > largest)
    return outOfMemory(context, name, bytes, str("a single allocation holds at most ", describeBytes(largest)));

  Memory result;
  result.context = &context;
  result.size = bytes;
  const VolkDeviceTable &vk = context.vk;

  VkBufferCreateInfo bufferInfo{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  bufferInfo.size = bytes;
  bufferInfo.usage = usage;
  bufferInfo.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkResult status = vk.vkCreateBuffer(context.device, &bufferInfo, nullptr, &result.handle);
  if (status != VK_SUCCESS)
    return context.error(status, str("creating ", name));

  VkMemoryRequirements needs{};
  vk.vkGetBufferMemoryRequirements(context.device, result.handle, &needs);
  if (!(needs.memoryTypeBits & (1u << choice.type)))
    return makeError(ErrorKind::Unsupported, "'", context.info.name, "' does not allow ", name,
                     " in the memory that its other buffers use.");

  bool addressed = usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocation.pNext = addressed ? &flags : nullptr;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = choice.type;
  status = needs.size > std::min(context.info.maxAllocationBytes, choice.heapBytes)
               ? VK_ERROR_OUT_OF_DEVICE_MEMORY
               : vk.vkAllocateMemory(context.device, &allocation, nullptr, &result.memory);
  if (status == VK_ERROR_OUT_OF_DEVICE_MEMORY || status == VK_ERROR_OUT_OF_HOST_MEMORY)
    return outOfMemory(context, name, bytes, str("too little is free of ", describeBytes(choice.heapBytes), " in all"));
  if (status != VK_SUCCESS)
    return context.error(status, str("allocating ", name));

  status = vk.vkBindBufferMemory(context.device, result.handle, result.memory, 0);
  if (status == VK_SUCCESS && choice.hostWrites) {
    void *pointer = nullptr;
    status = vk.vkMapMemory(context.device, result.memory, 0, VK_WHOLE_SIZE, 0, &pointer);
    result.pointer = static_cast<std::byte *>(pointer);
  }
  if (status != VK_SUCCESS)
    return context.error(status, str("allocating ", name));
  if (addressed) {
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = result.handle;
    result.deviceAddress = vk.vkGetBufferDeviceAddress(context.device, &info);
  }
  return result;
}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(context, other.context);
  std::swap(handle, other.handle);
  std::swap(memory, other.memory);
  std::swap(size, other.size);
  std::swap(deviceAddress, other.deviceAddress);
  std::swap(pointer, other.pointer);
  return *this;
}

Memory::~Memory() {
  if (!context)
    return;
  context->vk.vkDestroyBuffer(context->device, handle, nullptr);
  context->vk.vkFreeMemory(context->device, memory, nullptr); // unmaps as well
}

} // namespace heddle::hal::vulkan
