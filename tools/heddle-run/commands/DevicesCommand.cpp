#include "tools/heddle-run/commands/Commands.h"

#include "runtime/core/Tensor.h"
#include "runtime/hal/Device.h"

#include <cstdio>

namespace heddle::run {

Status runDevices() {
  HEDDLE_ASSIGN(std::vector<hal::DeviceInfo> devices, hal::listDevices());
  if (devices.empty()) {
    std::puts(
        "no devices: Heddle looks for Vulkan drivers through libvulkan.so.1, and for NVIDIA's through libcuda.so.1");
    return Success();
  }
  for (const hal::DeviceInfo &device : devices) {
    std::printf("%s  %s (%s), %s, subgroups of %u, memory %s\n", device.id.c_str(), device.name.c_str(),
                hal::toString(device.type), device.driver.c_str(), device.subgroupSize,
                describeBytes(device.memoryBytes).c_str());
    for (uint32_t side : device.cooperativeSides)
      std::printf("  cooperative matrices of %u x %u x %u, f16 with sums of f32\n", side, side, side);
    if (!device.unusable.empty())
      std::printf("  cannot be used: %s\n", device.unusable.c_str());
  }
  return Success();
}

} // namespace heddle::run
