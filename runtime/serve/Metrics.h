// A server's metrics, in Prometheus' text format.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace heddle::serve {

// A histogram of times in seconds.
class Histogram {
public:
  void add(double seconds);
  void print(std::string &text, const char *name, const char *help) const;

private:
  static constexpr std::array kBounds = {0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                         1.0,   2.5,  5.0,   10.0, 30.0, 60.0, 300.0};

  mutable std::mutex mutex;
  std::array<uint64_t, kBounds.size() + 1> counts{};
  double sum = 0;
};

struct Metrics {
  std::atomic<uint64_t> promptTokens = 0, reusedTokens = 0, generatedTokens = 0, steps = 0, cancelled = 0;
  std::atomic<int64_t> queued = 0, running = 0; // sequences
  Histogram firstToken, whole;

  void countRequest(const std::string &path, int status);
  std::string print(size_t connections) const;

private:
  mutable std::mutex mutex;
  std::map<std::pair<std::string, int>, uint64_t> requests; // key: path and status
};

} // namespace heddle::serve
