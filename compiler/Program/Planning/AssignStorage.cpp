#include "compiler/Program/Planning/AssignStorage.h"

#include "compiler/Program/Planning/ArenaAllocator.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

// Time 0 is when the host writes the arguments. Time i + 1 is launch i. After the last launch the host reads the
// outputs.
class Assigner {
public:
  Assigner(EntryGraph &graph, int64_t mostBytes)
      : graph(graph), mostBytes(mostBytes), variables(graph.values.size()), buffers(graph.values.size(), kNone) {}

  FailureOr<StoragePlan> run();

private:
  using Id = EntryGraph::Id;
  static constexpr int kNone = -1;

  InFlightDiagnostic copyNeeded(Operation *op, StringAttr variable) {
    return op->emitError() << "entry '" << graph.function.getSymName() << "' gives variable '" << variable.getValue()
                           << "' a value that would need a copy kernel: ";
  }

  LogicalResult placeInVariable(StringAttr variable, EntryGraph::Write write);
  bool mayOverwrite(StringAttr variable, Id value) const;
  LogicalResult placeInArena();
  bool mayTakeOver(Id input, unsigned launch, unsigned result) const;
  bool sharePlace(Id a, Id b) const;
  LogicalResult newBuffer(Id root);
  int64_t firstTime(Id value) const;
  int64_t lastTime(Id value) const;
  int64_t countKeptBytes() const;

  EntryGraph &graph;
  const int64_t mostBytes;           // maximum size of a block of the arena
  SmallVector<StringAttr> variables; // by root value: the variable whose memory it uses, or null
  SmallVector<int> buffers;          // by root value: its index in `arena`, or kNone
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
  plan.blocks = allocateArena(arena, mostBytes);
  plan.keptBytes = countKeptBytes();
  for (Id id = 0; id < graph.values.size(); ++id) {
    auto [root, offset] = graph.locate(id);
    if (variables[root]) {
      const VariablePlace &place = graph.placeOf(variables[root]);
      plan.places.push_back({place.storage, place.offset + offset});
    } else {
      plan.places.push_back({StringAttr(), buffers[root] == kNone ? 0 : arena[buffers[root]].offset + offset});
    }
  }
  return plan;
}

/// Returns true if the launch that computes `value` may write it over the variable's old value.
bool Assigner::mayOverwrite(StringAttr variable, Id value) const {
  int64_t launch = graph.values[value].launch, result = graph.values[value].result;
  std::optional<Id> reuse = graph.getReuse(launch, result);
  return llvm::all_of(graph.getOldValues(variable), [&](Id old) {
    return !graph.values[old].isOutput && llvm::all_of(graph.values[old].uses, [&](EntryValue::Use use) {
      return use.launch < launch || (use.launch == launch && reuse == old && graph.isOnlyReuse(old, launch, result) &&
                                     graph.locate(old).offset == graph.placeOf(variable).offset);
    });
  });
}

LogicalResult Assigner::placeInVariable(StringAttr variable, EntryGraph::Write write) {
  const EntryValue &value = graph.values[write.value];
  EntryGraph::Location at = graph.locate(write.value);
  const EntryValue &root = graph.values[at.root];
  const VariablePlace &place = graph.placeOf(variable);
  if (root.kind == EntryValue::OldVariable && root.variable == place.storage && at.offset == place.offset)
    return success();
  if (value.kind != EntryValue::Result)
    return copyNeeded(write.op, variable) << "the value is an argument or another variable, or a part of these";
  if (value.within)
    return copyNeeded(write.op, variable) << "the value is also a part of another tensor";
  if (variables[write.value])
    return copyNeeded(write.op, variable)
           << "the value is also that of variable '" << variables[write.value].getValue() << "'";
  if (value.isOutput)
    return copyNeeded(write.op, variable) << "the value is also an output of the entry";
  if (!mayOverwrite(variable, write.value))
    return copyNeeded(write.op, variable) << "the old value is still needed when the new one is written";
  // If the value is the end of a chain of updates that reuse each other's memory, the whole chain uses the variable's
  // memory.
  Id id = write.value;
  while (true) {
    variables[id] = variable;
    unsigned launch = graph.values[id].launch;
    std::optional<Id> before = graph.getReuse(launch, graph.values[id].result);
    if (!before || graph.values[*before].kind != EntryValue::Result || variables[*before] ||
        graph.values[*before].within || !mayTakeOver(*before, launch, graph.values[id].result) ||
        !mayOverwrite(variable, *before))
      return success();
    id = *before;
  }
}

/// Returns true if the launch is the last use of `input`, so that the result can reuse its memory.
bool Assigner::mayTakeOver(Id input, unsigned launch, unsigned result) const {
  Id taker = graph.results[launch][result];
  auto [root, offset] = graph.locate(input);
  bool isOutput = llvm::any_of(graph.getOverlapping(root), [&](Id id) { return graph.values[id].isOutput; });
  return !isOutput && offset == 0 && !graph.values[taker].within && lastTime(root) == launch + 1 &&
         graph.isOnlyReuse(input, launch, result) && graph.values[root].bytes == graph.values[taker].bytes;
}

