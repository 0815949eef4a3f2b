#include "runtime/hal/Device.h"

#include "runtime/hal/vulkan/VulkanBackend.h"

#include <charconv>
#include <optional>

namespace heddle::hal {

const char *toString(DeviceType type) {
  switch (type) {
  case DeviceType::Cpu:
    return "cpu";
  case DeviceType::IntegratedGpu:
    return "integrated gpu";
  case DeviceType::DiscreteGpu:
    return "discrete gpu";
  case DeviceType::VirtualGpu:
    return "virtual gpu";
  case DeviceType::Other:
    return "other";
  }
  return "other";
}

Result<std::vector<DeviceInfo>> listDevices() { return vulkan::listDevices(); }

Result<std::unique_ptr<Device>> openDevice(std::string_view choice, const DeviceOptions &options) {
  std::string_view backend = choice.substr(0, choice.find(':'));
  std::optional<uint32_t> index;
  if (backend.size() < choice.size()) {
    std::string_view digits = choice.substr(backend.size() + 1);
    uint32_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return makeError(ErrorKind::InvalidArgument, "'", choice,
                       "' is no device: after the colon comes a number, as in '", backend,
                       ":0'. `heddle-run devices` lists what there is.");
    index = value;
  }
  if (backend == "vulkan")
    return vulkan::openDevice(index, options);
  if (backend == "cuda")
    return makeError(ErrorKind::Unsupported, "'", choice,
                     "' asks for CUDA, and this build has no CUDA backend yet. Use "
                     "--device=vulkan; `heddle-run devices` lists what there is.");
  return makeError(ErrorKind::InvalidArgument, "'", choice,
                   "' is no device: known are 'vulkan' and 'vulkan:N'. "
                   "`heddle-run devices` lists what there is.");
}

uint64_t validationMessageCount() { return vulkan::validationMessageCount(); }

} // namespace heddle::hal
