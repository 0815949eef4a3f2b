#include "compiler/Planning/EntryGraph.h"

using namespace mlir;
using namespace mlir::heddle;

SizeMaxima mlir::heddle::getSizeMaxima(ModuleOp module) {
  SizeMaxima maxima;
  for (auto size : module.getOps<SizeOp>())
    maxima[size.getSymName()] = size.getMaximum();
  return maxima;
}

int64_t mlir::heddle::getMaximumBytes(RankedTensorType type, const SizeMaxima &maxima) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes *= type.isDynamicDim(dim) ? maxima.lookup(getSizeName(type, dim)) : type.getDimSize(dim);
  return bytes;
}

/// Reports a dynamic dimension whose extent no `heddle.size` bounds.
static LogicalResult verifySizes(Operation *op, Type type, const SizeMaxima &maxima) {
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (tensor.isDynamicDim(dim) && !maxima.contains(getSizeName(tensor, dim)))
      return op->emitError() << "dimension " << dim << " of " << type << " is named after no heddle.size";
  return success();
}

EntryGraph::Id EntryGraph::addValue(EntryValue value) {
  values.push_back(std::move(value));
  return values.size() - 1;
}

FailureOr<EntryGraph> EntryGraph::build(func::FuncOp function, const SizeMaxima &maxima) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "entry '" << function.getSymName() << "' is not one block of launches";
  EntryGraph graph;
  graph.function = function;
  DenseMap<Value, Id> ids;
  auto bytesOf = [&](Type type) { return getMaximumBytes(cast<RankedTensorType>(type), maxima); };

  for (Value argument : function.getArguments()) {
    if (failed(verifySizes(function, argument.getType(), maxima)))
      return failure();
    EntryValue value(EntryValue::Argument);
    value.bytes = bytesOf(argument.getType());
    graph.arguments.push_back(ids[argument] = graph.addValue(std::move(value)));
  }
  for (Operation &op : function.getBody().front()) {
    for (Type type : op.getResultTypes())
      if (failed(verifySizes(&op, type, maxima)))
        return failure();
    if (auto read = dyn_cast<ReadOp>(op)) {
      StringAttr variable = read.getVariableAttr().getAttr();
      if (auto write = graph.writes.find(variable); write != graph.writes.end()) {
        ids[read.getResult()] = write->second.value;
        continue;
      }
      auto [old, isNew] = graph.oldValues.try_emplace(variable, 0);
      if (isNew) {
        EntryValue value(EntryValue::OldVariable);
        value.variable = variable;
        value.bytes = bytesOf(read.getType());
        old->second = graph.addValue(std::move(value));
      }
      ids[read.getResult()] = old->second;
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      graph.writes[write.getVariableAttr().getAttr()] = {ids.at(write.getValue()), write};
    } else if (auto launch = dyn_cast<tile::LaunchOp>(op)) {
      unsigned index = graph.launches.size();
      graph.launches.push_back(launch);
      SmallVector<Id> &inputs = graph.inputs.emplace_back();
      for (auto [position, input] : llvm::enumerate(launch.getInputs())) {
        inputs.push_back(ids.at(input));
        graph.values[inputs.back()].uses.push_back({index, static_cast<unsigned>(position)});
      }
      SmallVector<Id> &results = graph.results.emplace_back();
      for (OpResult result : launch.getResults()) {
        EntryValue value(EntryValue::Result);
        value.bytes = bytesOf(result.getType());
        value.launch = index;
        value.result = result.getResultNumber();
        results.push_back(ids[result] = graph.addValue(std::move(value)));
      }
    } else if (isa<func::ReturnOp>(op)) {
      for (Value operand : op.getOperands()) {
        graph.outputs.push_back(ids.at(operand));
        graph.values[graph.outputs.back()].isOutput = true;
      }
    } else {
      return op.emitOpError() << "cannot be planned: entry '" << function.getSymName()
                              << "' may hold reads, writes and launches only";
    }
  }
  return graph;
}

void EntryGraph::reorder(ArrayRef<unsigned> order) {
  SmallVector<unsigned> places(order.size());
  for (auto [place, launch] : llvm::enumerate(order))
    places[launch] = place;
  auto permute = [&](auto &list) {
    auto old = std::move(list);
    list.clear();
    for (unsigned launch : order)
      list.push_back(std::move(old[launch]));
  };
  permute(launches);
  permute(inputs);
  permute(results);
  for (EntryValue &value : values) {
    if (value.launch >= 0)
      value.launch = places[value.launch];
    for (EntryValue::Use &use : value.uses)
      use.launch = places[use.launch];
    llvm::sort(value.uses, [](auto a, auto b) { return std::pair(a.launch, a.input) < std::pair(b.launch, b.input); });
  }
}

void EntryGraph::repeatForWrites(unsigned launch) {
  unsigned copy = launches.size();
  launches.push_back(launches[launch]);
  inputs.push_back(SmallVector<Id>(inputs[launch]));
  for (auto [position, input] : llvm::enumerate(inputs[copy]))
    values[input].uses.push_back({copy, static_cast<unsigned>(position)});
  results.emplace_back();
  for (Id original : SmallVector<Id>(results[launch])) {
    EntryValue value(EntryValue::Result);
    value.bytes = values[original].bytes;
    value.launch = copy;
    value.result = values[original].result;
    Id id = addValue(std::move(value));
    results[copy].push_back(id);
    for (auto &[variable, write] : writes)
      if (write.value == original)
        write.value = id;
  }
}

int64_t EntryGraph::getResultBytes(unsigned launch) const {
  int64_t bytes = 0;
  for (Id result : results[launch])
    bytes += values[result].bytes;
  return bytes;
}

std::optional<EntryGraph::Id> EntryGraph::getReuse(unsigned launch, unsigned result) const {
  tile::LaunchOp op = launches[launch];
  int64_t input = op.getReuse()[result];
  return input < 0 ? std::nullopt : std::optional(inputs[launch][input]);
}

bool EntryGraph::isInPlace(unsigned launch) const { return launches[launch]->hasAttr("inplace"); }

bool EntryGraph::isOnlyReuse(Id value, unsigned launch, unsigned result) const {
  tile::LaunchOp op = launches[launch];
  int64_t reuse = op.getReuse()[result];
  return llvm::all_of(values[value].uses, [&](EntryValue::Use use) {
    return use.launch != launch || static_cast<int64_t>(use.input) == reuse;
  });
}

std::optional<EntryGraph::Id> EntryGraph::getOldValue(StringAttr variable) const {
  auto found = oldValues.find(variable);
  return found == oldValues.end() ? std::nullopt : std::optional(found->second);
}
