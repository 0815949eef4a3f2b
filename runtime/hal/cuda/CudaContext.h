// The state that all objects of a CUDA device share: the driver, the context, and error reporting.
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/cuda/Driver.h"

#include <mutex>

namespace heddle::hal::cuda {

struct Context {
  const Driver *cuda = nullptr;
  CUdevice device = 0;
  CUcontext primary = nullptr; // shared with other users of the device in this process
  DeviceInfo info;

  // The work that the device is running, for errors that are reported later: "kernel 'add'".
  std::shared_ptr<const std::string> running;

  // Turns a failed call into an Error of the right kind. After some errors the context is unusable and every call
  // fails. Only the first of these is described in full; later ones refer to it.
  Error error(CUresult result, std::string_view what) const;

private:
  mutable std::mutex mutex; // several threads load kernels
  mutable std::string lost; // why the context is unusable; empty if it is not
};

// Makes the context current in this thread. The destructor restores the previous context.
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
