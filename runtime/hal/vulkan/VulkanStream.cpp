#include "runtime/hal/vulkan/VulkanStream.h"

#include "runtime/core/Tensor.h"

#include <algorithm>
#include <cstring>

namespace heddle::hal::vulkan {
namespace {

// Copies smaller than this travel inside the command buffer (vkCmdUpdateBuffer) and need no staging memory.
constexpr uint64_t inlineLimit = 4096;
constexpr uint64_t transferChunk = uint64_t(16) << 20;
constexpr uint64_t stagingAlignment = 64;

bool travelsInline(const Copy &copy) {
  return copy.data.size() <= inlineLimit && copy.data.size() % 4 == 0 && copy.offset % 4 == 0;
}

} // namespace

void recordBarrier(const VolkDeviceTable &vk, VkCommandBuffer commands, VkPipelineStageFlags2 fromStages,
                   VkAccessFlags2 fromAccess, VkPipelineStageFlags2 toStages, VkAccessFlags2 toAccess) {
  VkMemoryBarrier2 barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
  barrier.srcStageMask = fromStages;
  barrier.srcAccessMask = fromAccess;
  barrier.dstStageMask = toStages;
  barrier.dstAccessMask = toAccess;
  VkDependencyInfo dependency{VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
  dependency.memoryBarrierCount = 1;
  dependency.pMemoryBarriers = &barrier;
  vk.vkCmdPipelineBarrier2(commands, &dependency);
}

Result<std::unique_ptr<Stream>> Stream::create(const Context &context) {
  std::unique_ptr<Stream> stream(new Stream(context));
  const VolkDeviceTable &vk = context.vk;
  vk.vkGetDeviceQueue(context.device, context.queueFamily, 0, &stream->queue);

  VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  poolInfo.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  poolInfo.queueFamilyIndex = context.queueFamily;
  if (VkResult status = vk.vkCreateCommandPool(context.device, &poolInfo, nullptr, &stream->pool))
    return context.error(status, "creating a command pool");
  for (Slot &slot : stream->slots)
    HEDDLE_CHECK(stream->allocateCommands(slot));

  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  semaphore.pNext = &type;
  if (VkResult status = vk.vkCreateSemaphore(context.device, &semaphore, nullptr, &stream->timeline))
    return context.error(status, "creating a semaphore");
  return stream;
}

Stream::~Stream() {
  context.vk.vkDeviceWaitIdle(context.device);
  context.vk.vkDestroySemaphore(context.device, timeline, nullptr);
  context.vk.vkDestroyCommandPool(context.device, pool, nullptr);
}

Status Stream::allocateCommands(Slot &slot) {
  VkCommandBufferAllocateInfo buffers{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  buffers.commandPool = pool;
  buffers.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  buffers.commandBufferCount = 1;
  if (VkResult status = context.vk.vkAllocateCommandBuffers(context.device, &buffers, &slot.commands))
    return context.error(status, "creating a command buffer");
  return Success();
}

Status Stream::waitFor(uint64_t value) {
  if (value <= completed)
    return Success();
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline;
  info.pValues = &value;
  if (VkResult status = context.vk.vkWaitSemaphores(context.device, &info, UINT64_MAX))
    return context.error(status, "waiting for the device");
  completed = value;
  return Success();
}

Status Stream::wait() { return waitFor(submitted); }

Result<Stream::Slot *> Stream::begin(uint64_t stagingBytes) {
  Slot &slot = slots[next];
  next = (next + 1) % slots.size();
  HEDDLE_CHECK(open(slot, stagingBytes));
  return &slot;
}

Status Stream::open(Slot &slot, uint64_t stagingBytes) {
  HEDDLE_CHECK(waitFor(slot.done));
  if (stagingBytes > slot.staging.bytes()) {
    slot.staging = Memory(); // freed before its larger successor is allocated
    HEDDLE_ASSIGN(slot.staging, Memory::allocate(context, context.stagingMemory,
                                                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                                 std::max(stagingBytes, inlineLimit), "a copy to the device"));
  }
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (VkResult status = context.vk.vkBeginCommandBuffer(slot.commands, &info))
    return context.error(status, "recording commands");
  // All earlier work must be done, and its writes visible, because submissions share all memory.
  recordBarrier(context.vk, slot.commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT);
  return Success();
}

Status Stream::finish(Slot &slot, VkCommandBuffer program) {
  recordBarrier(
      context.vk, slot.commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
      VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
      VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_SHADER_SAMPLED_READ_BIT |
          VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_2_HOST_READ_BIT);
  if (VkResult status = context.vk.vkEndCommandBuffer(slot.commands))
    return context.error(status, "recording commands");

  VkCommandBufferSubmitInfo commands[2] = {{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO},
                                           {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO}};
  commands[0].commandBuffer = slot.commands;
  commands[1].commandBuffer = program;
  VkSemaphoreSubmitInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO};
  signal.semaphore = timeline;
  signal.value = submitted + 1;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSubmitInfo2 info{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  info.commandBufferInfoCount = program ? 2 : 1;
  info.pCommandBufferInfos = commands;
  info.signalSemaphoreInfoCount = 1;
  info.pSignalSemaphoreInfos = &signal;
  if (VkResult status = context.vk.vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE))
    return context.error(status, "submitting work");
  slot.done = ++submitted;
  return Success();
}

Status Stream::submit(std::span<const Copy> copies, VkCommandBuffer program) {
  uint64_t stagingBytes = 0;
  auto aligned = [](uint64_t bytes) { return (bytes + stagingAlignment - 1) / stagingAlignment * stagingAlignment; };
  for (const Copy &copy : copies)
    stagingBytes += travelsInline(copy) ? 0 : aligned(copy.data.size());

  HEDDLE_ASSIGN(Slot * slot, begin(stagingBytes));
  uint64_t used = 0;
  for (const Copy &copy : copies) {
    if (copy.data.empty())
      continue;
    if (travelsInline(copy)) {
      context.vk.vkCmdUpdateBuffer(slot->commands, copy.to, copy.offset, copy.data.size(), copy.data.data());
      continue;
    }
    std::memcpy(slot->staging.mapped() + used, copy.data.data(), copy.data.size());
    VkBufferCopy region{used, copy.offset, copy.data.size()};
    context.vk.vkCmdCopyBuffer(slot->commands, slot->staging.buffer(), copy.to, 1, &region);
    used += aligned(copy.data.size());
  }
  return finish(*slot, program);
}

Status Stream::write(VkBuffer to, uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    Copy copy{to, offset, data.first(std::min<uint64_t>(data.size(), transferChunk))};
    HEDDLE_CHECK(submit({&copy, 1}, VK_NULL_HANDLE));
    offset += copy.data.size();
    data = data.subspan(copy.data.size());
  }
  return Success();
}

Status Stream::read(VkBuffer from, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    uint64_t bytes = std::min<uint64_t>(into.size(), transferChunk);
    HEDDLE_ASSIGN(Slot * slot, begin(bytes));
    VkBufferCopy region{offset, 0, bytes};
    context.vk.vkCmdCopyBuffer(slot->commands, from, slot->staging.buffer(), 1, &region);
    HEDDLE_CHECK(finish(*slot, VK_NULL_HANDLE));
    HEDDLE_CHECK(waitFor(slot->done));
    std::memcpy(into.data(), slot->staging.mapped(), bytes);
    offset += bytes;
    into = into.subspan(bytes);
  }
  return Success();
}

