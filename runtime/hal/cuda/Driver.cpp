#include "runtime/hal/cuda/Driver.h"

#include <dlfcn.h>

namespace heddle::hal::cuda {
namespace {

constexpr int oldestVersion = 12000;

Result<Driver> openDriver() {
  // Never closed: drivers keep threads of their own.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(ErrorKind::NotFound, "there is no CUDA on this machine: libcuda.so.1 cannot be opened. It comes "
                                          "with NVIDIA's driver; install the driver, or use --device=vulkan.");
  Driver driver;
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && !missing)
      missing = name;
  };
#define HEDDLE_CUDA_FIND(name, parameters) find(driver.name, #name);
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_FIND)
#undef HEDDLE_CUDA_FIND
  driver.heddleDeclareAccess =
      reinterpret_cast<decltype(driver.heddleDeclareAccess)>(dlsym(library, "heddleDeclareAccess"));
  if (driver.cuDriverGetVersion)
    driver.cuDriverGetVersion(&driver.version);
  if (missing)
    return makeError(ErrorKind::Unsupported, "CUDA cannot be used on this machine: its libcuda.so.1 is of CUDA ",
                     versionText(driver.version), " and lacks the function ", missing, "; Heddle needs CUDA ",
                     versionText(oldestVersion), ". Install a newer driver of NVIDIA's, or use --device=vulkan.");

  CUresult status = driver.cuInit(0);
  if (status == CUDA_SUCCESS)
    status = driver.cuDeviceGetCount(&driver.devices);
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NO_DEVICE)
    return makeError(ErrorKind::Unsupported, "CUDA cannot be used on this machine: its driver (CUDA ",
                     versionText(driver.version), ") does not start (", driver.describe(status),
                     "). `nvidia-smi` may say why; a driver that was just updated needs a restart.");
  return driver;
}

} // namespace

Result<const Driver *> Driver::get() {
  static const Result<Driver> driver = openDriver();
  if (!driver)
    return driver.error();
  return &driver.value();
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return str("CUDA error ", result);
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return str(name, ": ", text);
}

std::string versionText(int version) { return str(version / 1000, ".", version % 1000 / 10); }

} // namespace heddle::hal::cuda
