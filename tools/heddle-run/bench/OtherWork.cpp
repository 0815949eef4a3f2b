#include "tools/heddle-run/bench/OtherWork.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace heddle::run {

OtherWork::Times OtherWork::read() {
  Times times;
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label; // "cpu", then user, nice, system, idle, waiting, interrupts (2), stolen
  double ticks = 0;
  const double perSecond = double(sysconf(_SC_CLK_TCK));
  for (int column = 0; column < 8 && file >> ticks; ++column) {
    times.all += ticks / perSecond;
    if (column == 3 || column == 4)
      times.idle += ticks / perSecond;
    times.known = column == 7;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  for (const timeval &time : {usage.ru_utime, usage.ru_stime})
    times.own += double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  return times;
}

std::optional<double> OtherWork::fraction() const {
  constexpr double shortest = 0.2; // seconds; the system counts in hundredths of a second
  Times now = read();
  double all = now.all - start.all;
  if (!start.known || !now.known || all < shortest)
    return std::nullopt;
  return std::clamp((all - (now.idle - start.idle) - (now.own - start.own)) / all, 0.0, 1.0);
}

} // namespace heddle::run
