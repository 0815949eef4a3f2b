#include "runtime/session/EntryCollectives.h"

#include "runtime/core/Span.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/session/LaunchAccess.h"

#include <algorithm>

namespace heddle {
namespace {

// The memory that launches [first, end) of the entry read and write, over all steps of a repetition.
std::vector<BindingRange> rangesOf(const schema::Entry &entry, uint32_t first, uint32_t end,
                                   const schema::Repeat *repeat) {
  std::vector<BindingRange> ranges;
  for (uint32_t i = first; i < end; ++i) {
    const schema::Launch &launch = *entry.launches()->Get(i);
    for (flatbuffers::uoffset_t b = 0; b < launch.bindings()->size(); ++b) {
      if (launch.bindings()->Get(b)->space() == schema::Space::Size)
        continue;
      BindingRange &range = ranges.emplace_back(*launch.bindings()->Get(b));
      if (repeat && launch.strides())
        range.bytes += launch.strides()->Get(b) * (repeat->steps() - 1);
    }
  }
  return ranges;
}

std::vector<BindingRange> rangesOf(const schema::Collective &collective) {
  std::vector<BindingRange> ranges;
  for (const auto *bindings : {collective.from(), collective.to()})
    for (const schema::Binding *binding : *bindings)
      ranges.emplace_back(*binding);
  return ranges;
}

} // namespace

EntryCollectives::EntryCollectives(DeviceState &state, const schema::Entry &entry, const EntryMemory &memory,
                                   std::span<const LaunchRun> runs)
    : state(state), entry(entry), memory(memory), readbacks(count()), made(count()) {
  cut(runs);
}

// A part ends before each collective, and before a launch or collective that needs the result of one.
void EntryCollectives::cut(std::span<const LaunchRun> runs) {
  std::vector<std::vector<BindingRange>> touched;
  for (uint32_t i = 0; i < count(); ++i)
    touched.push_back(rangesOf(*entry.collectives()->Get(i)));
  Part part;
  uint32_t started = 0; // collectives started by the end of `part`
  auto close = [&](size_t run) {
    part.end = run;
    part.start = started;
    cuts.push_back(part);
    part = {run, run, part.finish, started};
  };
  auto finish = [&](size_t run, uint32_t needed) {
    bool canBefore = part.first == run && needed <= part.start;
    if (needed > part.finish && !canBefore)
      close(run);
    part.finish = std::max(part.finish, needed);
  };
  auto neededBy = [&](const std::vector<BindingRange> &ranges) {
    uint32_t needed = part.finish;
    for (uint32_t i = needed; i < started; ++i)
      if (overlap(ranges, touched[i]))
        needed = i + 1;
    return needed;
  };
  auto start = [&](size_t run, uint32_t until) {
    for (; started < until; ++started)
      finish(run, neededBy(touched[started]));
    if (started > part.start)
      close(run);
  };
  for (size_t run = 0; run < runs.size();) {
    const schema::Repeat *repeat = runs[run].repeat;
    uint32_t launch = runs[run].launch, end = repeat ? repeat->first() + repeat->count() : launch + 1;
    launch = repeat ? repeat->first() : launch;
    start(run, countBefore(runs[run]));
    if (part.finish < started)
      finish(run, neededBy(rangesOf(entry, launch, end, repeat)));
    for (++run; run < runs.size() && repeat && runs[run].repeat == repeat;)
      ++run;
  }
  start(runs.size(), count());
  finish(runs.size(), count()); // collectives whose results no launch uses, or that come last
  close(runs.size());
}

uint32_t EntryCollectives::countBefore(const LaunchRun &run) const {
  uint32_t launch = run.repeat ? run.repeat->first() : run.launch, before = 0;
  while (before < count() && entry.collectives()->Get(before)->before() <= launch)
    ++before;
  return before;
}

Result<EntryCollectives::Place> EntryCollectives::placeOf(const schema::Binding &binding) const {
  if (binding.space() == schema::Space::Variable) {
    HEDDLE_ASSIGN(hal::Buffer * buffer, state.variable(binding.index()));
    return Place{buffer, binding.offset()};
  }
  EntryMemory::Place place = memory.at(binding.offset(), binding.bytes());
  return Place{place.buffer, place.offset};
}

// With one rank, the result of a collective is its input: nothing to do if both are the same memory.
bool EntryCollectives::isNothing(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const {
  if (state.collectives && state.collectives->ranks() > 1)
    return false;
  return BindingRange(*collective.from()->Get(tensor)) == BindingRange(*collective.to()->Get(tensor));
}

Shards::Range EntryCollectives::given(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const {
  uint64_t bytes = collective.from()->Get(tensor)->bytes();
  bool isPart = collective.kind() == schema::CollectiveKind::AllGather && state.shards.ranks() > 1;
  return isPart ? state.shards.ownRange(collective.like()->Get(tensor), bytes) : Shards::Range{0, bytes};
}

// If the ranks' parts of a tensor are unequal or overlap, they are exchanged segment by segment. All ranks get the sum
// of a segment that several of them keep.
Result<std::vector<hal::DeviceGroup::Tensor>> EntryCollectives::exchangeOf(const schema::Collective &collective) const {
  using Tensor = hal::DeviceGroup::Tensor;
  bool isSum = collective.kind() == schema::CollectiveKind::AllReduce,
       isGather = collective.kind() == schema::CollectiveKind::AllGather;
  std::vector<Tensor> tensors;
  for (flatbuffers::uoffset_t i = 0; i < collective.from()->size(); ++i) {
    HEDDLE_ASSIGN(Place from, placeOf(*collective.from()->Get(i)));
    HEDDLE_ASSIGN(Place to, placeOf(*collective.to()->Get(i)));
    uint64_t bytes = collective.from()->Get(i)->bytes();
    auto add = [&](Tensor::Kind kind, uint32_t root, Shards::Range range) {
      tensors.push_back(
          {kind, root, from.buffer, from.offset + range.offset, to.buffer, to.offset + range.offset, range.bytes});
    };
    if (isSum)
      add(Tensor::Sum, 0, {0, bytes});
    else if (state.shards.areEqualParts(collective.like()->Get(i)))
      add(isGather ? Tensor::Gather : Tensor::SumParts, 0, {0, bytes});
    else
      for (const Shards::Segment &segment : state.shards.segments(collective.like()->Get(i), bytes))
        add(isGather           ? Tensor::Broadcast
            : segment.isShared ? Tensor::Sum
                               : Tensor::SumFor,
            segment.rank, segment.range);
  }
  return tensors;
}

Status EntryCollectives::start(uint32_t index) {
  if (state.group && exchanges.empty())
    for (const schema::Collective *each : *entry.collectives()) {
      HEDDLE_ASSIGN(exchanges.emplace_back(), exchangeOf(*each));
    }
  if (state.group)
    return state.group->start(exchanges[index]);
  const schema::Collective &collective = *entry.collectives()->Get(index);
  readbacks[index].clear();
  for (flatbuffers::uoffset_t i = 0; i < collective.from()->size(); ++i) {
    readbacks[index].emplace_back();
    if (isNothing(collective, i))
      continue;
    HEDDLE_ASSIGN(Place place, placeOf(*collective.from()->Get(i)));
    Shards::Range range = given(collective, i);
    HEDDLE_ASSIGN(readbacks[index].back(),
                  state.device.readLater(*place.buffer, place.offset + range.offset, range.bytes));
  }
  return Success();
}

Status EntryCollectives::finish(uint32_t index, std::vector<hal::Upload> &uploads) {
  if (state.group)
    return state.group->finish();
  const schema::Collective &collective = *entry.collectives()->Get(index);
  std::vector<std::byte> &values = made[index];
  values.clear();
  for (std::unique_ptr<hal::Readback> &readback : readbacks[index]) {
    if (!readback)
      continue;
    HEDDLE_ASSIGN(std::span<const std::byte> bytes, readback->bytes());
    values.insert(values.end(), bytes.begin(), bytes.end());
  }
  if (state.shards.ranks() > 1)
    HEDDLE_CHECK(exchange(index, values));
  std::span<const std::byte> rest = values;
  for (flatbuffers::uoffset_t i = 0; i < readbacks[index].size(); ++i) {
    if (!readbacks[index][i])
      continue;
    const schema::Binding &to = *collective.to()->Get(i);
    HEDDLE_ASSIGN(Place place, placeOf(to));
    uploads.push_back({place.buffer, place.offset, rest.first(to.bytes())});
    rest = rest.subspan(to.bytes());
  }
  readbacks[index].clear();
  return Success();
}

Status EntryCollectives::exchange(uint32_t index, std::vector<std::byte> &values) {
  const schema::Collective &collective = *entry.collectives()->Get(index);
  // A ReduceScatter is a sum too: MPI's sums of all rows have the same bits on each rank.
  bool isSum = collective.kind() != schema::CollectiveKind::AllGather;
  std::string what = str(isSum ? "sum " : "gathering ", index + 1, " of ", count(), " of '", view(entry.name()), "'");
  Span span(isSum ? "sum over ranks" : "gather from ranks");
  span.with("bytes", int64_t(values.size()));
  if (isSum)
    return state.collectives->sum({reinterpret_cast<float *>(values.data()), values.size() / sizeof(float)}, what);
  std::vector<std::byte> parts(values.size() * state.shards.ranks());
  HEDDLE_CHECK(state.collectives->gather(values, parts, what));
  uint64_t stride = values.size(), at = 0;
  values.clear();
  for (flatbuffers::uoffset_t i = 0; i < collective.from()->size(); ++i) {
    size_t begin = values.size();
    values.resize(begin + collective.to()->Get(i)->bytes());
    state.shards.assemble(collective.like()->Get(i), std::span(parts).subspan(at), stride,
                          std::span(values).subspan(begin));
    at += given(collective, i).bytes;
  }
  return Success();
}

} // namespace heddle
