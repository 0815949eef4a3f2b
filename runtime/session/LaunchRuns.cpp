#include "runtime/session/LaunchRuns.h"

#include <algorithm>

namespace heddle {

const schema::Repeat *findRepeat(const schema::Entry &entry, uint32_t launch) {
  if (entry.repeats())
    for (const schema::Repeat *repeat : *entry.repeats())
      if (launch >= repeat->first() && launch - repeat->first() < repeat->count())
        return repeat;
  return nullptr;
}

std::vector<LaunchRun> launchRuns(const schema::Entry &entry, uint32_t steps) {
  std::vector<LaunchRun> runs;
  for (uint32_t launch = 0; launch < entry.launches()->size();) {
    const schema::Repeat *repeat = findRepeat(entry, launch);
    if (!repeat) {
      runs.push_back({launch++});
      continue;
    }
    uint32_t count = std::min(steps, repeat->steps());
    for (uint32_t step = 0; step < count; ++step)
      for (uint32_t i = 0; i < repeat->count(); ++i)
        runs.push_back({launch + i, repeat, repeat->reverse() ? count - 1 - step : step});
    launch += repeat->count();
  }
  return runs;
}

uint32_t stepsOf(const schema::Repeat &repeat, std::span<const int32_t> sizes) {
  return std::min(static_cast<uint32_t>(std::max(sizes[repeat.trips()], 0)), repeat.steps());
}

} // namespace heddle
