#include "compiler/Program/Planning/LaunchSchedule.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace mlir::heddle;

/// Launches that read and write at most this many bytes run as soon as possible, and may run twice. Examples are the
/// step counter and the learning rate.
static constexpr int64_t kSmallBytes = 4096;

/// Returns true for small launches that depend only on old values of variables, and whose results are used.
static bool isSmallFunctionOfVariables(const EntryGraph &graph, unsigned launch) {
  auto isUsed = [&](EntryGraph::Id id) { return !graph.values[id].uses.empty() || graph.values[id].isOutput; };
  return graph.getResultBytes(launch) <= kSmallBytes && !graph.isInPlace(launch) &&
         llvm::any_of(graph.results[launch], isUsed) && llvm::all_of(graph.inputs[launch], [&](EntryGraph::Id id) {
           bool fromVariables = true;
           graph.forEachProducer(id, [&](unsigned) { fromVariables = false; });
           return fromVariables;
         });
}

/// The optimizer computes with the next step's number, while the backward pass still needs the old number for its
/// dropout masks. So that updates need not wait for the last mask, the number is computed twice: first into the arena,
/// and into the variable when nothing needs the old number any more.
static void repeatSmallUpdates(EntryGraph &graph) {
  llvm::SetVector<unsigned> repeated;
  for (auto &[variable, write] : graph.writes) {
    const EntryValue &value = graph.values[write.value];
    if (value.launch < 0 || !isSmallFunctionOfVariables(graph, value.launch))
      continue;
    unsigned launch = value.launch;
    for (EntryGraph::Id old : graph.getOldValues(variable))
      if (llvm::any_of(graph.values[old].uses, [&](EntryValue::Use use) { return use.launch != launch; }))
        repeated.insert(launch);
  }
  for (unsigned launch : repeated)
    graph.repeatForWrites(launch);
}

namespace {

/// A list scheduler. The launches of a repetition stay together in their order; the first one represents them all.
class Scheduler {
public:
  explicit Scheduler(EntryGraph &graph) : graph(graph), after(graph.launches.size()), updates(graph.launches.size()) {
    for (auto [launch, inputs] : llvm::enumerate(graph.inputs))
      for (EntryGraph::Id input : inputs)
        graph.forEachProducer(input, [&](unsigned producer) { addOrder(producer, launch); });
    for (const EntryGraph::Loop &loop : graph.loops) {
      graph.forEachProducer(loop.counts, [&](unsigned producer) { addOrder(producer, loop.first); });
      for (auto [launch, results] : llvm::enumerate(graph.results))
        for (EntryGraph::Id result : results) // initial values of the first step
          if (standsFor(launch) == loop.first)
            graph.forEachProducer(result, [&](unsigned producer) { addOrder(producer, launch); });
    }
    for (auto &[variable, write] : graph.writes)
      addUpdate(variable, graph.values[write.value]);
    for (unsigned launch = 0; launch < graph.launches.size(); ++launch)
      if (graph.isInPlace(launch) && !graph.findLoop(launch)) // launches in loops keep their order
        for (unsigned result = 0; result < graph.results[launch].size(); ++result)
          if (auto reused = graph.getReuse(launch, result))
            for (EntryGraph::Id overwritten : graph.getOverlapping(*reused))
              addReadersBefore(overwritten, launch);
    // Collectives must run in the same order on all ranks.
    std::optional<unsigned> before;
    for (unsigned launch = 0; launch < graph.launches.size(); ++launch)
      if (graph.isCollective(launch)) {
        if (before)
          addOrder(*before, launch);
        before = launch;
      }
  }

