#include "runtime/core/Status.h"

namespace heddle {

const char *toString(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidArgument:
    return "invalid argument";
  case ErrorKind::NotFound:
    return "not found";
  case ErrorKind::Io:
    return "input/output";
  case ErrorKind::Malformed:
    return "malformed";
  case ErrorKind::Unsupported:
    return "unsupported";
  case ErrorKind::OutOfMemory:
    return "out of memory";
  case ErrorKind::DeviceLost:
    return "device lost";
  }
  return "unknown";
}

} // namespace heddle
