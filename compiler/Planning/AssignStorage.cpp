#include "compiler/Planning/AssignStorage.h"

#include "compiler/Planning/ArenaAllocator.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

// Time 0 is when the host writes the arguments, time i + 1 is launch i, and after the last one the host reads the
// outputs.
class Assigner {
public:
  explicit Assigner(EntryGraph &graph)
      : graph(graph), variables(graph.values.size()), buffers(graph.values.size(), kNone) {}

  FailureOr<StoragePlan> run();

private:
  using Id = EntryGraph::Id;
  static constexpr int kNone = -1;

  InFlightDiagnostic copyNeeded(Operation *op, StringAttr variable) {
    return op->emitError() << "entry '" << graph.function.getSymName() << "' gives variable '" << variable.getValue()
                           << "' a value that would have to be copied: ";
  }

  LogicalResult placeInVariable(StringAttr variable, EntryGraph::Write write);
  bool mayOverwrite(StringAttr variable, Id value) const;
  LogicalResult placeInArena();
  bool mayTakeOver(Id input, unsigned launch, unsigned result) const;
  int64_t firstTime(Id value) const { return graph.values[value].launch + 1; }
  int64_t lastTime(Id value) const;
  int64_t countKeptBytes() const;

  EntryGraph &graph;
  SmallVector<StringAttr> variables; // by value: where it is in a variable's memory
  SmallVector<int> buffers;          // by value: where it is in the arena
  SmallVector<ArenaBuffer> arena;
};

} // namespace

FailureOr<StoragePlan> Assigner::run() {
  for (auto [id, value] : llvm::enumerate(graph.values))
    variables[id] = value.variable;
  for (auto &[variable, write] : graph.writes)
    if (failed(placeInVariable(variable, write)))
      return failure();
  if (failed(placeInArena()))
    return failure();

  StoragePlan plan;
  plan.arenaBytes = allocateArena(arena);
  plan.keptBytes = countKeptBytes();
  for (auto [variable, buffer] : llvm::zip(variables, buffers))
    plan.places.push_back({variable, buffer == kNone ? 0 : arena[buffer].offset});
  return plan;
}

/// Whether the launch that makes `value` may write it over the variable's old value.
bool Assigner::mayOverwrite(StringAttr variable, Id value) const {
  std::optional<Id> old = graph.getOldValue(variable);
  if (!old)
    return true;
  unsigned launch = graph.values[value].launch;
  return !graph.values[*old].isOutput && graph.isOnlyReuse(*old, launch, graph.values[value].result) &&
         llvm::all_of(graph.values[*old].uses, [&](EntryValue::Use use) { return use.launch <= launch; });
}

LogicalResult Assigner::placeInVariable(StringAttr variable, EntryGraph::Write write) {
  const EntryValue &value = graph.values[write.value];
  if (value.kind == EntryValue::OldVariable && value.variable == variable)
    return success();
  if (value.kind != EntryValue::Result)
    return copyNeeded(write.op, variable) << "it is an argument or another variable";
  if (variables[write.value])
    return copyNeeded(write.op, variable)
           << "it is the value of variable '" << variables[write.value].getValue() << "' too";
  if (value.isOutput)
    return copyNeeded(write.op, variable) << "it is an output of the entry too";
  if (!mayOverwrite(variable, write.value))
    return copyNeeded(write.op, variable) << "the old value is still needed when the new one is written";
  // A chain of updates, each in the memory of the one before, lies in the variable from end to end.
  Id id = write.value;
  while (true) {
    variables[id] = variable;
    unsigned launch = graph.values[id].launch;
    std::optional<Id> before = graph.getReuse(launch, graph.values[id].result);
    if (!before || graph.values[*before].kind != EntryValue::Result || variables[*before] ||
        !mayTakeOver(*before, launch, graph.values[id].result) || !mayOverwrite(variable, *before))
      return success();
    id = *before;
  }
}

/// Whether `input` dies where the result is made, so that the result can have its memory.
bool Assigner::mayTakeOver(Id input, unsigned launch, unsigned result) const {
  return !graph.values[input].isOutput && lastTime(input) == launch + 1 && graph.isOnlyReuse(input, launch, result) &&
         graph.values[input].bytes == graph.values[graph.results[launch][result]].bytes;
}

int64_t Assigner::lastTime(Id value) const {
  if (graph.values[value].isOutput)
    return graph.launches.size() + 1;
  int64_t last = firstTime(value);
  for (EntryValue::Use use : graph.values[value].uses)
    last = std::max<int64_t>(last, use.launch + 1);
  return last;
}

LogicalResult Assigner::placeInArena() {
  for (Id output : graph.outputs)
    if (variables[output])
      return graph.function.emitError() << "entry '" << graph.function.getSymName() << "' returns variable '"
                                        << variables[output].getValue() << "', which would have to be copied";
  auto newBuffer = [&](Id id) {
    buffers[id] = arena.size();
    arena.push_back({graph.values[id].bytes, firstTime(id), lastTime(id)});
  };
  llvm::for_each(graph.arguments, newBuffer);

  for (auto [launch, results] : llvm::enumerate(graph.results)) {
    for (auto [result, id] : llvm::enumerate(results)) {
      std::optional<Id> reused = graph.getReuse(launch, result);
      if (!variables[id]) {
        bool takesOver = reused && buffers[*reused] != kNone && mayTakeOver(*reused, launch, result) &&
                         llvm::none_of(results, [&](Id other) { return buffers[other] == buffers[*reused]; });
        if (takesOver) {
          buffers[id] = buffers[*reused];
          arena[buffers[id]].last = std::max(arena[buffers[id]].last, lastTime(id));
        } else {
          newBuffer(id);
        }
      }
      bool shares = reused && variables[id] == variables[*reused] && buffers[id] == buffers[*reused];
      if (graph.isInPlace(launch) && reused && !shares)
        return graph.launches[launch].emitError()
               << "entry '" << graph.function.getSymName() << "': @" << graph.launches[launch].getKernel()
               << " changes its input in place, but that input is still needed or is a variable that keeps its value: "
                  "that takes a copy kernel";
    }
  }
  return success();
}

int64_t Assigner::countKeptBytes() const {
  SmallVector<int64_t> change(graph.launches.size() + 3);
  for (Id id = 0; id < graph.values.size(); ++id) {
    int64_t first = firstTime(id), last = lastTime(id);
    if (buffers[id] == kNone || last <= first + 1)
      continue;
    change[first] += graph.values[id].bytes;
    change[last] -= graph.values[id].bytes;
  }
  int64_t held = 0, most = 0;
  for (int64_t delta : change)
    most = std::max(most, held += delta);
  return most;
}

FailureOr<StoragePlan> mlir::heddle::assignStorage(EntryGraph &graph) { return Assigner(graph).run(); }
