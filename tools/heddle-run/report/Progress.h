// Shows the progress of a training run on stderr: on a terminal one line that is rewritten in place, otherwise a line
// now and then.
#pragma once

#include "runtime/train/TrainingObserver.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace heddle::run {

class Progress {
public:
  Progress(std::FILE *out, bool terminal, uint64_t lastStep) : out(out), terminal(terminal), lastStep(lastStep) {}
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // Shows the progress of compiling kernels, before the first step.
  void kernels(size_t done, size_t all);
  void step(const StepReport &report);

  // Removes the progress line, so that something else can be printed.
  void clear();

private:
  // Replaces the previous line on a terminal. Does nothing if a line was printed just now, unless `matters`.
  void print(const std::string &text, bool matters);

  std::FILE *out;
  bool terminal;
  uint64_t lastStep;
  bool lineInWork = false;
  // Averages over about the last twenty steps, so that the numbers are steady enough to read. The first step is left
  // out: it touches memory for the first time.
  uint64_t steps = 0;
  double secondsPerStep = 0, tokensPerStep = 0;
  std::chrono::steady_clock::time_point printed{};
};

// "2 h 05 min", "3 min 20 s", "12 s"
std::string describeDuration(double seconds);

} // namespace heddle::run
