#include "runtime/hal/Device.h"

#include "runtime/core/Log.h"
#include "runtime/hal/Backend.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace heddle::hal {

const char *toString(DeviceType type) {
  constexpr const char *names[] = {"cpu", "integrated gpu", "discrete gpu", "virtual gpu", "other"};
  return names[size_t(type)];
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

Result<std::string> Device::groupEngine() const {
  return makeError(ErrorKind::Unsupported, "'", info().id, "' (", info().name,
                   ") exchanges no numbers with other devices by itself.");
}

Result<GroupId> Device::newGroupId() const { return groupEngine().error(); }

Result<std::unique_ptr<DeviceGroup>> Device::joinGroup(const GroupId &, uint32_t, uint32_t) {
  return groupEngine().error();
}

uint32_t preference(const DeviceInfo &device) { return device.emulated ? 0 : device.type == DeviceType::Cpu ? 1 : 2; }

Result<std::vector<DeviceInfo>> listDevices() {
  std::vector<DeviceInfo> devices;
  std::optional<Error> broken;
  for (const Backend *backend : backends()) {
    Result<std::vector<DeviceInfo>> found = backend->listDevices();
    if (found)
      std::ranges::move(*found, std::back_inserter(devices));
    else if (found.error().kind != ErrorKind::NotFound && !broken)
      broken = std::move(found).error();
  }
  if (broken && devices.empty())
    return std::move(*broken);
  std::ranges::stable_sort(devices, std::ranges::greater(), preference);
  if (broken)
    log(LogLevel::Warning, broken->message);
  return devices;
}

Result<DeviceChoice> parseDevice(std::string_view choice) {
  std::string_view name = choice.substr(0, choice.find(':'));
  std::optional<uint32_t> index;
  if (name.size() < choice.size()) {
    std::string_view digits = choice.substr(name.size() + 1);
    uint32_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return makeError(ErrorKind::InvalidArgument, "'", choice,
                       "' is not a device: after the colon comes a number, as in '", name,
                       ":0'. `heddle-run devices` lists the devices.");
    index = value;
  }
  if (const Backend *backend = findBackend(name))
    return DeviceChoice{backend, index};
  std::string choices;
  for (const Backend *backend : backends())
    choices += str(choices.empty() ? "" : ", ", "'", backend->name(), "', '", backend->name(), ":N'");
  return makeError(ErrorKind::InvalidArgument, "'", choice, "' is not a device: the choices are ", choices,
                   ". `heddle-run devices` lists the devices.");
}

Result<std::unique_ptr<Device>> openDevice(std::string_view choice, const DeviceOptions &options) {
  HEDDLE_ASSIGN(DeviceChoice device, parseDevice(choice));
  return device.backend->openDevice(device.index, options);
}

uint64_t validationMessageCount() {
  uint64_t count = 0;
  for (const Backend *backend : backends())
    count += backend->validationMessageCount();
  return count;
}

} // namespace heddle::hal
