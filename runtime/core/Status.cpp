#include "runtime/core/Status.h"

namespace heddle {

const char *toString(ErrorKind kind) {
  constexpr const char *names[] = {"invalid argument", "not found",     "input/output", "malformed",
                                   "unsupported",      "out of memory", "device lost"}; // in the order of ErrorKind
  return names[size_t(kind)];
}

} // namespace heddle
