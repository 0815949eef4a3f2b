#include "runtime/session/SessionState.h"

namespace heddle {
namespace {

constexpr uint32_t vendorNvidia = 0x10de;

// How well code for a target suits a device; 0 where it is for another backend.
int suitability(std::string_view target, const hal::DeviceInfo &device) {
  if (!target.starts_with("vulkan:") || !device.id.starts_with("vulkan:"))
    return 0;
  if (target == "vulkan:software" && device.type == hal::DeviceType::Cpu)
    return 4;
  if (target == "vulkan:nvidia" && device.vendorId == vendorNvidia)
    return 4;
  if (target == "vulkan:portable")
    return 3;
  // Made for another kind of device: right in principle, and its own limits are checked when its kernels load.
  return target == "vulkan:software" ? 2 : 1;
}

} // namespace

Result<const schema::Target *> chooseTarget(const Artifact &artifact, std::string_view wanted,
                                            const hal::DeviceInfo &device) {
  const schema::Target *best = nullptr;
  int bestSuitability = 0;
  std::string names, problem;
  for (const schema::Target *target : *artifact.module().targets()) {
    std::string_view name = view(target->name());
    names += (names.empty() ? "" : ", ") + std::string(name);
    int suits = suitability(name, device);
    if (suits <= bestSuitability || (!wanted.empty() && wanted != name))
      continue;
    std::string misfits;
    for (const schema::Kernel *kernel : *target->kernels())
      if (misfits.empty())
        misfits = misfit(*kernel, device);
    if (!misfits.empty()) {
      problem = str(" (", name, ": ", misfits, ")");
      continue;
    }
    best = target;
    bestSuitability = suits;
  }
  if (!best && !wanted.empty())
    return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no target '", wanted, "' that '", device.id,
                     "' could run. It has: ", names, problem, ".");
  if (!best)
    return makeError(ErrorKind::Unsupported, "'", artifact.origin(), "' has no code for '", device.id, "' (",
                     device.name, "): its targets are ", names, problem,
                     ". Compile it with --target=vulkan:portable, or use another --device.");
  return best;
}

} // namespace heddle
