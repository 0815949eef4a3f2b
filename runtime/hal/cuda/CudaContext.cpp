#include "runtime/hal/cuda/CudaContext.h"

namespace heddle::hal::cuda {
namespace {

// Returns true for errors of a kernel or of the hardware after which this process cannot use the device again.
bool isFinal(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
    return true;
  default: // illegal instructions, misaligned addresses and the like, up to a plain "launch failed"
    return result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED;
  }
}

} // namespace

Error Context::error(CUresult result, std::string_view what) const {
  std::string reason = cuda->describe(result);
  std::lock_guard lock(mutex);
  if (!lost.empty())
    return makeError(ErrorKind::DeviceLost, what, " failed: '", info.name, "' stopped before (", lost,
                     "). Start the program again, from the last checkpoint.");
  if (isFinal(result)) {
    lost = reason;
    return makeError(ErrorKind::DeviceLost, running ? *running : std::string(what), " failed on '", info.name, "' (",
                     reason,
                     "). The contents of its memory are lost; start the program again, from the last checkpoint.",
                     running && running->starts_with("one of")
                         ? " With CUDA_LAUNCH_BLOCKING=1 in the environment the message names the kernel."
                         : "");
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return makeError(ErrorKind::OutOfMemory, what, " failed on '", info.name, "': it is out of memory (", reason,
                     "). Close other programs that use the device, or use a smaller model or batch.");
  return makeError(ErrorKind::Unsupported, what, " failed on '", info.name, "' (", reason, ").");
}

} // namespace heddle::hal::cuda
