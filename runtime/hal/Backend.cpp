#include "runtime/hal/Backend.h"

#include <algorithm>

namespace heddle::hal {

// runtime/CMakeLists.txt lists the backends.
#define HEDDLE_BACKEND(name)                                                                                           \
  namespace name {                                                                                                     \
  const Backend &backend();                                                                                            \
  }
#include "runtime/core/Backends.inc"
#undef HEDDLE_BACKEND

static std::vector<const Backend *> &all() {
  static std::vector<const Backend *> backends = {
#define HEDDLE_BACKEND(name) &name::backend(),
#include "runtime/core/Backends.inc"
#undef HEDDLE_BACKEND
  };
  return backends;
}

std::span<const Backend *const> backends() { return all(); }

void registerBackend(const Backend &backend) { all().push_back(&backend); }

const Backend *findBackend(std::string_view name) {
  auto found = std::ranges::find(all(), name.substr(0, name.find(':')), &Backend::name);
  return found == all().end() ? nullptr : *found;
}

} // namespace heddle::hal
