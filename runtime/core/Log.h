// The runtime's log. A library should not print, so the program installs a sink.
#pragma once

#include <functional>
#include <string_view>

namespace heddle {

enum class LogLevel { Debug, Info, Warning, Error };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Replaces the sink. The default sink prints warnings and errors on stderr; an empty sink silences everything.
// Several threads may call the sink, but only one at a time.
void setLogSink(LogSink sink);

void log(LogLevel level, std::string_view message);

} // namespace heddle
