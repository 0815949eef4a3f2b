#include "tools/heddle-compile/page/ArenaRanges.h"

#include "tools/heddle-compile/Report.h"

using namespace mlir;
using namespace mlir::heddle;

void ArenaRanges::addInput(StringRef name, ArenaBytes place) {
  open.push_back(ranges.size());
  ranges.push_back({place, 0, 0, name.str(), /*isMade=*/false});
}

void ArenaRanges::addStep(ArrayRef<ArenaBytes> reads, ArrayRef<ArenaBytes> writes) {
  for (size_t range : open)
    if (llvm::any_of(reads, [&](const ArenaBytes &read) { return read.overlaps(ranges[range].place); }))
      ranges[range].last = steps;
  llvm::erase_if(open, [&](size_t range) {
    return llvm::any_of(writes, [&](const ArenaBytes &write) { return write.overlaps(ranges[range].place); });
  });
  for (const ArenaBytes &write : writes) {
    open.push_back(ranges.size());
    ranges.push_back({write, steps, steps, "", /*isMade=*/true});
  }
  ++steps;
}

void ArenaRanges::addOutput(StringRef name, ArenaBytes place) {
  for (size_t range : open)
    if (place.overlaps(ranges[range].place)) {
      ranges[range].last = std::max<int64_t>(steps - 1, 0);
      ranges[range].port = name.str();
    }
}

ArenaRanges::Peak ArenaRanges::findPeak() const {
  Peak peak;
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<std::pair<int64_t, int64_t>> live; // begin and end
    for (const ArenaRange &range : ranges)
      if (range.first <= step && step <= range.last)
        live.push_back({range.place.offset, range.place.offset + range.place.bytes});
    llvm::sort(live);
    int64_t bytes = 0, counted = 0; // `counted`: bytes before this offset are counted
    for (auto [begin, end] : live) {
      bytes += std::max<int64_t>(0, end - std::max(begin, counted));
      counted = std::max(counted, end);
    }
    if (bytes > peak.bytes)
      peak = {step, bytes};
  }
  return peak;
}

/// Returns the arena's bytes among bindings; in a repetition, the bytes of all steps.
static SmallVector<ArenaBytes> inArena(ArrayRef<Attribute> bindings, int64_t steps = 1) {
  SmallVector<ArenaBytes> places;
  for (Attribute attribute : bindings)
    if (auto binding = cast<plan::BindingAttr>(attribute); binding.getSpace() == plan::Space::Arena)
      places.push_back({binding.getOffset(), binding.getBytes() + (steps - 1) * binding.getStep()});
  return places;
}

ArenaRanges ArenaRanges::of(plan::EntryOp entry) {
  ArenaRanges ranges;
  auto placeOf = [](auto port) {
    return ArenaBytes{static_cast<int64_t>(port.getOffset()), static_cast<int64_t>(port.getBytes())};
  };
  for (auto input : entry.getOps<plan::InputOp>())
    ranges.addInput(input.getName(), placeOf(input));
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto collective = dyn_cast<plan::CollectiveOp>(op))
      ranges.addStep(inArena(collective.getFrom().getValue()), inArena(collective.getTo().getValue()));
    auto launch = dyn_cast<plan::LaunchOp>(op);
    if (!launch)
      return;
    int64_t steps = countSteps(launch);
    ArrayRef<Attribute> bindings = launch.getBindings().getValue();
    size_t reads = launch.getReads() ? launch.getReads()->size() : 0;
    size_t writes = launch.getWrites() ? launch.getWrites()->size() : 0;
    ranges.addStep(inArena(bindings.take_front(reads), steps), inArena(bindings.slice(reads, writes), steps));
  });
  for (auto output : entry.getOps<plan::OutputOp>())
    ranges.addOutput(output.getName(), placeOf(output));
  return ranges;
}
