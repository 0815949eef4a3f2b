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

bool LaunchAccess::isRead(const schema::Launch &launch, flatbuffers::uoffset_t binding) {
  if (!isKnown(launch))
    return true;
  flatbuffers::uoffset_t reads = launch.reads()->size();
  return binding < reads || binding >= reads + launch.writes()->size();
}

bool LaunchAccess::isWritten(const schema::Launch &launch, flatbuffers::uoffset_t binding) {
  if (launch.bindings()->Get(binding)->space() == schema::Space::Size)
    return false;
  return !isKnown(launch) || binding >= launch.reads()->size();
}

LaunchAccess::LaunchAccess(const schema::Launch &launch) {
  for (flatbuffers::uoffset_t i = 0; i < launch.bindings()->size(); ++i) {
    const schema::Binding &binding = *launch.bindings()->Get(i);
    if (binding.space() == schema::Space::Size)
      continue;
    if (isRead(launch, i))
      read.emplace_back(binding);
    if (isWritten(launch, i))
      written.emplace_back(binding);
  }
}

bool overlap(const std::vector<BindingRange> &some, const std::vector<BindingRange> &others) {
  return std::ranges::any_of(some, [&](const BindingRange &one) {
    return std::ranges::any_of(others, [&](const BindingRange &other) { return one.overlaps(other); });
  });
}

} // namespace heddle
