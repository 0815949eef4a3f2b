#include "runtime/core/Log.h"
#include "runtime/hal/Backend.h"
#include "runtime/session/SessionState.h"

namespace heddle {
namespace {

// Every device belongs to a backend.
const hal::Backend &backendOf(const hal::DeviceInfo &device) { return *hal::findBackend(device.id); }

// The result of choosing a target for a device.
struct Choice {
  const schema::Target *target = nullptr;
  std::string names;   // the names of all targets
  std::string problem; // why a suitable target cannot run
};

Choice choose(const Artifact &artifact, std::string_view wanted, const hal::DeviceInfo &device) {
  Choice choice;
  const hal::Backend &backend = backendOf(device);
  uint32_t best = 0;
  for (const schema::Target *target : *artifact.module().targets()) {
    std::string_view name = view(target->name());
    choice.names += (choice.names.empty() ? "" : ", ") + std::string(name);
    uint32_t suits = hal::findBackend(name) == &backend ? backend.suitability(name, device) : 0;
    if (!wanted.empty() && wanted != name)
      continue;
    if (hal::findBackend(name) == &backend && suits == 0)
      if (std::string obstacle = backend.obstacle(name, device); !obstacle.empty())
        choice.problem = str(" (", name, ": ", obstacle, ")");
    if (suits <= best)
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

// A device that can run an artifact's code.
struct Candidate {
  std::string id;
  uint32_t preference = 0;
};

// The backend's most preferred device that can run the code, the first among equals. If there is none, and the backend
// has a device or its driver is broken, `reason` says why.
std::optional<Candidate> deviceOf(const hal::Backend &backend, const Artifact &artifact, std::string_view wanted,
                                  std::string &reason) {
  Result<std::vector<hal::DeviceInfo>> devices = backend.listDevices();
  if (!devices && devices.error().kind != ErrorKind::NotFound)
    reason = devices.message();
  std::optional<Candidate> best;
  if (devices)
    for (const hal::DeviceInfo &device : *devices) {
      uint32_t preference = hal::preference(device);
      if (!device.unusable.empty() || (best && preference <= best->preference))
        continue;
      Choice choice = choose(artifact, wanted, device);
      if (choice.target)
        best = {device.id, preference};
      else
        reason = str(device.id, " (", device.name, ", ", device.driver, ") cannot run any of its ", backend.title(),
                     " targets", choice.problem);
    }
  return best;
}

} // namespace

Status checkNativeCode(const Artifact &artifact, std::string_view device) {
  const hal::Backend *backend = hal::findBackend(device);
  if (!backend || !backend->runsNativeCode())
    return Success();
  return makeError(ErrorKind::Unsupported, "'", artifact.origin(), "' is not run on '", device,
                   "': code for a processor can do whatever this process can, and was refused (--no-native-code). "
                   "Compile it with --target=vulkan:portable, choose another --device, or leave the option out if you "
                   "trust whoever made the artifact.");
}

std::string chooseDevice(const Artifact &artifact, std::string_view wantedTarget, bool nativeCode) {
  std::vector<const hal::Backend *> backends;
  const hal::Backend *refused = nullptr;
  for (const hal::Backend *backend : hal::backends())
    for (const schema::Target *target : *artifact.module().targets())
      if (std::string_view name = view(target->name());
          (wantedTarget.empty() || name == wantedTarget) && hal::findBackend(name) == backend) {
        if (nativeCode || !backend->runsNativeCode())
          backends.push_back(backend);
        else
          refused = backend;
        break;
      }
  if (backends.empty()) // chooseTarget() reports the missing code once the device is open
    return std::string((refused ? refused : hal::backends().front())->name());
  if (backends.size() == 1) // opening it fails with an error if it has no device
    return std::string(backends.front()->name());
  constexpr uint32_t mostPreferred = 2; // the search stops here and does not load later backends' drivers
  std::optional<Candidate> best;
  const hal::Backend *bestBackend = backends.back();
  std::vector<std::pair<const hal::Backend *, std::string>> reasons;
  for (const hal::Backend *backend : backends) {
    std::string reason;
    std::optional<Candidate> device = deviceOf(*backend, artifact, wantedTarget, reason);
    if (!device && !reason.empty())
      reasons.emplace_back(backend, std::move(reason));
    if (device && (!best || device->preference > best->preference))
      best = std::move(device), bestBackend = backend;
    if (best && best->preference == mostPreferred)
      break;
  }
  // If no device can run the code, opening the last backend reports the error.
  for (const auto &[backend, reason] : reasons)
    if (backend != bestBackend)
      log(LogLevel::Warning, str("'", artifact.origin(), "' has code for ", backend->title(), ", and ",
                                 bestBackend->title(), " is used: ", reason));
  return best ? best->id : std::string(bestBackend->name());
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
