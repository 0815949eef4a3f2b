#include "runtime/hal/vulkan/VulkanDevice.h"

#include "runtime/core/Tensor.h"

namespace heddle::hal::vulkan {

// WorkgroupCount has the layout of Vulkan's indirect counts, so counts are copied unchanged.
static_assert(sizeof(WorkgroupCount) == sizeof(VkDispatchIndirectCommand));

VulkanProgram::~VulkanProgram() {
  (void)stream.wait(); // the device may still be running it
  context.vk.vkDestroyQueryPool(context.device, queries, nullptr);
  context.vk.vkDestroyDescriptorPool(context.device, descriptors, nullptr);
  for (auto &[range, view] : views)
    context.vk.vkDestroyBufferView(context.device, view, nullptr);
  context.vk.vkDestroyCommandPool(context.device, pool, nullptr);
}

Status VulkanProgram::allocateDescriptors(std::span<const Launch> launches) {
  uint32_t sets = 0, bindings = 0;
  for (const Launch &launch : launches)
    if (size_t count = static_cast<const VulkanKernel *>(launch.kernel)->texels.size()) {
      sets += 1;
      bindings += static_cast<uint32_t>(count);
    }
  if (!sets)
    return Success();
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, bindings};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = sets;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  if (VkResult status = context.vk.vkCreateDescriptorPool(context.device, &info, nullptr, &descriptors))
    return context.error(status, "creating a descriptor pool");
  return Success();
}

static VkFormat formatOf(uint32_t texelFloats) {
  return texelFloats == 1   ? VK_FORMAT_R32_SFLOAT
         : texelFloats == 2 ? VK_FORMAT_R32G32_SFLOAT
                            : VK_FORMAT_R32G32B32A32_SFLOAT;
}

Result<VkBufferView> VulkanProgram::view(const Argument &argument, uint32_t texelFloats) {
  VkBuffer buffer = static_cast<const VulkanBuffer *>(argument.buffer)->memory.buffer();
  VkBufferView &view = views[{buffer, argument.offset, argument.bytes, texelFloats}];
  if (view)
    return view;
  uint64_t texelBytes = uint64_t(4) * texelFloats;
  if (argument.bytes / texelBytes > context.maxTexels || argument.offset % context.texelAlignment)
    return makeError(ErrorKind::Unsupported, "a kernel reads ", describeBytes(argument.bytes), " at offset ",
                     argument.offset, " as texels, and '", context.info.name, "' allows ", context.maxTexels,
                     " texels of ", texelBytes, " bytes at multiples of ", context.texelAlignment,
                     " bytes. Compile for another target, or with smaller --max-tokens.");
  VkBufferViewCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
  info.buffer = buffer;
  info.format = formatOf(texelFloats);
  info.offset = argument.offset;
  info.range = argument.bytes;
  if (VkResult status = context.vk.vkCreateBufferView(context.device, &info, nullptr, &view))
    return context.error(status, "creating a texel buffer");
  return view;
}

