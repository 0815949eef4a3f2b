#include "runtime/hal/vulkan/Instance.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace heddle::hal::vulkan {
namespace {

constexpr const char *validationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<uint64_t> messageCount = 0;

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                         const VkDebugUtilsMessengerCallbackDataEXT *data, void *) {
  // The loader also reports drivers that it could not open. That is worth printing, but it is not a mistake of ours.
  if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT)
    ++messageCount;
  const char *label = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? "error" : "warning";
  std::fprintf(stderr, "heddle: vulkan validation %s: %s\n", label, data->pMessage);
  return VK_FALSE;
}

bool validationWanted() {
  const char *value = std::getenv("HEDDLE_VALIDATION");
  return value && *value && std::strcmp(value, "0") != 0;
}

bool hasLayer(const char *name) {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [&](const auto &layer) { return !strcmp(layer.layerName, name); });
}

} // namespace

uint64_t validationMessages() { return messageCount; }

Result<std::shared_ptr<Instance>> Instance::get() {
  static std::mutex mutex;
  static std::weak_ptr<Instance> shared;
  std::lock_guard lock(mutex);
  if (std::shared_ptr<Instance> existing = shared.lock())
    return existing;
  HEDDLE_ASSIGN(std::shared_ptr<Instance> created, create());
  shared = created;
  return created;
}

Result<std::shared_ptr<Instance>> Instance::create() {
  if (volkInitialize() != VK_SUCCESS)
    return makeError(
        ErrorKind::NotFound,
        "there is no Vulkan on this machine: libvulkan.so.1 cannot be opened. "
        "Install the Vulkan loader (Debian: libvulkan1) and a driver (mesa-vulkan-drivers has a driver for "
        "processors).");

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "heddle";
  application.pEngineName = "heddle";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &enabled;
  VkDebugUtilsMessengerCreateInfoEXT messengerInfo{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messengerInfo.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messengerInfo.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
  messengerInfo.pfnUserCallback = onMessage;
  const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};

  bool validate = validationWanted();
  if (validate) {
    if (!hasLayer(validationLayer))
      return makeError(ErrorKind::Unsupported, "HEDDLE_VALIDATION is set, and the layer ", validationLayer,
                       " is not installed (Debian: vulkan-validationlayers). Install it or unset the variable.");
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
    // Also in the chain, so that creating and destroying the instance itself is validated.
    features.pNext = &messengerInfo;
    info.pNext = &features;
  }

  std::shared_ptr<Instance> result(new Instance);
  VkResult created = vkCreateInstance(&info, nullptr, &result->instance);
  if (created != VK_SUCCESS) {
    result->instance = VK_NULL_HANDLE;
    // A loader without drivers counts as no loader: nothing is broken.
    bool isAbsent = created == VK_ERROR_INCOMPATIBLE_DRIVER;
    return makeError(isAbsent ? ErrorKind::NotFound : ErrorKind::Unsupported,
                     "Vulkan cannot be used on this machine: its loader is there, but no driver "
                     "works with it (",
                     describe(created),
                     "). Install a driver (Debian: mesa-vulkan-drivers), or check "
                     "VK_ICD_FILENAMES and VK_DRIVER_FILES.");
  }
  volkLoadInstance(result->instance);
  if (validate)
    vkCreateDebugUtilsMessengerEXT(result->instance, &messengerInfo, nullptr, &result->messenger);
  return result;
}

Instance::~Instance() {
  if (messenger)
    vkDestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
  if (instance)
    vkDestroyInstance(instance, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::physicalDevices() const {
  uint32_t count = 0;
  VkResult result = vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (result == VK_SUCCESS && count)
    result = vkEnumeratePhysicalDevices(instance, &count, devices.data());
  if (result == VK_ERROR_INITIALIZATION_FAILED)
    return std::vector<VkPhysicalDevice>(); // the drivers that are installed found no hardware
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return vulkanError(result, "listing the devices", "vulkan");
  devices.resize(count);
  return devices;
}

std::string describe(VkResult result) {
  switch (result) {
#define HEDDLE_RESULT(name)                                                                                            \
  case name:                                                                                                           \
    return #name;
    HEDDLE_RESULT(VK_SUCCESS)
    HEDDLE_RESULT(VK_TIMEOUT)
    HEDDLE_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
    HEDDLE_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    HEDDLE_RESULT(VK_ERROR_INITIALIZATION_FAILED)
    HEDDLE_RESULT(VK_ERROR_DEVICE_LOST)
    HEDDLE_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
    HEDDLE_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
    HEDDLE_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
    HEDDLE_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
    HEDDLE_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
    HEDDLE_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
    HEDDLE_RESULT(VK_ERROR_INVALID_SHADER_NV)
    HEDDLE_RESULT(VK_ERROR_UNKNOWN)
#undef HEDDLE_RESULT
  default:
    return str("VkResult ", static_cast<int>(result));
  }
}

Error vulkanError(VkResult result, std::string_view what, std::string_view device) {
  switch (result) {
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return makeError(ErrorKind::OutOfMemory, what, " failed on '", device, "': it is out of memory (", describe(result),
                     "). Close other programs that use the device, or use a smaller model or batch.");
  case VK_ERROR_DEVICE_LOST:
    return makeError(ErrorKind::DeviceLost, what, " failed: the device '", device, "' stopped answering (",
                     describe(result),
                     "). A kernel ran too long or the driver failed; the contents of its memory are lost. "
                     "Start again from the last checkpoint.");
  default:
    return makeError(ErrorKind::Unsupported, what, " failed on '", device, "' (", describe(result), ").");
  }
}

} // namespace heddle::hal::vulkan
