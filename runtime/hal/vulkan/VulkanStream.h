// The queue of a Vulkan device: submissions in order, a few in flight, and copies between host and device.
#pragma once

#include "runtime/hal/vulkan/VulkanContext.h"

#include <array>
#include <memory>
#include <vector>

namespace heddle::hal::vulkan {

// A part of device memory that a copy writes to.
struct Copy {
  VkBuffer to = VK_NULL_HANDLE;
  uint64_t offset = 0;
  std::span<const std::byte> data;
};

class Stream {
public:
  // What one submission needs of the host: its commands and the bytes it copies, untouched until it is done. With
  // three of them the host prepares a step while the device works on the one before.
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Memory staging;
    uint64_t used = 0; // of a read
    uint64_t done = 0; // the timeline's value once the device is through with it
  };

  static Result<std::unique_ptr<Stream>> create(const Context &context);
  ~Stream();

  // Copies, then runs `program`, after everything submitted before. The data is taken over before this returns.
  Status submit(std::span<const Copy> copies, VkCommandBuffer program);

  Status wait(); // until the queue is empty

  Status write(VkBuffer to, uint64_t offset, std::span<const std::byte> data);
  Status read(VkBuffer from, uint64_t offset, std::span<std::byte> into);
  Status fillZero(VkBuffer buffer);

  // A read that is queued; its slot is the caller's until it is given back, and is none of those that submissions take.
  Result<std::unique_ptr<Slot>> readLater(VkBuffer from, uint64_t offset, uint64_t bytes);
  Result<std::span<const std::byte>> bytesOf(const Slot &slot); // waits for the read
  void giveBack(std::unique_ptr<Slot> slot) { spare.push_back(std::move(slot)); }

private:
  explicit Stream(const Context &context) : context(context) {}
  Status waitFor(uint64_t value);
  Status allocateCommands(Slot &slot);
  Result<Slot *> begin(uint64_t stagingBytes);
  Status open(Slot &slot, uint64_t stagingBytes);
  Status finish(Slot &slot, VkCommandBuffer program);

  const Context &context;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkSemaphore timeline = VK_NULL_HANDLE;
  uint64_t submitted = 0;
  uint64_t completed = 0;
  std::array<Slot, 3> slots;
  std::vector<std::unique_ptr<Slot>> spare; // for reads
  size_t next = 0;
};

// A barrier between two groups of commands.
void recordBarrier(const VolkDeviceTable &vk, VkCommandBuffer commands, VkPipelineStageFlags2 fromStages,
                   VkAccessFlags2 fromAccess, VkPipelineStageFlags2 toStages, VkAccessFlags2 toAccess);

} // namespace heddle::hal::vulkan
