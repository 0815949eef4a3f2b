#include "tools/heddle-run/report/Progress.h"

#include "runtime/core/Status.h"

#include <algorithm>
#include <cmath>

namespace heddle::run {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(5);

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

void Progress::step(const StepReport &report) {
  bool first = ++steps == 1;
  double weight = steps <= 2 ? 1 : 0.05;
  secondsPerStep += weight * (report.seconds - secondsPerStep);
  tokensPerSecond += weight * (report.tokensPerSecond() - tokensPerSecond);

  auto now = std::chrono::steady_clock::now();
  bool last = report.step >= lastStep;
  if (!first && !last && now - printed < (terminal ? std::chrono::nanoseconds(kTerminalInterval) : kPlainInterval))
    return;
  printed = now;

  std::string skipped = report.skipped == 0 ? "" : str("  ", report.skipped, " skipped");
  char text[200];
  std::snprintf(text, sizeof text, "step %llu of %llu  loss %.4f  rate %.2e%s  %.0f tokens/s  %s left",
                static_cast<unsigned long long>(report.step), static_cast<unsigned long long>(lastStep), report.loss,
                report.learningRate, skipped.c_str(), tokensPerSecond,
                describeDuration(secondsPerStep * double(lastStep - std::min(lastStep, report.step))).c_str());
  if (terminal)
    std::fprintf(out, "\r%s\x1b[K", text);
  else
    std::fprintf(out, "%s\n", text);
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
