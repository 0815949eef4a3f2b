// The CUDA backend's two entrances. The driver's declarations stay behind them.
#pragma once

#include "runtime/hal/Device.h"

#include <optional>

namespace heddle::hal::cuda {

Result<std::vector<DeviceInfo>> listDevices();
Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index);

} // namespace heddle::hal::cuda
