// A Vulkan device.
#pragma once

#include "runtime/hal/vulkan/VulkanStream.h"

#include <map>
#include <tuple>
#include <vector>

namespace heddle::hal::vulkan {

class VulkanBuffer : public Buffer {
public:
  VulkanBuffer(Memory owned, Stream &stream) : memory(std::move(owned)), stream(stream) {
    size = memory.bytes();
    deviceAddress = memory.address();
  }
  ~VulkanBuffer() override { (void)stream.wait(); } // the device may still be using it

  const Memory memory;

private:
  Stream &stream;
};

// The layout of a kernel's arguments: addresses in push constants, and texel buffers for some of them.
struct KernelLayout {
  VkDescriptorSetLayout descriptors = VK_NULL_HANDLE; // null if there are no texel buffers
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

class VulkanKernel : public Executable {
public:
  VulkanKernel(const Context &context, VkPipeline pipeline, KernelLayout layout, const KernelSource &source)
      : pipeline(pipeline), layout(layout), texels(source.texels.begin(), source.texels.end()),
        texelFloats(source.texelFloats), context(context) {}
  ~VulkanKernel() override { context.vk.vkDestroyPipeline(context.device, pipeline, nullptr); }

  const VkPipeline pipeline;
  const KernelLayout layout; // owned by the device
  const std::vector<uint32_t> texels;
  const uint32_t texelFloats;

private:
  const Context &context;
};

class VulkanProgram : public Program {
public:
  VulkanProgram(const Context &context, Stream &stream) : context(context), stream(stream) {}
  ~VulkanProgram() override;

  Status record(std::span<const Launch> launches, uint32_t counts, bool timed);
  Status submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) override;
  Result<std::vector<LaunchTime>> launchTimes() override;

private:
  Status allocateDescriptors(std::span<const Launch> launches);
  Result<VkDescriptorSet> bindTexels(const Launch &launch);
  Result<VkBufferView> view(const Argument &argument, uint32_t texelFloats);

  const Context &context;
  Stream &stream;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkDescriptorPool descriptors = VK_NULL_HANDLE;
  // By buffer, offset, bytes, and f32 of a texel.
  std::map<std::tuple<VkBuffer, uint64_t, uint64_t, uint32_t>, VkBufferView> views;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  uint32_t queryCount = 0;
  uint32_t countCount = 0;
  Memory indirect; // the workgroup counts, written on the queue before every run
};

class VulkanReadback : public Readback {
public:
  VulkanReadback(Stream &stream, std::unique_ptr<Stream::Slot> slot) : stream(stream), slot(std::move(slot)) {}
  ~VulkanReadback() override { stream.giveBack(std::move(slot)); }
  Result<std::span<const std::byte>> bytes() override { return stream.bytesOf(*slot); }

private:
  Stream &stream;
  std::unique_ptr<Stream::Slot> slot;
};

class VulkanDevice : public Device {
public:
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<Instance> instance, VkPhysicalDevice physical,
                                              DeviceInfo info, const DeviceOptions &options);
  ~VulkanDevice() override;

  const DeviceInfo &info() const override { return context.info; }
  Result<std::vector<std::unique_ptr<Executable>>> load(std::span<const KernelSource> kernels) override;
  Result<CodeReport> report(const Executable &kernel) const override;
  Result<std::unique_ptr<Program>> record(std::span<const Launch> launches, uint32_t counts, bool timed) override;
  Status wait() override;
  Status write(Buffer &to, uint64_t offset, std::span<const std::byte> data) override;
  Status read(const Buffer &from, uint64_t offset, std::span<std::byte> into) override;
  Result<std::unique_ptr<Readback>> readLater(const Buffer &from, uint64_t offset, uint64_t bytes) override;

private:
  Result<std::unique_ptr<Buffer>> newBuffer(std::string_view name, uint64_t bytes) override;
  VulkanDevice() = default;
  Status requireMemory() const;
  Result<KernelLayout> layoutFor(std::span<const uint32_t> texels);
  Result<std::unique_ptr<Executable>> loadOne(const KernelSource &kernel, KernelLayout layout) const;

  Context context;
  std::map<std::vector<uint32_t>, KernelLayout> layouts; // by the arguments that are texel buffers
  VkPipelineCache cache = VK_NULL_HANDLE;
  std::unique_ptr<Stream> stream; // null on a device that only compiles
};

} // namespace heddle::hal::vulkan
