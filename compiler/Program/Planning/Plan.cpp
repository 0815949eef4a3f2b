#include "compiler/Program/Planning/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Program/Contract/DeriveContract.h"
#include "compiler/Program/Planning/ArenaAllocator.h"
#include "compiler/Program/Planning/AssignStorage.h"
#include "compiler/Program/Planning/LaunchSchedule.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_PLANPASS
#include "compiler/Program/Planning/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class PlanPass : public mlir::heddle::impl::PlanPassBase<PlanPass> {
public:
  using PlanPassBase::PlanPassBase;
  void runOnOperation() override;
};

/// The reads and writes of launches since the last barrier.
class Hazards {
public:
  struct Access {
    Storage place;
    int64_t bytes;
    bool write;
  };

  /// Adds a launch with these accesses, and returns true if it needs a barrier. The first launch of a step always does,
  /// because it follows the last launch of the step before.
  bool add(ArrayRef<Access> launch, bool beginsStep) {
    bool barrier =
        beginsStep || llvm::any_of(launch, [&](const Access &a) {
          return llvm::any_of(pending, [&](const Access &b) { return (a.write || b.write) && overlap(a, b); });
        });
    if (barrier)
      pending.clear();
    note(launch);
    return barrier;
  }
  /// Adds accesses that need no barrier, such as those of collectives.
  void note(ArrayRef<Access> accesses) { llvm::append_range(pending, accesses); }

private:
  static bool overlap(const Access &a, const Access &b) {
    if (a.place.variable != b.place.variable)
      return false;
    return a.place.offset < b.place.offset + b.bytes && b.place.offset < a.place.offset + a.bytes;
  }

  SmallVector<Access> pending;
};

class EntryBuilder {
public:
  EntryBuilder(EntryGraph &graph, const StoragePlan &storage)
      : graph(graph), storage(storage), builder(graph.function) {}

  LogicalResult build();

private:
  template <typename PortOp>
  LogicalResult buildPort(EntryGraph::Id id, Type type, DictionaryAttr attributes, StringRef what, unsigned number);
  void buildRepeat(const EntryGraph::Loop &loop);
  LogicalResult buildLaunch(unsigned launch);
  void buildCollective(unsigned launch);
  FailureOr<plan::ShardAttr> shardOf(tile::LaunchOp launch, unsigned index);
  Attribute binding(EntryGraph::Id id) {
    const Storage &place = storage.places[id];
    const EntryValue &value = graph.values[id];
    return plan::BindingAttr::get(builder.getContext(), place.variable ? plan::Space::Variable : plan::Space::Arena,
                                  place.variable ? place.variable.getValue() : "", place.offset, value.bytes,
                                  value.stride);
  }

  EntryGraph &graph;
  const StoragePlan &storage;
  OpBuilder builder;
  Hazards hazards;
  plan::RepeatOp repeat; // the last one
};

} // namespace

LogicalResult EntryBuilder::build() {
  func::FuncOp function = graph.function;
  ArrayRef<int64_t> blocks = storage.blocks;
  auto entry = plan::EntryOp::create(
      builder, function.getLoc(), function.getSymName(), llvm::sum_of(blocks, int64_t(0)),
      blocks.size() > 1 ? builder.getDenseI64ArrayAttr(blocks) : DenseI64ArrayAttr(), storage.keptBytes);
  builder.setInsertionPointToStart(&entry.getBody().emplaceBlock());
  for (auto [number, id] : llvm::enumerate(graph.arguments))
    if (failed(buildPort<plan::InputOp>(id, function.getArgumentTypes()[number], function.getArgAttrDict(number),
                                        "argument", number)))
      return failure();
  for (auto [number, id] : llvm::enumerate(graph.outputs))
    if (failed(buildPort<plan::OutputOp>(id, function.getResultTypes()[number], function.getResultAttrDict(number),
                                         "result", number)))
      return failure();
  if (auto conditions = function->getAttrOfType<ArrayAttr>(kSegmentsAttrName))
    for (auto condition : conditions.getAsRange<plan::SegmentsAttr>())
      plan::SegmentsOp::create(builder, function.getLoc(), condition);
  for (unsigned launch = 0; launch < graph.launches.size(); ++launch) {
    OpBuilder::InsertionGuard guard(builder);
    if (const EntryGraph::Loop *loop = graph.findLoop(launch)) {
      if (launch == loop->first)
        buildRepeat(*loop);
      builder.setInsertionPointToEnd(&repeat.getBody().front());
    }
    if (graph.isCollective(launch))
      buildCollective(launch);
    else if (failed(buildLaunch(launch)))
      return failure();
  }
  function.erase();
  return success();
}

