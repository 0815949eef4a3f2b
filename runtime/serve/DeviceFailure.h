// Remembers why a device no longer works, so that all threads know.
#pragma once

#include "runtime/core/Status.h"

#include <mutex>
#include <string>

namespace heddle::serve {

class DeviceFailure {
public:
  // Does nothing unless the device is lost: after other errors it works on.
  void note(const Error &error) {
    if (error.kind != ErrorKind::DeviceLost)
      return;
    std::lock_guard lock(mutex);
    reason = error.message;
  }
  // Empty if the device works.
  std::string get() const {
    std::lock_guard lock(mutex);
    return reason;
  }

private:
  mutable std::mutex mutex;
  std::string reason;
};

} // namespace heddle::serve
