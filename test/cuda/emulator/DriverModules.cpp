// The driver API of modules and kernels.
#include "test/cuda/emulator/DriverState.h"
#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Registers.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace heddle::emulator;

namespace {

struct LogBuffer {
  char *text = nullptr;
  size_t size = 0;
  void **sizeValue = nullptr;

  void write(const std::string &message) const {
    size_t used = 0;
    if (text && size) {
      used = std::min(size - 1, message.size());
      std::memcpy(text, message.data(), used);
      text[used] = '\0';
    }
    // The number of bytes written replaces the given size.
    if (sizeValue)
      *sizeValue = reinterpret_cast<void *>(used);
  }
};

} // namespace

HEDDLE_CUDA_API cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  Call call;
  if (call.error())
    return call.error();
  if (!module || !image || (count && (!options || !values)))
    return kErrorInvalidValue;
  LogBuffer errors, info;
  for (unsigned i = 0; i < count; ++i) {
    auto size = static_cast<size_t>(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i])));
    if (options[i] == kJitErrorLogBuffer)
      errors.text = static_cast<char *>(values[i]);
    else if (options[i] == kJitErrorLogBufferBytes)
      errors.size = size, errors.sizeValue = &values[i];
    else if (options[i] == kJitInfoLogBuffer)
      info.text = static_cast<char *>(values[i]);
    else if (options[i] == kJitInfoLogBufferBytes)
      info.size = size, info.sizeValue = &values[i];
  }
  // A cubin, a fat binary, or other data that is not text.
  const auto *bytes = static_cast<const unsigned char *>(image);
  uint32_t magic = 0;
  for (unsigned i = 0; i < 4 && (i == 0 || bytes[i - 1]); ++i)
    magic |= uint32_t(bytes[i]) << (8 * i);
  if (magic == 0x464c457f || magic == 0xba55ed50 || magic == 0x466243b1) {
    errors.write("the emulator runs PTX only");
    const char *error = std::getenv("HEDDLE_EMULATOR_CUBIN_ERROR");
    return error && *error ? static_cast<int>(std::strtol(error, nullptr, 10)) : kErrorNoBinaryForGpu;
  }
  if (!std::isspace(bytes[0]) && bytes[0] != '/' && bytes[0] != '.')
    return kErrorInvalidImage;
  try {
    auto loaded = std::make_unique<LoadedModule>(static_cast<const char *>(image), Driver::get().target);
    errors.write("");
    info.write("");
    call.context().modules.insert(loaded.get());
    *module = loaded.release();
    return kSuccess;
  } catch (const TargetError &error) {
    errors.write(error.what());
    return kErrorNoBinaryForGpu;
  } catch (const PtxError &error) {
    errors.write(error.what());
    return kErrorInvalidPtx;
  } catch (const std::exception &error) {
    errors.write(error.what());
    return kErrorUnknown;
  }
}

