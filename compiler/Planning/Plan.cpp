#include "compiler/Planning/Plan.h"

#include "compiler/Contract/DeriveContract.h"
#include "compiler/Cost/Cost.h"
#include "compiler/Planning/AssignStorage.h"
#include "compiler/Planning/Schedule.h"
#include "dialects/Plan/Plan.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class PlanPass : public PassWrapper<PlanPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanPass)

  StringRef getArgument() const override { return "heddle-plan"; }
  StringRef getDescription() const override {
    return "Turn entry points into launches over a static arena and the variables";
  }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<plan::PlanDialect>(); }
  void runOnOperation() override;
};

/// What launches since the last barrier read and write.
class Hazards {
public:
  struct Access {
    Storage place;
    int64_t bytes;
    bool write;
  };

  /// Whether a launch with these accesses must wait for the launches before it.
  bool add(ArrayRef<Access> launch) {
    bool barrier = llvm::any_of(launch, [&](const Access &a) {
      return llvm::any_of(pending, [&](const Access &b) { return (a.write || b.write) && overlap(a, b); });
    });
    if (barrier)
      pending.clear();
    llvm::append_range(pending, launch);
    return barrier;
  }

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
  void buildLaunch(unsigned launch);
  Attribute binding(plan::Space space, StringRef name, int64_t offset, int64_t bytes) {
    return plan::BindingAttr::get(builder.getContext(), space, name, offset, bytes);
  }

  EntryGraph &graph;
  const StoragePlan &storage;
  OpBuilder builder;
  Hazards hazards;
};

} // namespace

LogicalResult EntryBuilder::build() {
  func::FuncOp function = graph.function;
  auto entry = plan::EntryOp::create(builder, function.getLoc(), function.getSymName(), storage.arenaBytes);
  entry->setAttr("kept_bytes", builder.getI64IntegerAttr(storage.keptBytes));
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
  for (unsigned launch = 0; launch < graph.launches.size(); ++launch)
    buildLaunch(launch);
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
  PortOp::create(
      builder, graph.function.getLoc(), name, TypeAttr::get(type), builder.getI64IntegerAttr(storage.places[id].offset),
      builder.getI64IntegerAttr(graph.values[id].bytes), builder.getI64IntegerAttr(limit ? limit.getInt() : 0));
  return success();
}

void EntryBuilder::buildLaunch(unsigned index) {
  tile::LaunchOp launch = graph.launches[index];
  SmallVector<Attribute> bindings;
  SmallVector<Hazards::Access> accesses;
  auto bind = [&](EntryGraph::Id id, bool write) {
    const Storage &place = storage.places[id];
    int64_t bytes = graph.values[id].bytes;
    bindings.push_back(place.variable ? binding(plan::Space::Variable, place.variable, place.offset, bytes)
                                      : binding(plan::Space::Arena, "", place.offset, bytes));
    accesses.push_back({place, bytes, write});
  };
  for (EntryGraph::Id id : graph.inputs[index])
    bind(id, /*write=*/false);
  for (EntryGraph::Id id : graph.results[index])
    bind(id, /*write=*/true);
  for (auto size : launch.getSizes().getAsRange<StringAttr>())
    bindings.push_back(binding(plan::Space::Size, size, 0, 4));
  auto unitIf = [&](bool condition) { return condition ? builder.getUnitAttr() : UnitAttr(); };
  auto planned = plan::LaunchOp::create(
      builder, launch.getLoc(), launch.getKernelAttr(), launch.getGrid(), builder.getArrayAttr(bindings),
      unitIf(hazards.add(accesses)), builder.getTypeArrayAttr(llvm::to_vector(launch.getInputs().getTypes())),
      builder.getTypeArrayAttr(llvm::to_vector(launch.getResultTypes())), unitIf(launch->hasAttr("infinities")));
  if (Attribute cost = launch->getDiscardableAttr(kCostAttrName))
    planned->setDiscardableAttr(kCostAttrName, cost);
}

static LogicalResult planEntry(func::FuncOp function, const SizeMaxima &maxima, const VariablePlaces &variables) {
  FailureOr<EntryGraph> graph = EntryGraph::build(function, maxima, variables);
  if (failed(graph) || failed(scheduleLaunches(*graph)))
    return failure();
  FailureOr<StoragePlan> storage = assignStorage(*graph);
  if (failed(storage))
    return failure();
  return EntryBuilder(*graph, *storage).build();
}

void PlanPass::runOnOperation() {
  SizeMaxima maxima = getSizeMaxima(getOperation());
  VariablePlaces variables = getVariablePlaces(getOperation());
  for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(planEntry(function, maxima, variables)))
      return signalPassFailure();
}

std::unique_ptr<Pass> mlir::heddle::createPlanPass() { return std::make_unique<PlanPass>(); }

void mlir::heddle::registerPlanPass() { PassRegistration<PlanPass>(); }
