// --profile: what a command's threads and its device do when, as a Chrome trace.
#pragma once

#include "runtime/session/Session.h"
#include "tools/trace/ChromeTrace.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

// Steps of a run, counted from 1, whatever number a resumed training run gives them.
struct StepWindow {
  uint64_t first = 3, count = 5; // the first steps are slow: drivers compile in them

  // "FIRST:COUNT"
  static std::optional<StepWindow> parse(std::string_view text);
};

// Records from its beginning to its end, or until it is full. Of a training run it records the beginning, the steps of
// a window with all that goes on meanwhile, and after them the first validation and the first checkpoint.
class Profile {
public:
  // Null where `path` is empty. A file that cannot be written is an error now, not after hours.
  static Result<std::unique_ptr<Profile>> begin(const std::filesystem::path &path, std::string_view command);
  // Writes what was not written for an error that ended the work before finish().
  ~Profile();

  bool isRecording() const { return recording; }

  // Runs the entry with its launches timed, one after the other, and records them; waits.
  Status run(Session &session, std::string_view entry, std::span<const Input> inputs);
  void add(const Session &session, std::string_view entry, std::span<const LaunchProfile> launches,
           std::span<const LaunchCost> costs);

  // Called by the training run to say what comes next. Until the first step everything is recorded.
  void limitTo(StepWindow steps);
  Status enterStep();
  void enterValidation() { enter(validated); }
  void enterCheckpoint() { enter(saved); }

  Status finish();

private:
  Profile(std::filesystem::path path, std::string_view command);
  void record(bool on);
  void enter(bool &seen);
  Status write();
  int deviceOf(const Session &session);

  std::filesystem::path path;
  ChromeTrace trace;
  std::optional<int> device; // the device's process in the trace
  bool recording = false, unwritten = false;
  std::optional<StepWindow> window;
  uint64_t step = 0; // of this run
  bool validated = false, saved = false;
};

} // namespace heddle::run
