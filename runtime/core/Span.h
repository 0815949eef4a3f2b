// Spans record named pieces of work on the host's threads, with begin and end, for a program that installs a sink.
// Without a sink, a span costs the reading of a flag.
//
//   Span span("compile kernel");
//   span.with("kernel", name);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace heddle {

using SpanValue = std::pair<std::string_view, std::variant<int64_t, double, std::string>>;

struct SpanRecord {
  std::string_view name;
  std::string_view thread;
  std::chrono::steady_clock::time_point begin, end;
  std::span<const SpanValue> values;
};

using SpanSink = std::function<void(const SpanRecord &)>;

// Replaces the sink; an empty sink turns recording off. The sink is called when a span ends, from any thread, one call
// at a time. Spans that began without a sink are not reported.
void setSpanSink(SpanSink sink);

// Sets the calling thread's name for later records; the default is "thread N". Threads that live at the same time need
// different names, because spans with the same thread name are taken to be nested.
void nameThread(std::string name);

// Marks the work from here to the end of the block.
class Span {
public:
  // The text must outlive the span.
  explicit Span(std::string_view name);
  ~Span() {
    if (heard)
      report();
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

  // Attaches a value to the span.
  Span &with(std::string_view key, int64_t value);
  Span &with(std::string_view key, std::string_view value);

private:
  void report();

  std::string_view name;
  bool heard;
  std::chrono::steady_clock::time_point begin;
  std::vector<SpanValue> values;
};

} // namespace heddle
