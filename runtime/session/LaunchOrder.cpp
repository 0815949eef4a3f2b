#include "runtime/session/LaunchOrder.h"

#include "runtime/session/LaunchAccess.h"
#include "runtime/session/LaunchRuns.h"

namespace heddle {
namespace {

// Returns true if no call runs both launches: their grids depend on disjoint ranges of the same size.
bool excludeEachOther(const schema::Module &module, const schema::Launch &one, const schema::Launch &other) {
  auto sizeOf = [&](const schema::Grid &grid) -> const schema::Size * {
    const schema::Size *size = grid.size() < 0 ? nullptr : module.sizes()->Get(static_cast<uint32_t>(grid.size()));
    return size && size->within() ? size : nullptr;
  };
  for (const schema::Grid *ofOne : *one.grid())
    for (const schema::Grid *ofOther : *other.grid())
      if (const schema::Size *a = sizeOf(*ofOne), *b = sizeOf(*ofOther);
          a && b && a->of_size() == b->of_size() && a->times() == b->times())
        if (a->from() >= b->maximum() || b->from() >= a->maximum())
          return true;
  return false;
}

bool mustFollow(const LaunchAccess &launch, const LaunchAccess &earlier) {
  return overlap(launch.read, earlier.written) || overlap(launch.written, earlier.written) ||
         overlap(launch.written, earlier.read);
}

} // namespace

std::vector<std::vector<uint32_t>> launchOrder(const schema::Module &module, const schema::Entry &entry) {
  std::vector<LaunchAccess> launches;
  for (const schema::Launch *launch : *entry.launches()) {
    if (!LaunchAccess::isKnown(*launch))
      return {};
    launches.emplace_back(*launch);
  }
  // Two steps of a repetition are enough: a launch waits for itself in the previous step, and so for all earlier steps.
  std::vector<LaunchRun> runs = launchRuns(entry, 2);
  std::vector<std::vector<uint32_t>> order(runs.size());
  std::vector<std::vector<bool>> waits(runs.size()); // all runs that each run waits for, directly or not
  for (uint32_t run = 0; run < runs.size(); ++run) {
    waits[run].resize(run);
    for (uint32_t earlier = run; earlier-- > 0;) {
      uint32_t launch = runs[run].launch, other = runs[earlier].launch;
      if (waits[run][earlier] || !mustFollow(launches[launch], launches[other]) ||
          excludeEachOther(module, *entry.launches()->Get(launch), *entry.launches()->Get(other)))
        continue;
      order[run].push_back(earlier);
      waits[run][earlier] = true;
      for (uint32_t other = 0; other < earlier; ++other)
        if (waits[earlier][other])
          waits[run][other] = true;
    }
  }
  if (!entry.repeats())
    return order;

  std::vector<std::vector<uint32_t>> all;
  // For each run of the first two steps: the index of the same launch in the last step.
  std::vector<uint32_t> last(runs.size());
  for (uint32_t run = 0; run < runs.size();) {
    const schema::Repeat *repeat = runs[run].repeat;
    uint32_t count = repeat ? repeat->count() : 1, steps = repeat ? repeat->steps() : 1;
    uint32_t first = static_cast<uint32_t>(all.size()), kept = std::min<uint32_t>(steps, 2) * count;
    for (uint32_t step = 0; step < steps; ++step)
      for (uint32_t i = 0; i < count; ++i) {
        std::vector<uint32_t> &after = all.emplace_back();
        for (uint32_t earlier : order[run + std::min<uint32_t>(step, 1) * count + i])
          after.push_back(earlier < run ? last[earlier] : first + earlier - run + (step > 1 ? (step - 1) * count : 0));
      }
    for (uint32_t i = 0; i < kept; ++i)
      last[run + i] = first + (steps - 1) * count + i % count;
    run += kept;
  }
  return all;
}

} // namespace heddle
