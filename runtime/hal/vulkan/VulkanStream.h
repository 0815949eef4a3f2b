// The queue of a Vulkan device. It runs submissions in order, with a few in flight, and copies between host and device.
#pragma once

#include "runtime/hal/vulkan/VulkanContext.h"

#include <array>
#include <memory>
#include <vector>

namespace heddle::hal::vulkan {

// A copy of host bytes to a place in device memory.
struct Copy {
  VkBuffer to = VK_NULL_HANDLE;
  uint64_t offset = 0;
  std::span<const std::byte> data;
};

class Stream {
public:
  // The host's part of a submission: its commands and the bytes that it copies, unchanged until it is done. With three
  // slots the host can prepare a step while the device runs the previous one.
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Memory staging;
    uint64_t used = 0; // bytes of a read
    uint64_t done = 0; // the timeline's value when the submission is done
  };

  static Result<std::unique_ptr<Stream>> create(const Context &context);
  ~Stream();

  // Queues the copies and then `program`, after all earlier submissions. Copies the data before it returns.
  Status submit(std::span<const Copy> copies, VkCommandBuffer program);

  Status wait(); // until the queue is empty

  Status write(VkBuffer to, uint64_t offset, std::span<const std::byte> data);
  Status read(VkBuffer from, uint64_t offset, std::span<std::byte> into);
  Status fillZero(VkBuffer buffer);

  // Queues a read. The caller owns its slot, which submissions do not use, until giveBack().
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

// Records a barrier between two groups of commands.
void recordBarrier(const VolkDeviceTable &vk, VkCommandBuffer commands, VkPipelineStageFlags2 fromStages,
                   VkAccessFlags2 fromAccess, VkPipelineStageFlags2 toStages, VkAccessFlags2 toAccess);

} // namespace heddle::hal::vulkan
