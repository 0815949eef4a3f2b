// A Chrome trace, for Perfetto (ui.perfetto.dev) or chrome://tracing: processes, their threads, and what each did when.
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

  // So many events at most; a trace of them takes about 50 MB, and what comes later is left out.
  static constexpr size_t kMostEvents = 200'000;

  // The program is the first process; its clock begins here. The calling thread becomes "main".
  explicit ChromeTrace(std::string program);
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace &) = delete;
  ChromeTrace &operator=(const ChromeTrace &) = delete;

  // Takes up the spans of the program's threads (runtime/core/Span.h), or lets them go.
  void listen(bool on);

  // A process beside the program, which work is added to by its number: a device.
  int addProcess(std::string name);

  // Work of one thread of a process; events of one thread are nested or apart. `values` is a JSON object.
  void add(int process, std::string_view thread, std::string_view name, Time begin, Time end, std::string values);

  // Something worth knowing of the whole, by a key.
  void note(std::string_view key, std::string_view value);

  bool full() const;

  // Replaces the file as a whole, or leaves it as it was.
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
  std::map<std::pair<int, std::string>, int> threads; // a process and a name: its number
  std::vector<Event> events;
  uint64_t left = 0; // out
  std::map<std::string, std::string, std::less<>> notes;
};

} // namespace heddle
