#include "tools/heddle-run/report/Profile.h"

#include "runtime/core/Log.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <utility>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kQueue = "queue"; // a device runs one launch after the other

ChromeTrace::Time timeOf(uint64_t nanoseconds) {
  return ChromeTrace::Time(std::chrono::nanoseconds(static_cast<int64_t>(nanoseconds)));
}

// Adds the achieved rates. A launch may be shorter than the clock's resolution.
void addRates(Json &values, const LaunchCost &cost, uint64_t nanoseconds) {
  if (!cost.known)
    return;
  values["flops"] = cost.flops;
  values["model_flops"] = cost.modelFlops;
  values["bytes"] = cost.bytes;
  if (nanoseconds == 0)
    return;
  values["GFLOP/s"] = cost.flops / double(nanoseconds);
  values["GB/s"] = cost.bytes / double(nanoseconds);
}

} // namespace

std::optional<StepWindow> StepWindow::parse(std::string_view text) {
  StepWindow window;
  const char *end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, window.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':')
    return std::nullopt;
  auto count = std::from_chars(first.ptr + 1, end, window.count);
  if (count.ec != std::errc() || count.ptr != end || window.first == 0 || window.count == 0)
    return std::nullopt;
  return window;
}

Profile::Profile(std::filesystem::path path, std::string_view command)
    : path(std::move(path)), trace(str("heddle-run ", command)) {
  trace.note("recorded", "the whole run");
}

Result<std::unique_ptr<Profile>> Profile::begin(const std::filesystem::path &path, std::string_view command) {
  if (path.empty())
    return std::unique_ptr<Profile>();
  std::unique_ptr<Profile> profile(new Profile(path, command));
  HEDDLE_CHECK(profile->trace.write(path));
  profile->record(true);
  return profile;
}

Profile::~Profile() {
  record(false);
  if (Status status = write(); !status.ok())
    log(LogLevel::Warning, status.message());
}

void Profile::record(bool on) {
  recording = on && !trace.full();
  unwritten |= recording;
  trace.listen(recording);
}

Status Profile::write() { return std::exchange(unwritten, false) ? trace.write(path) : Status(Success()); }

Status Profile::finish() {
  record(false);
  HEDDLE_CHECK(write());
  log(LogLevel::Info, str("wrote the profile ", path.string()));
  return Success();
}

void Profile::limitTo(StepWindow steps) {
  window = steps;
  trace.note("recorded", str("the beginning; steps ", steps.first, " to ", steps.first + steps.count - 1,
                             " of this run; after them the first validation and the first checkpoint"));
}

Status Profile::enterStep() {
  ++step;
  bool wanted = !window || (step >= window->first && step - window->first < window->count);
  if (wanted == recording)
    return Success();
  record(wanted);
  return wanted ? Status(Success()) : write();
}

void Profile::enter(bool &seen) {
  if (!window || step < window->first)
    return;
  if (!std::exchange(seen, true))
    record(true);
}

int Profile::deviceOf(const Session &session) {
  if (!device)
    device = trace.addProcess(str(session.device().id, " ", session.device().name, ", target ", session.target()));
  return *device;
}

void Profile::add(const Session &session, std::string_view entry, std::span<const LaunchProfile> launches,
                  std::span<const LaunchCost> costs) {
  if (launches.empty())
    return;
  int process = deviceOf(session);
  LaunchCost all{.known = true};
  for (size_t i = 0; i < launches.size(); ++i) {
    const LaunchProfile &launch = launches[i];
    Json values = {{"entry", entry},
                   {"launch", i},
                   {"workgroups", {launch.workgroups.x, launch.workgroups.y, launch.workgroups.z}}};
    if (!launch.location.empty())
      values["ops"] = launch.location;
    addRates(values, costs[i], launch.end - launch.begin);
    trace.add(process, kQueue, launch.kernel, timeOf(launch.begin), timeOf(launch.end), values.dump());
    all.known &= costs[i].known;
    all.flops += costs[i].flops;
    all.modelFlops += costs[i].modelFlops;
    all.bytes += costs[i].bytes;
  }
  Json values = {{"launches", launches.size()}};
  addRates(values, all, launches.back().end - launches.front().begin);
  trace.add(process, kQueue, entry, timeOf(launches.front().begin), timeOf(launches.back().end), values.dump());
}

Status Profile::run(Session &session, std::string_view entry, std::span<const Input> inputs) {
  HEDDLE_ASSIGN(std::vector<LaunchProfile> launches, session.profile(entry, inputs));
  HEDDLE_ASSIGN(std::vector<LaunchCost> costs, session.costs(entry, inputs));
  add(session, entry, launches, costs);
  if (!trace.full())
    return Success();
  log(LogLevel::Warning, str("the profile ", path.string(), " is full and written: it has ", ChromeTrace::kMostEvents,
                             " events, and records no more"));
  record(false);
  return write();
}

} // namespace heddle::run
