// The process's connection to the Vulkan loader.
#pragma once

#include "runtime/hal/Device.h"

#include <volk.h>

namespace heddle::hal::vulkan {

class Instance {
public:
  // Returns the instance, which all devices of the process share. It is destroyed with the last of them.
  static Result<std::shared_ptr<Instance>> get();

  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;
  ~Instance();

  VkInstance handle() const { return instance; }
  Result<std::vector<VkPhysicalDevice>> physicalDevices() const;

private:
  Instance() = default;
  static Result<std::shared_ptr<Instance>> create();

  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
};

// Returns "VK_ERROR_OUT_OF_DEVICE_MEMORY", or the number of a result that has no name here.
std::string describe(VkResult result);

// Turns a failed call into an Error of the right kind: "<what> failed on '<device>' (VK_ERROR_...)."
Error vulkanError(VkResult result, std::string_view what, std::string_view device);

uint64_t validationMessages();

} // namespace heddle::hal::vulkan