Result<VkDescriptorSet> VulkanProgram::bindTexels(const Launch &launch) {
  const auto &kernel = static_cast<const VulkanKernel &>(*launch.kernel);
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = descriptors;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &kernel.layout.descriptors;
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (VkResult status = context.vk.vkAllocateDescriptorSets(context.device, &allocate, &set))
    return context.error(status, "creating a descriptor set");
  std::vector<VkBufferView> bound(kernel.texels.size());
  std::vector<VkWriteDescriptorSet> writes;
  for (size_t i = 0; i < bound.size(); ++i) {
    assert(kernel.texels[i] < launch.arguments.size());
    HEDDLE_ASSIGN(bound[i], view(launch.arguments[kernel.texels[i]], kernel.texelFloats));
    VkWriteDescriptorSet &write = writes.emplace_back(VkWriteDescriptorSet{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET});
    write.dstSet = set;
    write.dstBinding = kernel.texels[i];
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    write.pTexelBufferView = &bound[i];
  }
  context.vk.vkUpdateDescriptorSets(context.device, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
  return set;
}

Status VulkanProgram::record(std::span<const Launch> launches, uint32_t counts, bool timed) {
  const VolkDeviceTable &vk = context.vk;
  countCount = counts;
  HEDDLE_CHECK(allocateDescriptors(launches));
  HEDDLE_ASSIGN(indirect,
                Memory::allocate(context, context.deviceMemory,
                                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                 std::max<uint64_t>(1, counts) * sizeof(WorkgroupCount), "the workgroup counts"));
  if (timed && context.timestampBits && !launches.empty()) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = queryCount = static_cast<uint32_t>(launches.size() + 1);
    if (VkResult status = vk.vkCreateQueryPool(context.device, &info, nullptr, &queries))
      return context.error(status, "creating a query pool");
  }

  // The program has a pool of its own, because its commands live and are freed together.
  VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  poolInfo.queueFamilyIndex = context.queueFamily;
  if (VkResult status = vk.vkCreateCommandPool(context.device, &poolInfo, nullptr, &pool))
    return context.error(status, "creating a command pool");
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  if (VkResult status = vk.vkAllocateCommandBuffers(context.device, &allocate, &commands))
    return context.error(status, "creating a command buffer");

  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  // The next step may be submitted while the last one still runs.
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  if (VkResult status = vk.vkBeginCommandBuffer(commands, &begin))
    return context.error(status, "recording commands");
  auto stamp = [&](uint32_t index) {
    if (queries)
      vk.vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, index);
  };
  if (queries)
    vk.vkCmdResetQueryPool(commands, queries, 0, queryCount);
  stamp(0);

  VkPipeline bound = VK_NULL_HANDLE;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch &launch = launches[i];
    assert(launch.count < counts);
    // Timed launches must not overlap, or their times would mean nothing.
    if (i && (launch.barrier || queries))
      recordBarrier(vk, commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                    VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                    VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                        VK_ACCESS_2_SHADER_SAMPLED_READ_BIT);
    const auto &kernel = static_cast<const VulkanKernel &>(*launch.kernel);
    if (kernel.pipeline != bound)
      vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound = kernel.pipeline);
    if (!kernel.texels.empty()) {
      HEDDLE_ASSIGN(VkDescriptorSet set, bindTexels(launch));
      vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout.pipeline, 0, 1, &set, 0,
                                 nullptr);
    }
    std::vector<uint64_t> addresses;
    for (const Argument &argument : launch.arguments)
      addresses.push_back(argument.buffer->address() + argument.offset);
    if (!addresses.empty())
      vk.vkCmdPushConstants(commands, kernel.layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            static_cast<uint32_t>(addresses.size() * sizeof(uint64_t)), addresses.data());
    vk.vkCmdDispatchIndirect(commands, indirect.buffer(), launch.count * sizeof(WorkgroupCount));
    stamp(static_cast<uint32_t>(i + 1));
  }
  // Lets the host read the results in place after it has waited.
  recordBarrier(vk, commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
  if (VkResult status = vk.vkEndCommandBuffer(commands))
    return context.error(status, "recording commands");
  return Success();
}

Status VulkanProgram::submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) {
  assert(counts.size() == countCount);
  std::vector<Copy> copies;
  copies.reserve(uploads.size() + 1);
  for (const Upload &upload : uploads) {
    assert(upload.offset <= upload.to->bytes() && upload.data.size() <= upload.to->bytes() - upload.offset);
    copies.push_back({static_cast<VulkanBuffer *>(upload.to)->memory.buffer(), upload.offset, upload.data});
  }
  copies.push_back({indirect.buffer(), 0, std::as_bytes(counts)});
  return stream.submit(copies, commands);
}

Result<std::vector<LaunchTime>> VulkanProgram::launchTimes() {
  HEDDLE_CHECK(stream.wait());
  if (!queries)
    return makeError(ErrorKind::Unsupported, "'", context.info.name,
                     "' cannot time launches, or this program was not "
                     "recorded with times.");
  std::vector<uint64_t> stamps(queryCount);
  if (VkResult status = context.vk.vkGetQueryPoolResults(context.device, queries, 0, queryCount, stamps.size() * 8,
                                                         stamps.data(), 8, VK_QUERY_RESULT_64_BIT))
    return context.error(status, "reading the launch times");
  std::vector<LaunchTime> times(queryCount - 1);
  auto nanoseconds = [&](uint64_t stamp) { return static_cast<uint64_t>(stamp * context.timestampPeriod); };
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = {nanoseconds(stamps[i]), nanoseconds(stamps[i + 1])};
  return times;
}

} // namespace heddle::hal::vulkan
