#include "runtime/core/Log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace heddle {
namespace {

void printImportant(LogLevel level, std::string_view message) {
  if (level < LogLevel::Warning)
    return;
  const char *label = level == LogLevel::Warning ? "warning" : "error";
  std::fprintf(stderr, "heddle: %s: %.*s\n", label, static_cast<int>(message.size()), message.data());
}

struct Logger {
  std::mutex mutex;
  LogSink sink = printImportant;
};

Logger &logger() {
  // Never destroyed: a driver's thread may still log while the process exits.
  static Logger *instance = new Logger;
  return *instance;
}

} // namespace

void setLogSink(LogSink sink) {
  std::lock_guard lock(logger().mutex);
  logger().sink = std::move(sink);
}

void log(LogLevel level, std::string_view message) {
  std::lock_guard lock(logger().mutex);
  if (logger().sink)
    logger().sink(level, message);
}

} // namespace heddle
