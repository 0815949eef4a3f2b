#include "runtime/artifact/CodeFormat.h"

#include <algorithm>
#include <vector>

namespace heddle {

// runtime/CMakeLists.txt lists the backends.
#define HEDDLE_BACKEND(name)                                                                                           \
  namespace hal::name {                                                                                                \
  const CodeFormat &codeFormat();                                                                                      \
  }
#include "runtime/core/Backends.inc"
#undef HEDDLE_BACKEND

static std::vector<const CodeFormat *> &formats() {
  static std::vector<const CodeFormat *> all = {
#define HEDDLE_BACKEND(name) &hal::name::codeFormat(),
#include "runtime/core/Backends.inc"
#undef HEDDLE_BACKEND
  };
  return all;
}

const CodeFormat *findCodeFormat(std::string_view target) {
  std::string_view backend = target.substr(0, target.find(':'));
  auto found = std::ranges::find(formats(), backend, &CodeFormat::backend);
  return found == formats().end() ? nullptr : *found;
}

void registerCodeFormat(const CodeFormat &format) { formats().push_back(&format); }

} // namespace heddle
