// A Chrome trace, for Perfetto (ui.perfetto.dev) or chrome://tracing: processes, their threads, and the timed work of
// each.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/core/Status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class ChromeTrace {
public:
  using Time = std::chrono::steady_clock::time_point;

  // The most events that are kept; a trace with that many takes about 50 MB. Later events are dropped.
  static constexpr size_t kMostEvents = 200'000;

  // The program is the first process. The trace's clock starts here. The calling thread becomes "main".
  explicit ChromeTrace(std::string program);
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace &) = delete;
  ChromeTrace &operator=(const ChromeTrace &) = delete;

  // Starts or stops recording the spans of the program's threads (runtime/core/Span.h).
  void listen(bool on);

  // Adds a process beside the program, such as a device. Returns its number, for add().
  int addProcess(std::string name);

  // Adds work of one thread of a process. Events of one thread are nested or disjoint. `values` is a JSON object.
  void add(int process, std::string_view thread, std::string_view name, Time begin, Time end, std::string values);

  // Adds a key and value about the trace as a whole.
  void note(std::string_view key, std::string_view value);

  bool full() const;

  // Replaces the whole file, or leaves it as it was.
  Status write(const std::filesystem::path &path) const;

private:
  struct Event {
    int process, thread;
    std::string name;
    int64_t begin, end; // nanoseconds from the trace's start
    std::string values; // JSON
  };

  mutable std::mutex mutex;
  Time start = std::chrono::steady_clock::now();
  std::vector<std::string> processes;
  std::map<std::pair<int, std::string>, int> threads; // number of the thread, by process and name
  std::vector<Event> events;
  uint64_t left = 0; // events dropped
  std::map<std::string, std::string, std::less<>> notes;
};

} // namespace heddle