template <typename PortOp>
LogicalResult EntryBuilder::buildPort(EntryGraph::Id id, Type type, DictionaryAttr attributes, StringRef what,
                                      unsigned number) {
  auto name = attributes ? attributes.getAs<StringAttr>("heddle.name") : StringAttr();
  if (!name)
    return graph.function.emitError() << what << " " << number << " of entry '" << graph.function.getSymName()
                                      << "' has no heddle.name";
  auto limit = attributes.getAs<IntegerAttr>("heddle.limit");
  PortOp::create(builder, graph.function.getLoc(), name, TypeAttr::get(type),
                 builder.getI64IntegerAttr(storage.places[id].offset),
                 builder.getI64IntegerAttr(graph.values[id].bytes),
                 builder.getI64IntegerAttr(limit ? limit.getInt() : 0), attributes.getAs<StringAttr>("heddle.role"));
  return success();
}

void EntryBuilder::buildRepeat(const EntryGraph::Loop &loop) {
  RepeatOp op = loop.op;
  auto steps = cast<RankedTensorType>(op.getStarts().getType()).getDimSize(0);
  repeat =
      plan::RepeatOp::create(builder, op.getLoc(), op.getTrips(), steps, op.getReverse(), op.getStep(), op.getTokens());
  repeat.getBody().emplaceBlock();
}

LogicalResult EntryBuilder::buildLaunch(unsigned index) {
  auto launch = cast<tile::LaunchOp>(graph.launches[index]);
  const EntryGraph::Loop *loop = graph.findLoop(index);
  SmallVector<Attribute> tensors;
  SmallVector<Hazards::Access> accesses;
  auto bind = [&](EntryGraph::Id id, bool write) {
    tensors.push_back(binding(id));
    int64_t steps = graph.values[id].stride ? static_cast<int64_t>(repeat.getSteps()) - 1 : 0;
    accesses.push_back({storage.places[id], graph.values[id].bytes + steps * graph.values[id].stride, write});
  };
  for (EntryGraph::Id id : graph.inputs[index])
    bind(id, /*write=*/false);
  for (EntryGraph::Id id : graph.results[index])
    bind(id, /*write=*/true);
  FailureOr<plan::ShardAttr> shard = shardOf(launch, index);
  if (failed(shard))
    return failure();
  auto unitIf = [&](bool condition) { return condition ? builder.getUnitAttr() : UnitAttr(); };
  bool barrier = hazards.add(accesses, loop && index == loop->first);
  auto plan = [&](FlatSymbolRefAttr kernel, ArrayAttr grid, ArrayAttr sizes) {
    SmallVector<Attribute> bindings = tensors;
    for (auto size : sizes.getAsRange<StringAttr>())
      bindings.push_back(loop && size == RepeatOp(loop->op).getStepAttr()
                             ? binding(loop->counts)
                             : plan::BindingAttr::get(builder.getContext(), plan::Space::Size, size, 0, 4, 0));
    auto planned = plan::LaunchOp::create(
        builder, launch.getLoc(), kernel, grid, builder.getArrayAttr(bindings), unitIf(std::exchange(barrier, false)),
        builder.getTypeArrayAttr(llvm::to_vector(launch.getInputs().getTypes())),
        builder.getTypeArrayAttr(llvm::to_vector(launch.getResultTypes())), unitIf(launch.getInfinities()), *shard);
    if (Attribute cost = launch->getDiscardableAttr(kCostAttrName))
      planned->setDiscardableAttr(kCostAttrName, cost);
  };
  // A call runs only one of the variants, so they need no barriers between them.
  if (std::optional<ArrayAttr> variants = launch.getVariants())
    for (auto variant : variants->getAsRange<tile::VariantAttr>())
      plan(variant.getKernel(), variant.getGrid(), variant.getSizes());
  plan(launch.getKernelAttr(), launch.getGrid(), launch.getSizes());
  return success();
}

