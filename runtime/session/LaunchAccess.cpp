#include "runtime/session/LaunchAccess.h"

#include <algorithm>

namespace heddle {

BindingRange::BindingRange(const schema::Binding &binding)
    : space(binding.space()), index(binding.space() == schema::Space::Arena ? 0 : binding.index()),
      offset(binding.offset()), bytes(binding.bytes()) {}

bool BindingRange::overlaps(const BindingRange &other) const {
  return space == other.space && index == other.index && offset < other.offset + other.bytes &&
         other.offset < offset + bytes;
}

LaunchAccess::LaunchAccess(const schema::Launch &launch) {
  bool known = isKnown(launch);
  flatbuffers::uoffset_t reads = known ? launch.reads()->size() : 0;
  flatbuffers::uoffset_t described = known ? reads + launch.writes()->size() : 0;
  for (flatbuffers::uoffset_t i = 0; i < launch.bindings()->size(); ++i) {
    const schema::Binding &binding = *launch.bindings()->Get(i);
    if (binding.space() == schema::Space::Size)
      continue;
    if (i < reads || i >= described)
      read.emplace_back(binding);
    if (i >= reads)
      written.emplace_back(binding);
  }
}

bool overlap(const std::vector<BindingRange> &some, const std::vector<BindingRange> &others) {
  return std::ranges::any_of(some, [&](const BindingRange &one) {
    return std::ranges::any_of(others, [&](const BindingRange &other) { return one.overlaps(other); });
  });
}

} // namespace heddle