Result<std::unique_ptr<Stream::Slot>> Stream::readLater(VkBuffer from, uint64_t offset, uint64_t bytes) {
  std::unique_ptr<Slot> slot;
  if (!spare.empty()) {
    slot = std::move(spare.back());
    spare.pop_back();
  } else {
    slot = std::make_unique<Slot>();
    HEDDLE_CHECK(allocateCommands(*slot));
  }
  slot->used = bytes;
  HEDDLE_CHECK(open(*slot, std::max<uint64_t>(bytes, 1)));
  if (bytes > 0) {
    VkBufferCopy region{offset, 0, bytes};
    context.vk.vkCmdCopyBuffer(slot->commands, from, slot->staging.buffer(), 1, &region);
  }
  HEDDLE_CHECK(finish(*slot, VK_NULL_HANDLE));
  return slot;
}

Result<std::span<const std::byte>> Stream::bytesOf(const Slot &slot) {
  HEDDLE_CHECK(waitFor(slot.done));
  return std::span<const std::byte>(slot.staging.mapped(), slot.used);
}

Status Stream::fillZero(VkBuffer buffer) {
  HEDDLE_ASSIGN(Slot * slot, begin(0));
  context.vk.vkCmdFillBuffer(slot->commands, buffer, 0, VK_WHOLE_SIZE, 0);
  return finish(*slot, VK_NULL_HANDLE);
}

} // namespace heddle::hal::vulkan
