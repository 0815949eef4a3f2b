#include "tools/heddle-compile/NativeTargets.h"

#include "runtime/hal/Backend.h"

#include <algorithm>

::heddle::Result<std::vector<std::string>> mlir::heddle::findNativeTargets() {
  HEDDLE_ASSIGN(std::vector<::heddle::hal::DeviceInfo> devices, ::heddle::hal::listDevices());
  std::ranges::stable_sort(devices, std::ranges::greater(), ::heddle::hal::preference);
  std::vector<std::string> targets;
  for (const ::heddle::hal::DeviceInfo &device : devices) {
    if (device.emulated || !device.unusable.empty() || device.compilesOnly)
      continue;
    std::string target = ::heddle::hal::findBackend(device.id)->advice(device);
    if (std::ranges::find(targets, target) == targets.end())
      targets.push_back(std::move(target));
  }
  if (targets.empty())
    return ::heddle::makeError(::heddle::ErrorKind::NotFound,
                               "this machine has no GPU and no processor that Heddle compiles for; name a target: "
                               "--target=vulkan:software runs on Mesa's software driver, --help lists the others");
  return targets;
}
