#include "tools/trace/ChromeTrace.h"

#include "runtime/core/File.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProgram = 1; // processes are counted from one
constexpr const char *kMainThread = "main";

// The format counts in microseconds. Dividing, unlike multiplying, gives the double that is nearest to the decimal
// number, and prints as that number.
double microseconds(int64_t nanoseconds) { return double(nanoseconds) / 1e3; }

std::string print(const Json &json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json nameOf(const char *kind, int process, int thread, const std::string &name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

} // namespace

ChromeTrace::ChromeTrace(std::string program) {
  nameThread(kMainThread);
  threads[{addProcess(std::move(program)), kMainThread}] = 1;
}

ChromeTrace::~ChromeTrace() { listen(false); }

void ChromeTrace::listen(bool on) {
  if (!on)
    return setSpanSink({});
  setSpanSink([this](const SpanRecord &record) {
    Json values = Json::object();
    for (const auto &[key, value] : record.values)
      std::visit([&](const auto &typed) { values[std::string(key)] = typed; }, value);
    add(kProgram, record.thread, record.name, record.begin, record.end, print(values));
  });
}

int ChromeTrace::addProcess(std::string name) {
  std::lock_guard lock(mutex);
  processes.push_back(std::move(name));
  return int(processes.size());
}

void ChromeTrace::add(int process, std::string_view thread, std::string_view name, Time begin, Time end,
                      std::string values) {
  std::lock_guard lock(mutex);
  if (events.size() >= kMostEvents) {
    ++left;
    return;
  }
  int number = threads.try_emplace({process, std::string(thread)}, int(threads.size()) + 1).first->second;
  auto sinceStart = [&](Time time) { return std::chrono::nanoseconds(time - start).count(); };
  events.push_back({process, number, std::string(name), sinceStart(begin), sinceStart(end), std::move(values)});
}

void ChromeTrace::note(std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex);
  notes[std::string(key)] = value;
}

bool ChromeTrace::full() const {
  std::lock_guard lock(mutex);
  return events.size() >= kMostEvents;
}

Status ChromeTrace::write(const std::filesystem::path &path) const {
  std::lock_guard lock(mutex);
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto put = [&](const std::string &text) { return file.write(std::as_bytes(std::span(text))); };
  HEDDLE_CHECK(put("{\"traceEvents\":[\n"));
  std::string text;
  const char *separator = "";
  auto next = [&](const std::string &event) -> Status {
    text += separator + event;
    separator = ",\n";
    if (text.size() < (1 << 20))
      return Success();
    HEDDLE_CHECK(put(text));
    text.clear();
    return Success();
  };
  for (size_t i = 0; i < processes.size(); ++i)
    HEDDLE_CHECK(next(print(nameOf("process_name", int(i) + 1, 0, processes[i]))));
  for (const auto &[key, number] : threads)
    HEDDLE_CHECK(next(print(nameOf("thread_name", key.first, number, key.second))));
  // If several events begin at the same time, viewers take the first as the one that contains the others: so sort the
  // longest first.
  std::vector<const Event *> ordered;
  for (const Event &event : events)
    ordered.push_back(&event);
  std::ranges::stable_sort(ordered, {}, [](const Event *event) { return std::pair(event->begin, -event->end); });
  for (const Event *each : ordered) {
    const Event &event = *each;
    Json json = {{"name", event.name},
                 {"ph", "X"},
                 {"pid", event.process},
                 {"tid", event.thread},
                 {"ts", microseconds(event.begin)},
                 {"dur", microseconds(event.end - event.begin)}};
    std::string head = print(json);
    head.pop_back();
    HEDDLE_CHECK(next(head + ",\"args\":" + event.values + "}"));
  }
  Json other = notes;
  if (left != 0)
    other["left_out"] = str("the ", left, " events after the first ", kMostEvents);
  HEDDLE_CHECK(put(text + "\n],\"displayTimeUnit\":\"ms\",\"otherData\":" + print(other) + "}\n"));
  return file.commit();
}

} // namespace heddle
