#include "runtime/session/LaunchOrder.h"

#include "runtime/session/LaunchAccess.h"

namespace heddle {
namespace {

bool mustFollow(const LaunchAccess &launch, const LaunchAccess &earlier) {
  return overlap(launch.read, earlier.written) || overlap(launch.written, earlier.written) ||
         overlap(launch.written, earlier.read);
}

} // namespace

std::vector<std::vector<uint32_t>> launchOrder(const schema::Entry &entry) {
  std::vector<LaunchAccess> launches;
  for (const schema::Launch *launch : *entry.launches()) {
    if (!LaunchAccess::isKnown(*launch))
      return {};
    launches.emplace_back(*launch);
  }
  std::vector<std::vector<uint32_t>> order(launches.size());
  std::vector<std::vector<bool>> waits(launches.size()); // for whom, directly or not
  for (uint32_t launch = 0; launch < launches.size(); ++launch) {
    waits[launch].resize(launch);
    for (uint32_t earlier = launch; earlier-- > 0;) {
      if (waits[launch][earlier] || !mustFollow(launches[launch], launches[earlier]))
        continue;
      order[launch].push_back(earlier);
      waits[launch][earlier] = true;
      for (uint32_t other = 0; other < earlier; ++other)
        if (waits[earlier][other])
          waits[launch][other] = true;
    }
  }
  return order;
}

} // namespace heddle
