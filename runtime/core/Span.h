// What the host does when: named pieces of work on its threads, for a program that listens. Where none does, a span
// costs the reading of a flag.
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

// Replaces the sink; an empty one listens to nothing. It is called when a span ends, from any thread, one call at a
// time. Spans that began while there was no sink are left out.
void setSpanSink(SpanSink sink);

// What the calling thread is called in records from here on; "thread N" where it is not named. Threads that live at the
// same time need different names: spans of one name are taken for nested.
void nameThread(std::string name);

// Marks the work from here to the end of the block, for whoever listens to spans.
class Span {
public:
  // The text outlives the span.
  explicit Span(std::string_view name);
  ~Span() {
    if (heard)
      report();
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

  // What is worth knowing of the work.
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
