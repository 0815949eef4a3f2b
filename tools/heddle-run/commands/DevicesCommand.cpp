#include "tools/heddle-run/commands/Commands.h"

#include "runtime/core/Tensor.h"
#include "runtime/hal/Backend.h"

#include <cstdio>

namespace heddle::run {

Status runDevices() {
  HEDDLE_ASSIGN(std::vector<hal::DeviceInfo> devices, hal::listDevices());
  if (devices.empty()) {
    std::string libraries;
    for (const hal::Backend *backend : hal::backends())
      libraries += str(libraries.empty() ? "" : ", ", "for ", backend->title(), " through ", backend->library());
    std::printf("no devices: Heddle looks for drivers %s\n", libraries.c_str());
    return Success();
  }
  for (const hal::DeviceInfo &device : devices) {
    std::string processors =
        device.processors ? str(device.processors, device.processors == 1 ? " processor, " : " processors, ") : "";
    std::string most;
    if (device.maxAllocationBytes && device.maxAllocationBytes < device.memoryBytes)
      most = str(", at most ", device.maxAllocationBytes >> 20, " MiB at once");
    std::printf("%s  %s (%s), %s, %ssubgroups of %u, memory %s%s\n", device.id.c_str(), device.name.c_str(),
                hal::toString(device.type), device.driver.c_str(), processors.c_str(), device.subgroupSize,
                describeBytes(device.memoryBytes).c_str(), most.c_str());
    for (uint32_t side : device.cooperativeSides)
      std::printf("  cooperative matrices of %u x %u x %u, f16 with sums of f32\n", side, side, side);
    if (!device.unusable.empty())
      std::printf("  cannot be used: %s\n", device.unusable.c_str());
  }
  return Success();
}

} // namespace heddle::run
