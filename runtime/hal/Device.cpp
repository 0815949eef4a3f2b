#include "runtime/hal/Device.h"

#include "runtime/core/Log.h"
#include "runtime/hal/cuda/CudaBackend.h"
#include "runtime/hal/vulkan/VulkanBackend.h"

#include <algorithm>
#include <charconv>
#include <iterator>
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

Result<std::unique_ptr<Buffer>> Device::allocate(std::string_view name, uint64_t bytes) {
  HEDDLE_ASSIGN(std::unique_ptr<Buffer> buffer, newBuffer(name, bytes));
  buffer->use = &use;
  use.bytes += buffer->size;
  use.peak = std::max(use.peak, use.bytes);
  return buffer;
}

Result<CodeReport> Device::report(const Executable &) const {
  return makeError(ErrorKind::Unsupported, "the driver of '", info().id, "' (", info().name,
                   ") does not tell what kernels become.");
}

Result<std::vector<DeviceInfo>> listDevices() {
  std::vector<DeviceInfo> devices;
  std::optional<Error> broken;
  for (auto list : {cuda::listDevices, vulkan::listDevices}) {
    Result<std::vector<DeviceInfo>> found = list();
    if (found)
      std::ranges::move(*found, std::back_inserter(devices));
    else if (found.error().kind != ErrorKind::NotFound && !broken)
      broken = std::move(found).error();
  }
  if (broken && devices.empty())
    return std::move(*broken);
  if (broken)
    log(LogLevel::Warning, broken->message);
  return devices;
}

Result<std::unique_ptr<Device>> openDevice(std::string_view choice, const DeviceOptions &options) {
  std::string_view backend = choice.substr(0, choice.find(':'));
  std::optional<uint32_t> index;
  if (backend.size() < choice.size()) {
    std::string_view digits = choice.substr(backend.size() + 1);
    uint32_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return makeError(ErrorKind::InvalidArgument, "'", choice,
                       "' is not a device: after the colon comes a number, as in '", backend,
                       ":0'. `heddle-run devices` lists the devices.");
    index = value;
  }
  if (backend == "vulkan")
    return vulkan::openDevice(index, options);
  if (backend == "cuda")
    return cuda::openDevice(index);
  return makeError(ErrorKind::InvalidArgument, "'", choice,
                   "' is not a device: the choices are 'vulkan', 'vulkan:N', 'cuda' and 'cuda:N'. "
                   "`heddle-run devices` lists the devices.");
}

uint64_t validationMessageCount() { return vulkan::validationMessageCount(); }

} // namespace heddle::hal
