// Shows the progress of a training run on stderr: one line rewritten in place on a terminal, a line now and then
// elsewhere.
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

  // Of compiling, before the first step.
  void kernels(size_t done, size_t all);
  void step(const StepReport &report);

  // Takes the line in work away, so that something else can be printed.
  void clear();

private:
  // On a terminal, replaces the previous line. Skipped if a line was printed just now, unless `matters`.
  void print(const std::string &text, bool matters);

  std::FILE *out;
  bool terminal;
  uint64_t lastStep;
  bool lineInWork = false;
  // Averages over about the last twenty steps, so that the numbers can be read. The first step is left out: memory is
  // touched for the first time in it.
  uint64_t steps = 0;
  double secondsPerStep = 0, tokensPerStep = 0;
  std::chrono::steady_clock::time_point printed{};
};

// "2 h 05 min", "3 min 20 s", "12 s"
std::string describeDuration(double seconds);

} // namespace heddle::run
