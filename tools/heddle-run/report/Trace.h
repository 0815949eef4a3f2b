// The launches of a session's last call as a Chrome trace, for chrome://tracing or Perfetto.
#pragma once

#include "runtime/session/Session.h"

#include <filesystem>

namespace heddle::run {

// The session must have been opened with `profile`.
Status writeTrace(Session &session, const std::filesystem::path &path);

} // namespace heddle::run
