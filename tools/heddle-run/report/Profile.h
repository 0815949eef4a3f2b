// --profile: records what a command's threads and its device do, as a Chrome trace.
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

// Steps of this run, counted from 1, also if the training run was resumed.
struct StepWindow {
  uint64_t first = 3, count = 5; // the first steps are slow: drivers compile in them

  // "FIRST:COUNT"
  static std::optional<StepWindow> parse(std::string_view text);
};

// Records from construction to finish(), or until it is full. For a training run it records the beginning, a window of
// steps with everything that happens meanwhile, and then the first validation and the first checkpoint.
class Profile {
public:
  // Returns null if `path` is empty. Fails now, not after hours, if the file cannot be written.
  static Result<std::unique_ptr<Profile>> begin(const std::filesystem::path &path, std::string_view command);
  // Writes the trace if an error ended the work before finish().
  ~Profile();

  bool isRecording() const { return recording; }

  // Runs the entry with each launch timed, one after the other, records them, and waits for the end.
  Status run(Session &session, std::string_view entry, std::span<const Input> inputs);
  void add(const Session &session, std::string_view entry, std::span<const LaunchProfile> launches,
           std::span<const LaunchCost> costs);

  // The training run calls these to say what comes next. Everything before the first step is recorded.
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
