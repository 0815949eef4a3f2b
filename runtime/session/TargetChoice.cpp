#include "runtime/core/Log.h"
#include "runtime/session/SessionState.h"

#include <charconv>
#include <optional>

namespace heddle {
namespace {

constexpr uint32_t vendorNvidia = 0x10de;

// A CUDA architecture: sm_90 runs on compute capability 9.0 and newer, sm_90a on 9.0 alone.
struct Architecture {
  uint32_t capability = 0;
  bool exact = false;
};

std::optional<Architecture> parseArchitecture(std::string_view target) {
  constexpr std::string_view prefix = "cuda:sm_";
  if (!target.starts_with(prefix))
    return std::nullopt;
  std::string_view text = target.substr(prefix.size());
  Architecture architecture;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), architecture.capability);
  std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  architecture.exact = suffix == "a";
  if (error != std::errc() || !(suffix.empty() || architecture.exact))
    return std::nullopt;
  return architecture;
}

// How well code for a target suits a device; 0 where it does not run there.
uint32_t suitability(std::string_view target, const hal::DeviceInfo &device) {
  if (std::optional<Architecture> wanted = parseArchitecture(target)) {
    uint32_t has = device.computeCapability; // 0 of devices that are not CUDA's
    bool runs = wanted->exact ? has == wanted->capability : has >= wanted->capability;
    return has && runs ? 2 * wanted->capability + wanted->exact : 0; // the newest, and best what is made for it alone
  }
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

// What choosing a target for a device came to.
struct Choice {
  const schema::Target *target = nullptr;
  std::string names;   // of all targets
  std::string problem; // of one that would suit
};

Choice choose(const Artifact &artifact, std::string_view wanted, const hal::DeviceInfo &device) {
  Choice choice;
  uint32_t best = 0;
  for (const schema::Target *target : *artifact.module().targets()) {
    std::string_view name = view(target->name());
    choice.names += (choice.names.empty() ? "" : ", ") + std::string(name);
    uint32_t suits = suitability(name, device);
    if (suits <= best || (!wanted.empty() && wanted != name))
      continue;
    std::string misfits;
    for (const schema::Kernel *kernel : *target->kernels())
      if (misfits.empty())
        misfits = misfit(*kernel, device);
    if (!misfits.empty()) {
      choice.problem = str(" (", name, ": ", misfits, ")");
      continue;
    }
    choice.target = target;
    best = suits;
  }
  return choice;
}

// What to compile for, so that the device has code.
std::string advice(const hal::DeviceInfo &device) {
  constexpr uint32_t ampere = 80; // whose instructions the kernels are made of
  if (device.computeCapability < ampere)
    return "vulkan:portable";
  if (device.computeCapability >= 90 && device.computeCapability < 100)
    return "cuda:sm_90a";
  constexpr uint32_t mostOf80 = 163 * 1024; // that kernels for sm_80 may ask for
  return device.maxSharedBytes >= mostOf80 ? "cuda:sm_80" : "cuda:sm_86";
}

} // namespace

std::string chooseDevice(const Artifact &artifact, std::string_view wantedTarget) {
  bool hasVulkan = false, hasCuda = false;
  for (const schema::Target *target : *artifact.module().targets())
    if (wantedTarget.empty() || view(target->name()) == wantedTarget) {
      hasVulkan |= view(target->name()).starts_with("vulkan:");
      hasCuda |= view(target->name()).starts_with("cuda:");
    }
  if (!hasCuda)
    return "vulkan";
  if (!hasVulkan)
    return "cuda"; // or the error that there is none
  Result<std::vector<hal::DeviceInfo>> devices = hal::listDevices();
  std::string reason = devices ? "" : devices.message();
  if (devices)
    for (const hal::DeviceInfo &device : *devices) {
      if (!device.computeCapability || !device.unusable.empty())
        continue;
      Choice choice = choose(artifact, wantedTarget, device);
      if (choice.target)
        return device.id;
      reason = str(device.id, " (", device.name, ", ", device.driver, ") cannot run any of its CUDA targets",
                   choice.problem);
    }
  if (!reason.empty())
    log(LogLevel::Warning, str("'", artifact.origin(), "' has code for CUDA, and Vulkan is used: ", reason));
  return "vulkan";
}

Result<const schema::Target *> chooseTarget(const Artifact &artifact, std::string_view wanted,
                                            const hal::DeviceInfo &device) {
  Choice choice = choose(artifact, wanted, device);
  if (choice.target)
    return choice.target;
  if (!wanted.empty())
    return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no target '", wanted, "' that '", device.id,
                     "' could run. It has: ", choice.names, choice.problem, ".");
  return makeError(ErrorKind::Unsupported, "'", artifact.origin(), "' has no code for '", device.id, "' (", device.name,
                   device.computeCapability ? ", " + device.driver : "", "): its targets are ", choice.names,
                   choice.problem, ". Compile it with --target=", advice(device), ", or use another --device.");
}

} // namespace heddle
