// A backend: a family of devices with a common driver library, and the targets whose code they run. Each backend is a
// folder here (cuda/, vulkan/, cpu/); docs/targets.md says how to add another.
#pragma once

#include "runtime/hal/Device.h"

namespace heddle::hal {

class Backend {
public:
  virtual ~Backend() = default;

  // The part before the colon in the ids of its devices and the names of its targets: "vulkan".
  virtual std::string_view name() const = 0;
  virtual std::string_view title() const = 0;   // for messages: "Vulkan"
  virtual std::string_view library() const = 0; // the driver library: "libvulkan.so.1"

  // Fails with NotFound if the machine does not have the library.
  virtual Result<std::vector<DeviceInfo>> listDevices() const = 0;
  // Opens device number `index`, or the best usable device.
  virtual Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index,
                                                     const DeviceOptions &options) const = 0;

  // Returns how well code for one of its targets suits one of its devices, or 0 if the code does not run there. The
  // session takes the target with the largest value. Limits of single kernels are checked elsewhere.
  virtual uint32_t suitability(std::string_view target, const DeviceInfo &device) const = 0;
  // Returns why code for one of its targets does not run on one of its devices, as the end of a sentence. Empty if the
  // code runs, or if there is nothing to say.
  virtual std::string obstacle(std::string_view, const DeviceInfo &) const { return ""; }
  // Returns the best target to compile for, if the artifact has no code for the device.
  virtual std::string advice(const DeviceInfo &device) const = 0;

  // Returns true if kernels run as instructions of this process. The author of an artifact can then do whatever the
  // process can.
  virtual bool runsNativeCode() const { return false; }

  // See hal::validationMessageCount().
  virtual uint64_t validationMessageCount() const { return 0; }
};

// Ranks kinds of devices: 2 for a GPU, 1 for a processor, 0 for a GPU that is emulated on the processor.
uint32_t preference(const DeviceInfo &device);

// All backends. Among devices of the same kind, those of earlier backends are preferred.
std::span<const Backend *const> backends();

// Adds a backend after the others. It must live as long as the program, and be added before the first device is listed
// or opened. Heddle's own backends need not be registered.
void registerBackend(const Backend &backend);

// Returns the backend of a device's id ("vulkan:0", "vulkan") or of a target's name, or null.
const Backend *findBackend(std::string_view name);

// A device as users name it: "vulkan:1", or "vulkan" for the best of a backend. Fails if the name is none of a device,
// whether there is such a device or not.
struct DeviceChoice {
  const Backend *backend;
  std::optional<uint32_t> index;
};
Result<DeviceChoice> parseDevice(std::string_view name);

} // namespace heddle::hal
