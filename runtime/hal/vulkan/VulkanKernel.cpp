#include "runtime/hal/vulkan/VulkanDevice.h"

#include "runtime/hal/ParallelLoad.h"
#include "runtime/schema/Constants.h"

#include <bit>

namespace heddle::hal::vulkan {

// Kernels with the same texel buffers share a layout.
Result<KernelLayout> VulkanDevice::layoutFor(std::span<const uint32_t> texels) {
  KernelLayout &layout = layouts[std::vector(texels.begin(), texels.end())];
  if (layout.pipeline)
    return layout;
  if (!texels.empty() && !layout.descriptors) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t argument : texels)
      bindings.push_back({argument, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    if (VkResult status = context.vk.vkCreateDescriptorSetLayout(context.device, &info, nullptr, &layout.descriptors))
      return context.error(status, "creating a descriptor layout");
  }
  VkPushConstantRange arguments{VK_SHADER_STAGE_COMPUTE_BIT, 0, schema::kMaxBindings * sizeof(uint64_t)};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &arguments;
  info.setLayoutCount = layout.descriptors ? 1 : 0;
  info.pSetLayouts = &layout.descriptors;
  if (VkResult status = context.vk.vkCreatePipelineLayout(context.device, &info, nullptr, &layout.pipeline))
    return context.error(status, "creating a pipeline layout");
  return layout;
}

// A subgroup may be wider than the kernel needs, but a narrower one would separate lanes that exchange values. If the
// device offers a choice, a subgroup has 32 lanes: AMD GPUs that also offer 64 then have twice the registers per lane.
// A workgroup with fewer lanes gets a smaller subgroup, so that no lane is idle.
static uint32_t subgroupWidth(const KernelSource &kernel, const DeviceInfo &device) {
  constexpr uint32_t usual = 32;
  if (kernel.exactSubgroup)
    return kernel.subgroup;
  uint32_t width = device.subgroupSize, wanted = std::bit_ceil(std::min(usual, kernel.lanes));
  if (device.minSubgroupSize < device.maxSubgroupSize)
    width = std::clamp(wanted, device.minSubgroupSize, device.maxSubgroupSize);
  return std::max(width, std::bit_ceil(kernel.subgroup));
}

Result<std::unique_ptr<Executable>> VulkanDevice::loadOne(const KernelSource &kernel, KernelLayout layout) const {
  const VolkDeviceTable &vk = context.vk;
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = kernel.code.size_bytes();
  moduleInfo.pCode = kernel.code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkResult status = vk.vkCreateShaderModule(context.device, &moduleInfo, nullptr, &module);
  if (status == VK_SUCCESS) {
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    if (context.codeReports)
      info.flags =
          VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    info.layout = layout.pipeline;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo width{
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
    width.requiredSubgroupSize = subgroupWidth(kernel, context.info);
    // If lanes exchange values and there are several subgroups, each of them must be full.
    bool full = kernel.subgroup && kernel.lanes > width.requiredSubgroupSize;
    if (full || width.requiredSubgroupSize != context.info.subgroupSize)
      info.stage.pNext = &width;
    if (full)
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    status = vk.vkCreateComputePipelines(context.device, cache, 1, &info, nullptr, &pipeline);
  }
  vk.vkDestroyShaderModule(context.device, module, nullptr);
  if (status != VK_SUCCESS)
    return context.error(status, str("compiling kernel '", kernel.name, "'"));
  return std::unique_ptr<Executable>(std::make_unique<VulkanKernel>(context, pipeline, layout, kernel));
}

Result<std::vector<std::unique_ptr<Executable>>> VulkanDevice::load(std::span<const KernelSource> kernels) {
  std::vector<KernelLayout> kernelLayouts;
  for (const KernelSource &kernel : kernels) {
    HEDDLE_ASSIGN(kernelLayouts.emplace_back(), layoutFor(kernel.texels));
  }
  return loadInParallel(kernels, [&](size_t i) { return loadOne(kernels[i], kernelLayouts[i]); });
}

namespace {

double numberOf(const VkPipelineExecutableStatisticKHR &statistic) {
  switch (statistic.format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
    return statistic.value.b32 ? 1 : 0;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
    return double(statistic.value.i64);
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
    return double(statistic.value.u64);
  default:
    return statistic.value.f64;
  }
}

} // namespace

Result<CodeReport> VulkanDevice::report(const Executable &kernel) const {
  const VolkDeviceTable &vk = context.vk;
  auto failed = [&](VkResult status) { return context.error(status, "asking what a kernel became"); };
  if (!context.codeReports)
    return Device::report(kernel);
  VkPipelineInfoKHR pipeline{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR};
  pipeline.pipeline = static_cast<const VulkanKernel &>(kernel).pipeline;
  // A compute pipeline is one executable.
  uint32_t count = 1;
  VkPipelineExecutablePropertiesKHR properties{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  if (VkResult status = vk.vkGetPipelineExecutablePropertiesKHR(context.device, &pipeline, &count, &properties);
      status < 0 || !count)
    return failed(status);
  CodeReport report;
  report.subgroup = properties.subgroupSize;

  VkPipelineExecutableInfoKHR executable{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
  executable.pipeline = pipeline.pipeline;
  if (VkResult status = vk.vkGetPipelineExecutableStatisticsKHR(context.device, &executable, &count, nullptr))
    return failed(status);
  std::vector<VkPipelineExecutableStatisticKHR> statistics(count,
                                                           {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  if (VkResult status = vk.vkGetPipelineExecutableStatisticsKHR(context.device, &executable, &count, statistics.data()))
    return failed(status);
  for (const VkPipelineExecutableStatisticKHR &statistic : statistics)
    report.numbers.push_back({statistic.name, numberOf(statistic)});

  // The first call returns the sizes, the second the texts.
  auto representations = [&](std::vector<VkPipelineExecutableInternalRepresentationKHR> &texts) {
    return vk.vkGetPipelineExecutableInternalRepresentationsKHR(context.device, &executable, &count,
                                                                texts.empty() ? nullptr : texts.data());
  };
  std::vector<VkPipelineExecutableInternalRepresentationKHR> texts;
  if (VkResult status = representations(texts))
    return failed(status);
  texts.resize(count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR});
  if (VkResult status = texts.empty() ? VK_SUCCESS : representations(texts))
    return failed(status);
  std::vector<std::string> data(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    data[i].resize(texts[i].dataSize);
    texts[i].pData = data[i].data();
  }
  if (VkResult status = texts.empty() ? VK_SUCCESS : representations(texts))
    return failed(status);
  for (size_t i = 0; i < texts.size(); ++i)
    if (texts[i].isText && std::string_view(texts[i].name) == "Assembly")
      report.assembly = std::string(data[i].c_str());
  return report;
}

} // namespace heddle::hal::vulkan