  LogicalResult run() {
    SmallVector<unsigned> waitsFor(after.size());
    for (const auto &edges : after)
      for (unsigned launch : edges)
        ++waitsFor[launch];
    // A launch that needs results of launches since the last barrier causes another barrier. ready[0] has updates,
    // small launches and collectives, which run early but cause no barrier of their own. ready[1] has the others in
    // their order.
    std::set<unsigned> ready[2];
    // Launches that need a collective, sorted by the latest collective that they need.
    std::set<std::pair<unsigned, unsigned>> late;
    SmallVector<unsigned> newestCollective(after.size());
    unsigned collectives = 0;
    auto push = [&](unsigned launch) {
      bool early = updates[launch] || isSmall(launch) || graph.isCollective(launch);
      if (newestCollective[launch] > 0 && !graph.isCollective(launch))
        late.insert({newestCollective[launch], launch});
      else
        ready[early ? 0 : 1].insert(launch);
    };
    for (unsigned launch = 0; launch < after.size(); ++launch)
      if (waitsFor[launch] == 0 && standsFor(launch) == launch)
        push(launch);
    int barriers = 0;
    SmallVector<int> newestNeeded(after.size(),
                                  -1); // by launch: barriers before the latest launch that it needs
    auto needsNoBarrier = [&](unsigned launch) { return newestNeeded[launch] < barriers; };
    SmallVector<unsigned> order;
    while (!ready[0].empty() || !ready[1].empty() || !late.empty()) {
      if (ready[0].empty() && ready[1].empty()) {
        auto next = llvm::find_if(late, [&](auto entry) { return needsNoBarrier(entry.second); });
        if (next == late.end()) {
          ++barriers;
          continue;
        }
        ready[1].insert(next->second);
        late.erase(next);
      }
      auto &from = llvm::any_of(ready[0], needsNoBarrier) || ready[1].empty() ? ready[0] : ready[1];
      auto next = &from == &ready[0] ? llvm::find_if(from, needsNoBarrier) : from.begin();
      if (next == from.end() || !needsNoBarrier(*next)) {
        ++barriers;
        continue;
      }
      unsigned launch = *next;
      from.erase(next);
      const EntryGraph::Loop *loop = graph.findLoop(launch);
      for (unsigned next = launch, end = loop ? loop->end : launch + 1; next < end; ++next)
        order.push_back(next);
      if (loop)
        ++barriers; // between steps
      unsigned newest = graph.isCollective(launch) ? ++collectives : newestCollective[launch];
      for (unsigned follower : after[launch]) {
        newestNeeded[follower] = barriers;
        newestCollective[follower] = std::max(newestCollective[follower], newest);
        if (--waitsFor[follower] == 0)
          push(follower);
      }
    }
    if (order.size() == after.size()) {
      graph.reorder(order);
      return success();
    }
    return reportCycle(waitsFor);
  }

private:
  unsigned standsFor(unsigned launch) const {
    const EntryGraph::Loop *loop = graph.findLoop(launch);
    return loop ? loop->first : launch;
  }
  void addOrder(unsigned first, unsigned second) {
    first = standsFor(first), second = standsFor(second);
    if (first != second)
      after[first].insert(second);
  }

  /// A launch with large inputs is not small, even if its results are: its inputs take memory until it runs.
  bool isSmall(unsigned launch) const {
    int64_t bytes = graph.getResultBytes(launch);
    for (EntryGraph::Id input : graph.inputs[launch])
      graph.forEachProducer(input, [&](unsigned) { bytes += graph.values[input].bytes; });
    return bytes <= kSmallBytes;
  }

  void addUpdate(StringAttr variable, const EntryValue &value) {
    if (value.launch < 0)
      return;
    updates[value.launch] = true;
    for (EntryGraph::Id old : graph.getOldValues(variable))
      addReadersBefore(old, value.launch);
    // Before ranks gather a new value, Adam writes its part into the variable's memory. Adam, too, must follow the
    // readers of the old value.
    if (isa<AllGatherOp>(graph.launches[value.launch]))
      if (auto made = graph.getReuse(value.launch, value.result))
        addUpdate(variable, graph.values[*made]);
  }

  void addReadersBefore(EntryGraph::Id value, unsigned launch) {
    for (EntryValue::Use use : graph.values[value].uses)
      if (use.launch != launch)
        addOrder(use.launch, launch);
  }

  /// Reports a launch that overwrites a value which is needed later. Every cycle contains such a launch, because data
  /// dependences alone have no cycles.
  LogicalResult reportCycle(ArrayRef<unsigned> waitsFor) {
    for (auto &[variable, write] : graph.writes) {
      int64_t launch = graph.values[write.value].launch;
      if (launch >= 0 && waitsFor[launch] && !graph.getOldValues(variable).empty())
        return write.op.emitError() << "entry '" << graph.function.getSymName() << "' needs the old value of variable '"
                                    << variable.getValue() << "' after the new value: add an op that copies it";
    }
    for (unsigned launch = 0; launch < waitsFor.size(); ++launch)
      if (waitsFor[launch] && graph.isInPlace(launch))
        return graph.launches[launch]->emitError()
               << "entry '" << graph.function.getSymName() << "' needs the input that this launch of @"
               << cast<tile::LaunchOp>(graph.launches[launch]).getKernel()
               << " overwrites, after the launch: add an op that copies it";
    llvm_unreachable("a cycle without an overwriting launch");
  }

  EntryGraph &graph;
  std::vector<llvm::SetVector<unsigned>> after; // by launch: the launches that must follow it
  SmallVector<bool> updates;
};

} // namespace

LogicalResult mlir::heddle::scheduleLaunches(EntryGraph &graph) {
  repeatSmallUpdates(graph);
  return Scheduler(graph).run();
}
