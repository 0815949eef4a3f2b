#include "runtime/core/Environment.h"

#include "runtime/core/Threads.h"

#include <cstdlib>
#include <string_view>

namespace heddle {

Status checkEnvironment() {
  auto valueOf = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  if (std::string_view threads = valueOf("HEDDLE_THREADS"); !threads.empty() && !wantedThreads())
    return makeError(ErrorKind::InvalidArgument, "the environment says HEDDLE_THREADS=", threads,
                     ", which is no whole number from 1 to 1024.");
  for (const char *name : {"HEDDLE_VALIDATION", "HEDDLE_PERF_MAP", "HEDDLE_SEPARATE_VALUES"})
    if (std::string_view value = valueOf(name); !value.empty() && value != "0" && value != "1")
      return makeError(ErrorKind::InvalidArgument, "the environment says ", name, "=", value,
                       ", which is neither 0 nor 1.");
  return Success();
}

} // namespace heddle
