// Vulkan's devices, and the targets for them.
#include "runtime/hal/Backend.h"
#include "runtime/hal/vulkan/Features.h"
#include "runtime/hal/vulkan/VulkanDevice.h"

namespace heddle::hal::vulkan {

namespace {

// The targets for GPUs of a vendor, with the PCI vendor id.
constexpr struct {
  std::string_view target;
  uint32_t vendorId;
} makers[] = {{"vulkan:nvidia", 0x10de}, {"vulkan:amd", 0x1002}, {"vulkan:intel", 0x8086}};

bool usable(const DeviceInfo &info, const DeviceOptions &options) {
  return info.unusable.empty() || (info.compilesOnly && options.codeReports);
}

class VulkanBackend final : public Backend {
public:
  std::string_view name() const override { return "vulkan"; }
  std::string_view title() const override { return "Vulkan"; }
  std::string_view library() const override { return "libvulkan.so.1"; }
  Result<std::vector<DeviceInfo>> listDevices() const override;
  Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index,
                                             const DeviceOptions &options) const override;
  uint32_t suitability(std::string_view target, const DeviceInfo &device) const override;
  std::string advice(const DeviceInfo &device) const override;
  uint64_t validationMessageCount() const override { return validationMessages(); }
};

} // namespace

uint32_t VulkanBackend::suitability(std::string_view target, const DeviceInfo &device) const {
  if (target == "vulkan:software" && device.type == DeviceType::Cpu)
    return 4;
  for (const auto &maker : makers)
    if (target == maker.target && device.vendorId == maker.vendorId)
      return 4;
  if (target == "vulkan:portable")
    return 3;
  // Code for another kind of device runs in principle. Its limits are checked when its kernels are loaded.
  return target == "vulkan:software" ? 2 : 1;
}

std::string VulkanBackend::advice(const DeviceInfo &device) const {
  constexpr uint32_t softwareLanes = 8; // lavapipe has them, SwiftShader has 4
  bool isSoftware = device.type == DeviceType::Cpu && device.maxSubgroupSize >= softwareLanes;
  return isSoftware ? "vulkan:software" : "vulkan:portable";
}

Result<std::vector<DeviceInfo>> VulkanBackend::listDevices() const {
  HEDDLE_ASSIGN(std::shared_ptr<Instance> instance, Instance::get());
  HEDDLE_ASSIGN(std::vector<VkPhysicalDevice> devices, instance->physicalDevices());
  std::vector<DeviceInfo> infos;
  for (uint32_t i = 0; i < devices.size(); ++i)
    infos.push_back(describeDevice(instance->handle(), devices[i], i));
  return infos;
}

Result<std::unique_ptr<Device>> VulkanBackend::openDevice(std::optional<uint32_t> index,
                                                          const DeviceOptions &options) const {
  HEDDLE_ASSIGN(std::shared_ptr<Instance> instance, Instance::get());
  HEDDLE_ASSIGN(std::vector<VkPhysicalDevice> devices, instance->physicalDevices());
  if (devices.empty())
    return makeError(ErrorKind::NotFound,
                     "there is no Vulkan device on this machine: the loader found no driver for its "
                     "hardware. Install a driver (Debian: mesa-vulkan-drivers has a driver for processors), or check "
                     "VK_ICD_FILENAMES and VK_DRIVER_FILES.");
  if (index && *index >= devices.size())
    return makeError(ErrorKind::NotFound, "there is no device 'vulkan:", *index, "': this machine has ", devices.size(),
                     " Vulkan device", devices.size() == 1 ? "" : "s",
                     ", numbered from 0. `heddle-run devices` lists "
                     "the devices.");

  std::vector<DeviceInfo> infos;
  for (uint32_t i = 0; i < devices.size(); ++i)
    infos.push_back(describeDevice(instance->handle(), devices[i], i));
  if (!index) {
    // Prefers discrete GPUs, then other GPUs, then processors; among equals, the driver's order.
    auto rank = [&](const DeviceInfo &info) {
      if (!usable(info, options))
        return 0;
      return info.type == DeviceType::DiscreteGpu ? 3 : info.type == DeviceType::Cpu ? 1 : 2;
    };
    index = 0;
    for (uint32_t i = 1; i < infos.size(); ++i)
      if (rank(infos[i]) > rank(infos[*index]))
        index = i;
  }
  DeviceInfo &info = infos[*index];
  if (!usable(info, options))
    return makeError(ErrorKind::Unsupported, "'", info.id, "' (", info.name, ", ", info.driver,
                     ") cannot run Heddle: ", info.unusable, ".");
  return VulkanDevice::open(std::move(instance), devices[*index], std::move(info), options);
}

const Backend &backend() {
  static const VulkanBackend backend;
  return backend;
}

} // namespace heddle::hal::vulkan