/// The shard of a launch that each rank runs for its part of a sharded variable; null for other launches.
FailureOr<plan::ShardAttr> EntryBuilder::shardOf(tile::LaunchOp launch, unsigned index) {
  auto rows = launch->getAttrOfType<DenseI64ArrayAttr>(tile::kShardAttrName);
  if (!rows)
    return plan::ShardAttr();
  for (EntryGraph::Id id : graph.results[index])
    if (StringAttr variable = storage.places[id].variable; variable && graph.placeOf(variable).isSharded)
      return plan::ShardAttr::get(builder.getContext(), variable.getValue(), rows[0], rows[1]);
  return launch.emitOpError("is done by each rank for its part, and changes no sharded variable");
}

/// Only the first launch that needs a collective's results waits for it. Launches before that do not wait.
void EntryBuilder::buildCollective(unsigned index) {
  SmallVector<Attribute> from, to;
  SmallVector<Hazards::Access> accesses;
  for (auto [input, result] : llvm::zip_equal(graph.inputs[index], graph.results[index])) {
    from.push_back(binding(input));
    to.push_back(binding(result));
    accesses.push_back({storage.places[input], graph.values[input].bytes, /*write=*/false});
    accesses.push_back({storage.places[result], graph.values[result].bytes, /*write=*/true});
  }
  hazards.note(accesses);
  auto create = [&](plan::Collective what, ArrayAttr like) {
    plan::CollectiveOp::create(builder, graph.launches[index]->getLoc(), what, builder.getArrayAttr(from),
                               builder.getArrayAttr(to), like);
  };
  llvm::TypeSwitch<Operation *>(graph.launches[index])
      .Case([&](AllGatherOp op) { create(plan::Collective::AllGather, op.getLikeAttr()); })
      .Case([&](ReduceScatterOp op) { create(plan::Collective::ReduceScatter, op.getLikeAttr()); })
      .Default([&](Operation *) { create(plan::Collective::AllReduce, ArrayAttr()); });
}

static LogicalResult planEntry(func::FuncOp function, const SizeMaxima &maxima, const VariablePlaces &variables,
                               int64_t mostBytes) {
  FailureOr<EntryGraph> graph = EntryGraph::build(function, maxima, variables);
  if (failed(graph) || failed(scheduleLaunches(*graph)))
    return failure();
  FailureOr<StoragePlan> storage = assignStorage(*graph, mostBytes);
  if (failed(storage))
    return failure();
  return EntryBuilder(*graph, *storage).build();
}

/// Reports variables that exceed the maximum allocation. Each variable that is not a view is one allocation.
static LogicalResult verifyVariables(ModuleOp module, const VariablePlaces &variables, int64_t mostBytes) {
  for (auto variable : module.getOps<VariableOp>()) {
    const VariablePlace &place = variables.find(variable.getSymNameAttr())->second;
    if (place.storage == variable.getSymNameAttr() && !place.isSharded && place.bytes > mostBytes)
      return variable.emitError() << "variable '" << variable.getSymName() << "' has " << place.bytes
                                  << " bytes, and at most " << mostBytes
                                  << " are allocated at once: make batches or the model smaller, or raise "
                                     "--max-allocation if the device allocates more";
  }
  return success();
}

void PlanPass::runOnOperation() {
  if (maxAllocation < 0 || (maxAllocation > 0 && maxAllocation < kArenaAlignment)) {
    getOperation()->emitError() << "max-allocation is " << maxAllocation << "; expects 0, or at least "
                                << kArenaAlignment << " bytes";
    return signalPassFailure();
  }
  SizeMaxima maxima = getSizeMaxima(getOperation());
  VariablePlaces variables = getVariablePlaces(getOperation());
  int64_t mostBytes =
      maxAllocation > 0 ? maxAllocation / kArenaAlignment * kArenaAlignment : std::numeric_limits<int64_t>::max();
  if (failed(verifyVariables(getOperation(), variables, mostBytes)))
    return signalPassFailure();
  for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(planEntry(function, maxima, variables, mostBytes)))
      return signalPassFailure();
}
