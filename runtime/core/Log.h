// Where the runtime's few remarks go. A library has no business printing: the program installs a sink.
#pragma once

#include <functional>
#include <string_view>

namespace heddle {

enum class LogLevel { Debug, Info, Warning, Error };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Replaces the sink. The default one prints warnings and errors on stderr; an empty sink silences everything.
// The sink may be called from several threads, one call at a time.
void setLogSink(LogSink sink);

void log(LogLevel level, std::string_view message);

} // namespace heddle
