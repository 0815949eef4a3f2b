#include "compiler/Planning/Schedule.h"

#include "llvm/ADT/SetVector.h"

#include <queue>

using namespace mlir;
using namespace mlir::heddle;

namespace {

class Scheduler {
public:
  explicit Scheduler(EntryGraph &graph) : graph(graph), after(graph.launches.size()), updates(graph.launches.size()) {
    for (auto [launch, inputs] : llvm::enumerate(graph.inputs))
      for (EntryGraph::Id input : inputs)
        if (graph.values[input].launch >= 0)
          after[graph.values[input].launch].insert(launch);
    for (auto &[variable, write] : graph.writes)
      addUpdate(variable, graph.values[write.value]);
    for (unsigned launch = 0; launch < graph.launches.size(); ++launch)
      if (graph.isInPlace(launch))
        for (unsigned result = 0; result < graph.results[launch].size(); ++result)
          if (auto reused = graph.getReuse(launch, result))
            addReadersBefore(*reused, launch);
  }

  LogicalResult run() {
    SmallVector<unsigned> waitsFor(after.size());
    for (const auto &edges : after)
      for (unsigned launch : edges)
        ++waitsFor[launch];
    // Updates first, then in the order given.
    using Key = std::pair<bool, unsigned>;
    std::priority_queue<Key, std::vector<Key>, std::greater<Key>> ready;
    auto push = [&](unsigned launch) { ready.push({!updates[launch], launch}); };
    for (unsigned launch = 0; launch < after.size(); ++launch)
      if (waitsFor[launch] == 0)
        push(launch);
    SmallVector<unsigned> order;
    while (!ready.empty()) {
      unsigned launch = ready.top().second;
      ready.pop();
      order.push_back(launch);
      for (unsigned next : after[launch])
        if (--waitsFor[next] == 0)
          push(next);
    }
    if (order.size() == after.size()) {
      graph.reorder(order);
      return success();
    }
    return reportCycle(waitsFor);
  }

private:
  void addUpdate(StringAttr variable, const EntryValue &value) {
    if (value.launch < 0)
      return;
    updates[value.launch] = true;
    if (auto old = graph.getOldValue(variable))
      addReadersBefore(*old, value.launch);
  }

  void addReadersBefore(EntryGraph::Id value, unsigned launch) {
    for (EntryValue::Use use : graph.values[value].uses)
      if (use.launch != launch)
        after[use.launch].insert(launch);
  }

  /// Data alone makes no cycle: there is an overwriting launch among those that wait.
  LogicalResult reportCycle(ArrayRef<unsigned> waitsFor) {
    for (auto &[variable, write] : graph.writes) {
      int64_t launch = graph.values[write.value].launch;
      if (launch >= 0 && waitsFor[launch] && graph.getOldValue(variable))
        return write.op.emitError() << "entry '" << graph.function.getSymName() << "' needs the old value of variable '"
                                    << variable.getValue() << "' after the new one: that takes a copy kernel";
    }
    for (unsigned launch = 0; launch < waitsFor.size(); ++launch)
      if (waitsFor[launch] && graph.isInPlace(launch))
        return graph.launches[launch].emitError()
               << "entry '" << graph.function.getSymName() << "' needs what this launch of @"
               << graph.launches[launch].getKernel() << " overwrites after it: that takes a copy kernel";
    llvm_unreachable("a cycle without an overwriting launch");
  }

  EntryGraph &graph;
  std::vector<llvm::SetVector<unsigned>> after; // by launch: those that must follow it
  SmallVector<bool> updates;
};

} // namespace

LogicalResult mlir::heddle::scheduleLaunches(EntryGraph &graph) { return Scheduler(graph).run(); }
