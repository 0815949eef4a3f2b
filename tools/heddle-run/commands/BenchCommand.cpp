#include "tools/heddle-run/commands/Opening.h"

#include "tools/heddle-run/call/RandomInputs.h"
#include "tools/heddle-run/report/Trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace heddle::run {

Status runBench(const BenchCommand &command) {
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common));
  Session &session = engine->onDevice();
  HEDDLE_CHECK(requireEntries(*engine, {command.entry}, "--entry"));
  HEDDLE_ASSIGN(std::vector<NamedTensor> tensors, randomInputs(*session.findEntry(command.entry)));
  std::vector<Input> inputs;
  for (const NamedTensor &named : tensors)
    inputs.push_back({named.name, named.tensor});

  std::vector<std::string_view> entries = {command.entry};
  if (session.findEntry("init"))
    entries.push_back("init");
  HEDDLE_CHECK(session.prepare(entries));
  if (session.findEntry("init"))
    HEDDLE_CHECK(session.init(1));

  // The first run is not counted: it touches memory for the first time.
  HEDDLE_CHECK(session.run(command.entry, inputs));
  HEDDLE_CHECK(session.wait());
  std::vector<double> seconds;
  for (uint64_t i = 0; i < command.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    HEDDLE_CHECK(session.run(command.entry, inputs));
    HEDDLE_CHECK(session.wait());
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (!command.common.profile.empty())
    HEDDLE_CHECK(writeTrace(session, command.common.profile));
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  if (command.json) {
    nlohmann::ordered_json record = {{"entry", command.entry},           {"device", session.device().name},
                                     {"target", session.target()},       {"repeat", command.repeat},
                                     {"median_seconds", median},         {"minimum_seconds", seconds.front()},
                                     {"maximum_seconds", seconds.back()}};
    std::puts(record.dump().c_str());
  } else {
    std::printf("%s: median %.3f ms, from %.3f to %.3f ms, %llu calls\n", command.entry.c_str(), median * 1e3,
                seconds.front() * 1e3, seconds.back() * 1e3, static_cast<unsigned long long>(command.repeat));
  }
  return Success();
}

} // namespace heddle::run
