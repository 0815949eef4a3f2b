// What every object of one CUDA device needs: the driver, the context, and how its errors are told.
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/cuda/Driver.h"

#include <mutex>

namespace heddle::hal::cuda {

struct Context {
  const Driver *cuda = nullptr;
  CUdevice device = 0;
  CUcontext primary = nullptr; // shared with whatever else in the process uses the device
  DeviceInfo info;

  // What the device works on, for errors that show later: "kernel 'add'".
  std::shared_ptr<const std::string> running;

  // Turns a failed call into an Error of the right kind. After some errors a context is of no use any more and every
  // call fails; the first is told in full, later ones refer to it.
  Error error(CUresult result, std::string_view what) const;

private:
  mutable std::mutex mutex; // kernels are loaded by several threads
  mutable std::string lost; // why the context is of no use
};

// Makes the context current in this thread, and the one before it again at the end.
class Current {
public:
  explicit Current(const Context &context) : context(context) {
    context.cuda->cuCtxGetCurrent(&before);
    if (before != context.primary)
      context.cuda->cuCtxSetCurrent(context.primary);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    if (before != context.primary)
      context.cuda->cuCtxSetCurrent(before);
  }

private:
  const Context &context;
  CUcontext before = nullptr;
};

} // namespace heddle::hal::cuda
