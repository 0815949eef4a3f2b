// A family of devices that one driver library runs, and the targets whose code they take. A backend is a folder here
// (cuda/, vulkan/, cpu/); docs/targets.md says how to add another.
#pragma once

#include "runtime/hal/Device.h"

namespace heddle::hal {

class Backend {
public:
  virtual ~Backend() = default;

  // What the ids of its devices and the names of its targets begin with, before a colon: "vulkan".
  virtual std::string_view name() const = 0;
  virtual std::string_view title() const = 0;   // for messages: "Vulkan"
  virtual std::string_view library() const = 0; // where its drivers are looked for: "libvulkan.so.1"

  // A machine without the library is NotFound.
  virtual Result<std::vector<DeviceInfo>> listDevices() const = 0;
  // By number, or the best of the usable devices.
  virtual Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index,
                                                     const DeviceOptions &options) const = 0;

  // How well code for one of its targets suits one of its devices: the largest is taken; 0 where it does not run there.
  // Limits of single kernels are checked elsewhere.
  virtual uint32_t suitability(std::string_view target, const DeviceInfo &device) const = 0;
  // Why code for one of its targets does not run on one of its devices, as the end of a sentence; empty where it does,
  // or where there is nothing to say.
  virtual std::string obstacle(std::string_view, const DeviceInfo &) const { return ""; }
  // The target to compile for, so that one of its devices has code.
  virtual std::string advice(const DeviceInfo &device) const = 0;

  // Whether its kernels run in this process, as the host's own instructions: whoever wrote the artifact can then do
  // whatever the process can.
  virtual bool runsNativeCode() const { return false; }

  // See hal::validationMessageCount().
  virtual uint64_t validationMessageCount() const { return 0; }
};

// How much a device is preferred, by its kind: a GPU (2) before a processor (1), and that before a GPU that is emulated
// on the processor (0).
uint32_t preference(const DeviceInfo &device);

// All backends; of devices of one kind those of the first backends are preferred.
std::span<const Backend *const> backends();

// Adds a backend after the others, before the first device is listed or opened. It lives as long as the program.
// Heddle's own are there from the start.
void registerBackend(const Backend &backend);

// The backend of a device by its id ("vulkan:0", "vulkan"), or of a target by its name; null where there is none.
const Backend *findBackend(std::string_view name);

} // namespace heddle::hal
