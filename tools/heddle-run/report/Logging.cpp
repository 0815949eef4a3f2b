#include "tools/heddle-run/report/Logging.h"

#include "runtime/core/Log.h"

#include <cstdio>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

namespace heddle::run {

void startLogging() {
  auto logger =
      std::make_shared<spdlog::logger>("heddle-run", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
  logger->set_pattern("heddle-run: %v");
  logger->flush_on(spdlog::level::trace);
  setLogSink([logger](LogLevel level, std::string_view message) {
    switch (level) {
    case LogLevel::Debug:
      return;
    case LogLevel::Info:
      return logger->info("{}", message);
    case LogLevel::Warning:
      return logger->warn("warning: {}", message);
    case LogLevel::Error:
      return logger->error("error: {}", message);
    }
  });
}

void logOnlyProblems() {
  setLogSink([](LogLevel level, std::string_view message) {
    if (level >= LogLevel::Error)
      std::fprintf(stderr, "heddle-run: %.*s\n", int(message.size()), message.data());
  });
}

} // namespace heddle::run
