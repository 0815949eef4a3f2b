// The Vulkan backend's two entrances. Vulkan headers stay behind them.
#pragma once

#include "runtime/hal/Device.h"

#include <optional>

namespace heddle::hal::vulkan {

Result<std::vector<DeviceInfo>> listDevices();
Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index, const DeviceOptions &options);
uint64_t validationMessageCount();

} // namespace heddle::hal::vulkan