/// Returns true if two values start at the same address.
bool Assigner::sharePlace(Id a, Id b) const {
  auto x = graph.locate(a), y = graph.locate(b);
  if (!variables[x.root] != !variables[y.root])
    return false;
  if (!variables[x.root])
    return buffers[x.root] == buffers[y.root] && x.offset == y.offset;
  const VariablePlace &p = graph.placeOf(variables[x.root]), &q = graph.placeOf(variables[y.root]);
  return p.storage == q.storage && p.offset + x.offset == q.offset + y.offset;
}

int64_t Assigner::firstTime(Id value) const {
  int64_t first = std::numeric_limits<int64_t>::max();
  auto add = [&](unsigned launch) { first = std::min<int64_t>(first, launch + 1); };
  graph.forEachProducer(value, add);
  if (graph.values[value].kind == EntryValue::Empty) // live from the start of the first loop that writes rows into it
    for (Id id : graph.getOverlapping(value))
      for (EntryValue::Use use : graph.values[id].uses)
        if (const EntryGraph::Loop *loop = graph.findLoop(use.launch))
          add(loop->first);
  return first == std::numeric_limits<int64_t>::max() ? 0 : first;
}

int64_t Assigner::lastTime(Id value) const {
  int64_t first = firstTime(value), last = first;
  // In a loop, a value from before the loop stays live until the end of the last step.
  bool isEmpty = graph.values[graph.locate(value).root].kind == EntryValue::Empty;
  auto add = [&](unsigned launch) {
    const EntryGraph::Loop *loop = graph.findLoop(launch);
    bool isOlder = loop && (isEmpty || first <= static_cast<int64_t>(loop->first));
    last = std::max<int64_t>(last, isOlder ? loop->end : launch + 1);
  };
  for (Id id : graph.getOverlapping(value)) {
    if (graph.values[id].isOutput)
      return graph.launches.size() + 1;
    graph.forEachProducer(id, add);
    for (EntryValue::Use use : graph.values[id].uses)
      add(use.launch);
  }
  return last;
}

LogicalResult Assigner::newBuffer(Id root) {
  const EntryValue &value = graph.values[root];
  if (value.bytes > mostBytes) {
    Operation *maker = graph.function;
    graph.forEachProducer(root, [&](unsigned launch) { maker = graph.launches[launch]; });
    return maker->emitError() << "entry '" << graph.function.getSymName() << "' has a tensor of " << value.bytes
                              << " bytes, and at most " << mostBytes
                              << " are allocated at once: make batches or the model smaller, or raise --max-allocation "
                                 "if the device allocates more";
  }
  buffers[root] = arena.size();
  arena.push_back({value.bytes, firstTime(root), lastTime(root)});
  return success();
}

LogicalResult Assigner::placeInArena() {
  for (Id output : graph.outputs)
    if (variables[graph.locate(output).root])
      return graph.function.emitError() << "entry '" << graph.function.getSymName() << "' returns variable '"
                                        << variables[graph.locate(output).root].getValue()
                                        << "', which would need a copy kernel";
  for (Id argument : graph.arguments)
    if (failed(newBuffer(argument)))
      return failure();

  for (auto [launch, results] : llvm::enumerate(graph.results)) {
    for (auto [result, id] : llvm::enumerate(results)) {
      std::optional<Id> reused = graph.getReuse(launch, result);
      Id root = graph.locate(id).root;
      if (!variables[root] && buffers[root] == kNone) {
        std::optional<Id> from = reused ? std::optional(graph.locate(*reused).root) : std::nullopt;
        bool takesOver = from && buffers[*from] != kNone && mayTakeOver(*reused, launch, result) &&
                         llvm::none_of(results, [&](Id other) { return buffers[other] == buffers[*from]; });
        if (takesOver) {
          buffers[root] = buffers[*from];
          arena[buffers[root]].last = std::max(arena[buffers[root]].last, lastTime(root));
        } else if (failed(newBuffer(root))) {
          return failure();
        }
      }
      if (graph.isInPlace(launch) && reused && !sharePlace(id, *reused))
        return graph.launches[launch]->emitError()
               << "entry '" << graph.function.getSymName() << "': @"
               << cast<tile::LaunchOp>(graph.launches[launch]).getKernel()
               << " changes its input in place, but the input is still needed, or is a variable that keeps its value: "
                  "add an op that copies it";
    }
  }
  return success();
}

int64_t Assigner::countKeptBytes() const {
  SmallVector<int64_t> change(graph.launches.size() + 3);
  for (Id id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].within)
      continue;
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

FailureOr<StoragePlan> mlir::heddle::assignStorage(EntryGraph &graph, int64_t mostBytes) {
  return Assigner(graph, mostBytes).run();
}
