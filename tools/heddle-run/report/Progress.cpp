#include "tools/heddle-run/report/Progress.h"

#include "runtime/core/Status.h"

#include <algorithm>
#include <cmath>

namespace heddle::run {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(5);

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

} // namespace

std::string describeDuration(double seconds) {
  auto total = int64_t(std::llround(std::clamp(seconds, 0.0, 1e9)));
  int64_t hours = total / 3600, minutes = total / 60 % 60;
  if (hours != 0)
    return str(hours, " h ", minutes < 10 ? "0" : "", minutes, " min");
  if (minutes != 0)
    return str(minutes, " min ", total % 60, " s");
  return str(total, " s");
}

void Progress::kernels(size_t done, size_t all) {
  print(str("compiling kernels: ", done, " of ", all), done == all);
  if (done == all)
    clear();
}

void Progress::step(const StepReport &report) {
  ++steps;
  double weight = std::max(0.05, 1 / double(std::max<uint64_t>(steps, 2) - 1)); // of a mean over 20 steps at most
  secondsPerStep += weight * (report.seconds - secondsPerStep);
  // Tokens per step are averaged, too: the rate of a single step says little, as the device may run a step while the
  // host waits for the step before.
  tokensPerStep += weight * (double(report.sourceTokens + report.targetTokens) - tokensPerStep);

  std::string text = str("step ", report.step, " of ", lastStep, format("  loss %.4f", report.loss),
                         format("  rate %.2e", report.learningRate));
  if (report.skipped != 0)
    text += str("  ", report.skipped, " skipped");
  if (steps > 2) // steps overlap, so the second may have done its work during the first
    text += format("  %.0f tokens/s  ", secondsPerStep > 0 ? tokensPerStep / secondsPerStep : 0) +
            describeDuration(secondsPerStep * double(lastStep - std::min(lastStep, report.step))) + " left";
  print(text, steps == 1 || report.step >= lastStep);
}

void Progress::print(const std::string &text, bool matters) {
  auto now = std::chrono::steady_clock::now();
  if (!matters && now - printed < (terminal ? std::chrono::nanoseconds(kTerminalInterval) : kPlainInterval))
    return;
  printed = now;
  if (terminal)
    std::fprintf(out, "\r%s\x1b[K", text.c_str());
  else
    std::fprintf(out, "%s\n", text.c_str());
  std::fflush(out);
  lineInWork = terminal;
}

void Progress::clear() {
  if (!lineInWork)
    return;
  std::fputs("\n", out);
  std::fflush(out);
  lineInWork = false;
}

} // namespace heddle::run
