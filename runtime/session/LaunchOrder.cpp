#include "runtime/session/LaunchOrder.h"

#include <algorithm>

namespace heddle {
namespace {

struct Access {
  std::vector<BindingRange> read, written;

  explicit Access(const schema::Launch &launch) {
    flatbuffers::uoffset_t reads = launch.reads()->size();
    for (flatbuffers::uoffset_t i = 0; i < reads + launch.writes()->size(); ++i)
      (i < reads ? read : written).emplace_back(*launch.bindings()->Get(i));
  }
  bool mustFollow(const Access &earlier) const {
    return overlap(read, earlier.written) || overlap(written, earlier.written) || overlap(written, earlier.read);
  }
  static bool overlap(const std::vector<BindingRange> &some, const std::vector<BindingRange> &others) {
    return std::ranges::any_of(some, [&](const BindingRange &one) {
      return std::ranges::any_of(others, [&](const BindingRange &other) { return one.overlaps(other); });
    });
  }
};

} // namespace

BindingRange::BindingRange(const schema::Binding &binding)
    : space(binding.space()), index(binding.space() == schema::Space::Arena ? 0 : binding.index()),
      offset(binding.offset()), bytes(binding.bytes()) {}

bool BindingRange::overlaps(const BindingRange &other) const {
  return space == other.space && index == other.index && offset < other.offset + other.bytes &&
         other.offset < offset + bytes;
}

std::vector<std::vector<uint32_t>> launchOrder(const schema::Entry &entry) {
  std::vector<Access> launches;
  for (const schema::Launch *launch : *entry.launches()) {
    if (!launch->reads() || !launch->writes())
      return {};
    launches.emplace_back(*launch);
  }
  std::vector<std::vector<uint32_t>> order(launches.size());
  std::vector<std::vector<bool>> waits(launches.size()); // for whom, directly or not
  for (uint32_t launch = 0; launch < launches.size(); ++launch) {
    waits[launch].resize(launch);
    for (uint32_t earlier = launch; earlier-- > 0;) {
      if (waits[launch][earlier] || !launches[launch].mustFollow(launches[earlier]))
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
