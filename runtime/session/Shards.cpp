#include "runtime/session/Shards.h"

#include "runtime/schema/Constants.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace heddle {

Shards::Shards(const schema::Module &module, Collectives *collectives) : module(module), collectives(collectives) {
  for (uint32_t i = 0; i < module.variables()->size(); ++i)
    if (const schema::Variable &variable = *module.variables()->Get(i); variable.sharded()) {
      uint64_t rowBytes = variable.bytes() / rows(i);
      units[i] = schema::kShardAlignment / std::gcd(schema::kShardAlignment, rowBytes);
    }
  // Variables that a kernel updates together are cut at the same rows, whether they have 16-bit or 32-bit elements.
  const std::map<uint32_t, uint64_t> aligned = units;
  for (const schema::Target *target : *module.targets())
    for (const schema::Entry *entry : entriesOf(module, *target))
      for (const schema::Launch *launch : *entry->launches())
        if (const schema::Shard *shard = launch->shard()) {
          std::vector<uint32_t> together;
          uint64_t unit = shard->tile();
          for (const schema::Binding *binding : *launch->bindings())
            if (binding->space() == schema::Space::Variable && module.variables()->Get(binding->index())->sharded()) {
              together.push_back(binding->index());
              unit = std::lcm(unit, aligned.at(binding->index()));
            }
          for (uint32_t variable : together)
            units[variable] = std::min(std::lcm(units[variable], unit), rows(variable));
        }
}

Shards::Rows Shards::rowsOf(uint32_t variable, uint32_t rank) const {
  uint64_t all = rows(variable), count = ranks(), unit = units.at(variable);
  uint64_t part = std::min((all + count * unit - 1) / (count * unit) * unit, all);
  return {std::min(rank * part, all - part), part};
}

Shards::Range Shards::ownRange(uint32_t variable, uint64_t bytes) const {
  Rows own = ownRows(variable);
  uint64_t rowBytes = bytes / rows(variable);
  return {own.first * rowBytes, own.count * rowBytes};
}

std::vector<Shards::Segment> Shards::segments(uint32_t variable, uint64_t bytes) const {
  uint64_t rowBytes = bytes / rows(variable);
  std::set<uint64_t> cuts;
  for (uint32_t rank = 0; rank < ranks(); ++rank) {
    Rows part = rowsOf(variable, rank);
    cuts.insert({part.first, part.first + part.count});
  }
  std::vector<Segment> segments;
  for (auto begin = cuts.begin(), end = std::next(begin); end != cuts.end(); ++begin, ++end) {
    std::vector<uint32_t> owners;
    for (uint32_t rank = 0; rank < ranks(); ++rank)
      if (Rows part = rowsOf(variable, rank); part.first <= *begin && *end <= part.first + part.count)
        owners.push_back(rank);
    segments.push_back({{*begin * rowBytes, (*end - *begin) * rowBytes}, owners.front(), owners.size() > 1});
  }
  return segments;
}

void Shards::assemble(uint32_t variable, std::span<const std::byte> parts, uint64_t stride,
                      std::span<std::byte> whole) const {
  uint64_t rowBytes = whole.size() / rows(variable);
  for (uint32_t rank = 0; rank < ranks(); ++rank) {
    Rows own = rowsOf(variable, rank);
    std::memcpy(whole.data() + own.first * rowBytes, parts.data() + rank * stride, own.count * rowBytes);
  }
}

} // namespace heddle
