// The launches of a call as a Chrome trace, for chrome://tracing or Perfetto.
#pragma once

#include "runtime/session/Session.h"

#include <filesystem>

namespace heddle::run {

Status writeTrace(const std::vector<LaunchProfile> &launches, const std::filesystem::path &path);

} // namespace heddle::run
