#include "runtime/session/EntryMemory.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

namespace heddle {
namespace {

using Key = std::pair<uint64_t, uint64_t>; // offset and bytes of a range of the arena

// Finds the ranges that hold the same values, at least in part, with a union-find.
class Ranges {
public:
  size_t number(const BindingRange &range) {
    auto [found, added] = numbers.try_emplace({range.offset, range.bytes}, parent.size());
    if (added)
      parent.push_back(parent.size());
    return found->second;
  }

  void write(const BindingRange &range) {
    uint64_t begin = range.offset, end = range.offset + range.bytes;
    std::vector<Piece> rest;
    for (const Piece &piece : pieces) {
      if (piece.begin < std::min(piece.end, begin))
        rest.push_back({piece.begin, std::min(piece.end, begin), piece.writer});
      if (std::max(piece.begin, end) < piece.end)
        rest.push_back({std::max(piece.begin, end), piece.end, piece.writer});
    }
    rest.push_back({begin, end, number(range)});
    pieces = std::move(rest);
  }

  // Joins the reading range with all ranges that wrote some of its bytes.
  void read(const BindingRange &range) {
    size_t reader = number(range);
    for (const Piece &piece : pieces)
      if (piece.begin < range.offset + range.bytes && range.offset < piece.end)
        parent[root(piece.writer)] = root(reader);
  }

  size_t root(size_t number) {
    while (parent[number] != number)
      number = parent[number] = parent[parent[number]];
    return number;
  }

  std::map<Key, size_t> numbers;

private:
  struct Piece {
    uint64_t begin, end;
    size_t writer; // the range that wrote these bytes last
  };
  std::vector<Piece> pieces;
  std::vector<size_t> parent; // for each range: another range that shares its buffer, or itself
};

template <typename Visit> void forEachInArena(const std::vector<BindingRange> &ranges, Visit visit) {
  for (const BindingRange &range : ranges)
    if (range.space == schema::Space::Arena)
      visit(range);
}

} // namespace

EntryMemory::EntryMemory(DeviceState &state, const schema::Entry &entry, bool separate)
    : state(state), separate(separate) {
  if (separate)
    findParts(entry);
  else
    findBlocks(entry);
}

void EntryMemory::findBlocks(const schema::Entry &entry) {
  if (entry.blocks()) {
    blocks.assign(entry.blocks()->begin(), entry.blocks()->end());
    std::partial_sum(blocks.begin(), blocks.end(), std::back_inserter(blockEnds));
    return;
  }
  uint64_t end = 0;
  auto reach = [&](uint64_t offset, uint64_t bytes) { end = std::max(end, offset + bytes); };
  for (const schema::Port *port : *entry.inputs())
    reach(port->arena_offset(), port->bytes());
  for (const schema::Port *port : *entry.outputs())
    reach(port->arena_offset(), port->bytes());
  for (const schema::Launch *launch : *entry.launches())
    for (const schema::Binding *binding : *launch->bindings())
      if (binding->space() == schema::Space::Arena)
        reach(binding->offset(), binding->bytes());
  if (entry.collectives())
    for (const schema::Collective *collective : *entry.collectives())
      for (const auto *bindings : {collective->from(), collective->to()})
        for (const schema::Binding *binding : *bindings)
          if (binding->space() == schema::Space::Arena)
            reach(binding->offset(), binding->bytes());
  blocks.push_back(end);
}

void EntryMemory::findParts(const schema::Entry &entry) {
  Ranges ranges;
  for (const schema::Port *port : *entry.inputs())
    ranges.write(BindingRange(*port));
  // If several kernels each write a part of a tensor, only a collective names the whole tensor.
  flatbuffers::uoffset_t next = 0;
  auto visitCollectives = [&](uint32_t until) {
    for (;
         entry.collectives() && next < entry.collectives()->size() && entry.collectives()->Get(next)->before() <= until;
         ++next) {
      for (const schema::Binding *binding : *entry.collectives()->Get(next)->from())
        forEachInArena({BindingRange(*binding)}, [&](const BindingRange &range) { ranges.read(range); });
      for (const schema::Binding *binding : *entry.collectives()->Get(next)->to())
        forEachInArena({BindingRange(*binding)}, [&](const BindingRange &range) { ranges.write(range); });
    }
  };
  for (flatbuffers::uoffset_t i = 0; i < entry.launches()->size(); ++i) {
    visitCollectives(i);
    LaunchAccess access(*entry.launches()->Get(i));
    forEachInArena(access.read, [&](const BindingRange &range) { ranges.read(range); });
    forEachInArena(access.written, [&](const BindingRange &range) { ranges.write(range); });
  }
  visitCollectives(entry.launches()->size());
  for (const schema::Port *port : *entry.outputs())
    ranges.read(BindingRange(*port));

  std::map<size_t, size_t> partOfRoot;
  for (const auto &[key, number] : ranges.numbers) {
    auto [found, added] = partOfRoot.try_emplace(ranges.root(number), parts.size());
    if (added)
      parts.push_back({key.first, 0, nullptr}); // keys are sorted by offset
    Part &part = parts[found->second];
    part.bytes = std::max(part.bytes, key.first + key.second - part.offset);
    partOf[key] = found->second;
  }
}

uint64_t EntryMemory::ownBytes() const {
  return std::accumulate(parts.begin(), parts.end(), uint64_t(0),
                         [](uint64_t sum, const Part &part) { return sum + (part.buffer ? part.buffer->bytes() : 0); });
}

Status EntryMemory::allocate() {
  for (Part &part : parts)
    if (!part.buffer) {
      HEDDLE_ASSIGN(part.buffer,
                    state.device.allocate(str("the values at byte ", part.offset, " of the arena"), part.bytes));
    }
  return Success();
}

EntryMemory::Place EntryMemory::at(uint64_t offset, uint64_t bytes) const {
  if (!separate) {
    if (blockEnds.empty())
      return {state.arenaBlock(0), offset};
    auto end = std::ranges::upper_bound(blockEnds, offset);
    assert(end != blockEnds.end() && "the range lies in one block");
    auto block = static_cast<size_t>(end - blockEnds.begin());
    return {state.arenaBlock(block), offset - (*end - blocks[block])};
  }
  auto found = partOf.find({offset, bytes});
  assert(found != partOf.end() && "no launch and no port names this range");
  const Part &part = parts[found->second];
  return {part.buffer.get(), offset - part.offset};
}

} // namespace heddle
