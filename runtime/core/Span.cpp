#include "runtime/core/Span.h"

#include <atomic>
#include <mutex>

namespace heddle {
namespace {

struct Listener {
  std::mutex mutex;
  SpanSink sink;
  std::atomic<bool> present = false;
};

Listener &listener() {
  // Never destroyed: a thread may still report while the process exits.
  static Listener *instance = new Listener;
  return *instance;
}

std::string &threadName() {
  static std::atomic<int> unnamed = 0;
  thread_local std::string name = "thread " + std::to_string(++unnamed);
  return name;
}

} // namespace

void setSpanSink(SpanSink sink) {
  std::lock_guard lock(listener().mutex);
  listener().present = bool(sink);
  listener().sink = std::move(sink);
}

void nameThread(std::string name) { threadName() = std::move(name); }

Span::Span(std::string_view name) : name(name), heard(listener().present.load(std::memory_order_relaxed)) {
  if (heard)
    begin = std::chrono::steady_clock::now();
}

Span &Span::with(std::string_view key, int64_t value) {
  if (heard)
    values.emplace_back(key, value);
  return *this;
}

Span &Span::with(std::string_view key, std::string_view value) {
  if (heard)
    values.emplace_back(key, std::string(value));
  return *this;
}

void Span::report() {
  auto end = std::chrono::steady_clock::now();
  std::lock_guard lock(listener().mutex);
  if (listener().sink)
    listener().sink({name, threadName(), begin, end, values});
}

} // namespace heddle
