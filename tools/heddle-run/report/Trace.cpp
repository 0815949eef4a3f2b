#include "tools/heddle-run/report/Trace.h"

#include "runtime/core/File.h"

#include <nlohmann/json.hpp>

namespace heddle::run {

Status writeTrace(const std::vector<LaunchProfile> &launches, const std::filesystem::path &path) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  uint64_t start = launches.empty() ? 0 : launches.front().begin;
  for (const LaunchProfile &launch : launches) {
    const hal::WorkgroupCount &count = launch.workgroups;
    events.push_back({{"name", launch.kernel},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", double(launch.begin - start) * 1e-3}, // microseconds
                      {"dur", double(launch.end - launch.begin) * 1e-3},
                      {"args", {{"workgroups", {count.x, count.y, count.z}}}}});
  }
  nlohmann::ordered_json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  std::string text = trace.dump() + "\n";
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

} // namespace heddle::run
