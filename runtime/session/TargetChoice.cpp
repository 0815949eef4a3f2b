#include "runtime/core/Log.h"
#include "runtime/hal/Backend.h"
#include "runtime/session/SessionState.h"

namespace heddle {
namespace {

// Every device is a backend's.
const hal::Backend &backendOf(const hal::DeviceInfo &device) { return *hal::findBackend(device.id); }

// What choosing a target for a device came to.
struct Choice {
  const schema::Target *target = nullptr;
  std::string names;   // of all targets
  std::string problem; // of one that would suit
};

Choice choose(const Artifact &artifact, std::string_view wanted, const hal::DeviceInfo &device) {
  Choice choice;
  const hal::Backend &backend = backendOf(device);
  uint32_t best = 0;
  for (const schema::Target *target : *artifact.module().targets()) {
    std::string_view name = view(target->name());
    choice.names += (choice.names.empty() ? "" : ", ") + std::string(name);
    uint32_t suits = hal::findBackend(name) == &backend ? backend.suitability(name, device) : 0;
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

// The best device of a backend that has one, or why code for it cannot run; no reason where there is no such device.
std::optional<std::string> deviceOf(const hal::Backend &backend, const Artifact &artifact, std::string_view wanted,
                                    std::string &reason) {
  Result<std::vector<hal::DeviceInfo>> devices = backend.listDevices();
  if (!devices && devices.error().kind != ErrorKind::NotFound)
    reason = devices.message();
  if (devices)
    for (const hal::DeviceInfo &device : *devices) {
      if (!device.unusable.empty())
        continue;
      Choice choice = choose(artifact, wanted, device);
      if (choice.target)
        return device.id;
      reason = str(device.id, " (", device.name, ", ", device.driver, ") cannot run any of its ", backend.title(),
                   " targets", choice.problem);
    }
  return std::nullopt;
}

} // namespace

std::string chooseDevice(const Artifact &artifact, std::string_view wantedTarget) {
  std::vector<const hal::Backend *> backends;
  for (const hal::Backend *backend : hal::backends())
    for (const schema::Target *target : *artifact.module().targets())
      if (std::string_view name = view(target->name());
          (wantedTarget.empty() || name == wantedTarget) && hal::findBackend(name) == backend) {
        backends.push_back(backend);
        break;
      }
  if (backends.empty()) // what it has no code for is told when the device is open
    return std::string(hal::backends().back()->name());
  // The last is taken in any case: it has a device, or its error says that there is none.
  const hal::Backend &last = *backends.back();
  backends.pop_back();
  for (const hal::Backend *backend : backends) {
    std::string reason;
    if (std::optional<std::string> device = deviceOf(*backend, artifact, wantedTarget, reason))
      return *device;
    if (!reason.empty())
      log(LogLevel::Warning, str("'", artifact.origin(), "' has code for ", backend->title(), ", and ", last.title(),
                                 " is used: ", reason));
  }
  return std::string(last.name());
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
                   ", ", device.driver, "): its targets are ", choice.names, choice.problem,
                   ". Compile it with --target=", backendOf(device).advice(device), ", or use another --device.");
}

} // namespace heddle
