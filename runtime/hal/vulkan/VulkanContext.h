// The state that all objects of a Vulkan device share: the handles, the function table, the memory types.
#pragma once

#include "runtime/hal/vulkan/Instance.h"

namespace heddle::hal::vulkan {

// A memory type, and whether the host can access it in place.
struct MemoryChoice {
  uint32_t type = 0;
  uint64_t heapBytes = 0;
  bool hostWrites = false; // mapped and coherent
  bool hostReads = false;  // also cached: reading uncached memory is slower than copying it first
};

struct Context {
  std::shared_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VolkDeviceTable vk{};
  DeviceInfo info;
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t texelAlignment = 1; // of a texel buffer's offset, in bytes
  uint64_t maxTexels = 0;      // of one texel buffer
  uint32_t queueFamily = 0;
  double timestampPeriod = 1; // nanoseconds per tick
  uint32_t timestampBits = 0;
  bool codeReports = false;

  MemoryChoice deviceMemory;  // for buffers that kernels use
  MemoryChoice stagingMemory; // host memory that the device copies from and to

  Error error(VkResult result, std::string_view what) const { return vulkanError(result, what, info.name); }
};

// A VkBuffer with its memory. It is mapped for its whole life if the host can access it.
class Memory {
public:
  static Result<Memory> allocate(const Context &context, const MemoryChoice &choice, VkBufferUsageFlags usage,
                                 uint64_t bytes, std::string_view name);
  Memory() = default;
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();

  VkBuffer buffer() const { return handle; }
  uint64_t bytes() const { return size; }
  uint64_t address() const { return deviceAddress; }
  std::byte *mapped() const { return pointer; } // null if the host cannot write in place

private:
  const Context *context = nullptr;
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size = 0;
  uint64_t deviceAddress = 0;
  std::byte *pointer = nullptr;
};

} // namespace heddle::hal::vulkan