HEDDLE_CUDA_API cuModuleLoadData(void **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

HEDDLE_CUDA_API cuModuleUnload(void *handle) {
  Call call;
  if (call.error())
    return call.error();
  auto *module = static_cast<LoadedModule *>(handle);
  if (!call.context().modules.erase(module))
    return kErrorInvalidHandle;
  std::erase_if(call.context().kernels, [&](Kernel *kernel) { return kernel->module == module; });
  delete module;
  return kSuccess;
}

HEDDLE_CUDA_API cuModuleGetFunction(void **function, void *handle, const char *name) {
  Call call;
  if (call.error())
    return call.error();
  auto *module = static_cast<LoadedModule *>(handle);
  if (!function || !name || !*name)
    return kErrorInvalidValue;
  if (!call.context().modules.count(module))
    return kErrorInvalidHandle;
  Kernel *kernel = module->find(name);
  if (!kernel)
    return kErrorNotFound;
  if (call.context().kernels.insert(kernel).second)
    kernel->maxDynamicBytes = kStaticSharedLimit - std::min(kStaticSharedLimit, kernel->layout.sharedBytes);
  *function = kernel;
  return kSuccess;
}

HEDDLE_CUDA_API cuModuleGetGlobal_v2(DevicePointer *pointer, size_t *bytes, void *handle, const char *name) {
  Call call;
  if (call.error())
    return call.error();
  auto *module = static_cast<LoadedModule *>(handle);
  if (!name)
    return kErrorInvalidValue;
  if (!call.context().modules.count(module))
    return kErrorInvalidHandle;
  uint64_t address = 0, size = 0;
  if (!module->findGlobal(name, address, size))
    return kErrorNotFound;
  if (pointer)
    *pointer = address;
  if (bytes)
    *bytes = size;
  return kSuccess;
}

HEDDLE_CUDA_API cuFuncSetAttribute(void *function, int attribute, int value) {
  Call call;
  if (call.error())
    return call.error();
  auto *kernel = static_cast<Kernel *>(function);
  if (!call.context().kernels.count(kernel))
    return kErrorInvalidHandle;
  if (attribute == kFunctionPreferredSharedCarveout)
    return value >= -1 && value <= 100 ? kSuccess : kErrorInvalidValue;
  if (attribute != kFunctionMaxDynamicSharedBytes || value < 0 ||
      static_cast<uint64_t>(value) + kernel->layout.sharedBytes > Driver::get().sharedOptin())
    return kErrorInvalidValue;
  kernel->maxDynamicBytes = static_cast<uint32_t>(value);
  return kSuccess;
}

HEDDLE_CUDA_API cuFuncGetAttribute(int *value, int attribute, void *function) {
  Call call;
  if (call.error())
    return call.error();
  auto *kernel = static_cast<Kernel *>(function);
  if (!call.context().kernels.count(kernel))
    return kErrorInvalidHandle;
  if (!value)
    return kErrorInvalidValue;
  auto target = static_cast<int>(Driver::get().target);
  const std::map<int, int> attributes = {
      {kFunctionMaxThreadsPerBlock,
       attribute == kFunctionMaxThreadsPerBlock ? static_cast<int>(kernel->mostThreads()) : 0},
      {kFunctionSharedBytes, static_cast<int>(kernel->layout.sharedBytes)},
      {kFunctionConstBytes, static_cast<int>(kernel->layout.paramBytes)},
      {kFunctionLocalBytes, static_cast<int>(kernel->layout.localBytes)},
      {kFunctionRegisters, attribute == kFunctionRegisters ? static_cast<int>(kernel->registers()) : 0},
      {kFunctionPtxVersion, target},
      {kFunctionBinaryVersion, target},
      {kFunctionCacheModeCa, 0},
      {kFunctionMaxDynamicSharedBytes, static_cast<int>(kernel->maxDynamicBytes)},
      {kFunctionPreferredSharedCarveout, -1},
  };
  auto found = attributes.find(attribute);
  if (found == attributes.end())
    return kErrorInvalidValue;
  *value = found->second;
  return kSuccess;
}

HEDDLE_CUDA_API cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                               unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *handle, void **parameters,
                               void **extra) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  const uint32_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  Operation operation;
  if (int error = makeLaunch(call.context(), function, grid, block, sharedBytes, parameters, extra, operation))
    return error;
  return submit(call.context(), *stream, std::move(operation));
}

HEDDLE_CUDA_API cuLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **extra) {
  Call call;
  if (call.error())
    return call.error();
  if (!config || (config->attributeCount && !config->attributes))
    return kErrorInvalidValue;
  Stream *stream = findStream(call.context(), config->stream);
  if (!stream)
    return kErrorInvalidHandle;
  const uint32_t grid[] = {config->gridX, config->gridY, config->gridZ};
  const uint32_t block[] = {config->blockX, config->blockY, config->blockZ};
  Operation operation;
  if (int error = makeLaunch(call.context(), function, grid, block, config->sharedBytes, parameters, extra, operation))
    return error;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.kind == kAttributeIgnore)
      continue;
    if (attribute.kind == kAttributeProgrammaticSerialization) {
      // A graph would need edges of another kind. Plain edges are stricter.
      operation.dependent = attribute.programmatic && !stream->capture;
      continue;
    }
    if (attribute.kind != kAttributeClusterDimension)
      return kErrorNotSupported;
    if (int error = setCluster(operation, attribute.cluster))
      return error;
  }
  return submit(call.context(), *stream, std::move(operation));
}
