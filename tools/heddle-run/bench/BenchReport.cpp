#include "tools/heddle-run/bench/BenchReport.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[512];
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

} // namespace

BenchReport::BenchReport(const Session &session) {
  record = {{"device", session.device().name},
            {"driver", session.device().driver},
            {"target", session.target()},
            {"entries", Json::array()}};
}

void BenchReport::add(const EntryMeasurement &entry) {
  Json kernels = Json::array();
  for (const KernelMeasurement &kernel : entry.kernels)
    kernels.push_back({{"kernel", kernel.name}, {"launches", kernel.launches}, {"seconds", kernel.seconds}});
  record["entries"].push_back({{"entry", entry.name},
                               {"repeat", entry.seconds.size()},
                               {"median_seconds", entry.median()},
                               {"minimum_seconds", entry.seconds.front()},
                               {"maximum_seconds", entry.seconds.back()},
                               {"profiled_seconds", entry.profiledSeconds},
                               {"profiled_calls", entry.profiledCalls},
                               {"kernel_seconds", entry.kernelSeconds()},
                               {"kernels", std::move(kernels)}});
}

std::string BenchReport::table(const EntryMeasurement &entry) const {
  std::string text = format("%s: median %.3f ms of %zu calls, from %.3f to %.3f ms\n", entry.name.c_str(),
                            entry.median() * 1e3, entry.seconds.size(), entry.seconds.front() * 1e3,
                            entry.seconds.back() * 1e3);
  size_t width = 6;
  for (const KernelMeasurement &kernel : entry.kernels)
    width = std::max(width, kernel.name.size());
  text += format("  %-*s %8s %10s %6s\n", int(width), "kernel", "launches", "ms", "%");
  double total = entry.kernelSeconds();
  uint64_t launches = 0;
  for (const KernelMeasurement &kernel : entry.kernels) {
    text += format("  %-*s %8llu %10.3f %6.2f\n", int(width), kernel.name.c_str(),
                   static_cast<unsigned long long>(kernel.launches), kernel.seconds * 1e3, kernel.seconds / total * 100);
    launches += kernel.launches;
  }
  text += format("  %-*s %8llu %10.3f %6.2f  one after the other; the profiled call took %.3f ms\n", int(width), "all",
                 static_cast<unsigned long long>(launches), total * 1e3, 100.0, entry.profiledSeconds * 1e3);
  return text;
}

} // namespace heddle::run
