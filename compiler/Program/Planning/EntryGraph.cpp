#include "compiler/Program/Planning/EntryGraph.h"

#include "dialects/Heddle/Limits.h"

#include <utility>

using namespace mlir;
using namespace mlir::heddle;

int64_t mlir::heddle::getMaximumBytes(RankedTensorType type, const SizeMaxima &maxima) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes *= type.isDynamicDim(dim) ? maxima.lookup(getSizeName(type, dim)) : type.getDimSize(dim);
  return bytes;
}

VariablePlaces mlir::heddle::getVariablePlaces(ModuleOp module) {
  DenseMap<StringAttr, VariableOp> variables;
  for (auto variable : module.getOps<VariableOp>())
    variables[variable.getSymNameAttr()] = variable;
  VariablePlaces places;
  for (auto [name, variable] : variables) {
    RankedTensorType type = variable.getTensorType();
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8, rowBytes = bytes / type.getDimSize(0),
            offset = 0;
    VariableOp storage = variable;
    for (; storage.getStorageAttr(); storage = variables.lookup(storage.getStorageAttr().getAttr()))
      offset += static_cast<int64_t>(storage.getFrom()) * rowBytes;
    places[name] = {storage.getSymNameAttr(), offset, bytes, storage.getSharded()};
  }
  return places;
}

/// Reports types that kernels do not take, and dynamic dimensions that no `heddle.size` bounds.
static LogicalResult verifySizes(Operation *op, Type type, const SizeMaxima &maxima) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isTensorOfKernels(tensor))
    return op->emitError() << "launches take " << kTensorsOfKernels << ", got " << type;
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (tensor.isDynamicDim(dim) && maxima.lookup(getSizeName(tensor, dim)) < 1)
      return op->emitError() << "dimension " << dim << " of " << type << " is named after no heddle.size above 0";
  return success();
}

EntryGraph::Id EntryGraph::addValue(EntryValue value) {
  values.push_back(std::move(value));
  return values.size() - 1;
}

EntryGraph::Location EntryGraph::locate(Id value) const {
  Location location{value, 0};
  for (; values[location.root].within; location.root = *values[location.root].within)
    location.offset += values[location.root].offset;
  return location;
}

SmallVector<EntryGraph::Id> EntryGraph::getOverlapping(Id root, int64_t offset, int64_t bytes) const {
  if (members.size() != values.size()) {
    members.assign(values.size(), {});
    for (Id id = 0; id < values.size(); ++id)
      members[locate(id).root].push_back(id);
  }
  return llvm::filter_to_vector(members[root], [&](Id id) {
    int64_t from = locate(id).offset;
    return from < offset + bytes && offset < from + values[id].bytes;
  });
}

SmallVector<EntryGraph::Id> EntryGraph::getOverlapping(Id value) const {
  Location at = locate(value);
  return getOverlapping(at.root, at.offset, values[value].bytes);
}

void EntryGraph::forEachProducer(Id value, function_ref<void(unsigned)> visit) const {
  const EntryValue &entry = values[value];
  if (entry.kind == EntryValue::Result)
    visit(entry.launch);
  // A value that a repetition writes into another value depends on that value too.
  if (entry.kind == EntryValue::Part || entry.kind == EntryValue::Updated ||
      (entry.kind == EntryValue::Result && entry.within && values[*entry.within].kind != EntryValue::Whole))
    forEachProducer(*entry.within, visit);
  for (Id part : entry.parts)
    forEachProducer(part, visit);
}

/// The value of a variable before the call. There is one value for each variable that owns memory; its views are parts.
FailureOr<EntryGraph::Id> EntryGraph::readVariable(ReadOp read, const SizeMaxima &maxima) {
  StringAttr name = read.getVariableAttr().getAttr();
  VariablePlace place = placeOf(name);
  for (auto &[written, write] : writes)
    if (placeOf(written).overlaps(place))
      return read.emitError() << "entry '" << function.getSymName() << "' reads variable '" << name.getValue()
                              << "' after it has written '" << written.getValue() << "', which shares its memory";
  auto [old, isNew] = oldValues.try_emplace(place.storage, 0);
  if (isNew) {
    EntryValue value(EntryValue::OldVariable);
    value.variable = place.storage;
    value.bytes = placeOf(place.storage).bytes;
    old->second = addValue(std::move(value));
  }
  if (name == place.storage)
    return old->second;
  EntryValue part(EntryValue::Part);
  part.within = old->second;
  part.offset = place.offset;
  part.bytes = place.bytes;
  return addValue(std::move(part));
}

LogicalResult EntryGraph::addPart(SliceOp slice, DenseMap<Value, Id> &ids, const SizeMaxima &maxima) {
  auto input = cast<RankedTensorType>(slice.getInput().getType());
  auto type = cast<RankedTensorType>(slice.getType());
  EntryValue part(EntryValue::Part);
  part.within = ids.at(slice.getInput());
  part.bytes = getMaximumBytes(type, maxima);
  int64_t rows = type.isDynamicDim(0) ? maxima.lookup(getSizeName(type, 0)) : type.getDimSize(0);
  part.offset = static_cast<int64_t>(slice.getFrom()) * (part.bytes / rows);
  if (part.offset + part.bytes > values[*part.within].bytes)
    return slice.emitError() << "entry '" << function.getSymName() << "' takes rows from " << slice.getFrom() << " to "
                             << slice.getFrom() + rows << " of " << input << ", which has not as many";
  ids[slice.getResult()] = addValue(std::move(part));
  return success();
}

LogicalResult EntryGraph::addWhole(ConcatOp concat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima) {
  EntryValue whole(EntryValue::Whole);
  whole.bytes = getMaximumBytes(cast<RankedTensorType>(concat.getType()), maxima);
  int64_t bytes = 0;
  Id id = addValue(std::move(whole));
  for (Value operand : concat.getParts()) {
    Id part = ids.at(operand);
    if (values[part].kind != EntryValue::Result || values[part].within)
      return concat.emitError()
             << "entry '" << function.getSymName()
             << "' concatenates a value that would need a copy kernel: the value is not a launch's result, or is "
                "also part of another tensor";
    values[part].within = id;
    values[part].offset = bytes;
    values[id].parts.push_back(part);
    bytes += values[part].bytes;
  }
  if (bytes != values[id].bytes)
    return concat.emitError() << "entry '" << function.getSymName() << "' concatenates " << bytes << " bytes to "
                              << values[id].bytes;
  ids[concat.getResult()] = id;
  return success();
}

FailureOr<EntryGraph> EntryGraph::build(func::FuncOp function, const SizeMaxima &maxima,
                                        const VariablePlaces &variables) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "entry '" << function.getSymName() << "' is not a single block of launches";
  EntryGraph graph;
  graph.function = function;
  graph.variables = &variables;
  DenseMap<Value, Id> ids;
  auto bytesOf = [&](Type type) { return getMaximumBytes(cast<RankedTensorType>(type), maxima); };

  for (Value argument : function.getArguments()) {
    if (failed(verifySizes(function, argument.getType(), maxima)))
      return failure();
    EntryValue value(EntryValue::Argument);
    value.bytes = bytesOf(argument.getType());
    graph.arguments.push_back(ids[argument] = graph.addValue(std::move(value)));
  }
  if (failed(graph.addOps(function.getBody().front(), ids, maxima)))
    return failure();
  return graph;
}

LogicalResult EntryGraph::addOps(Block &block, DenseMap<Value, Id> &ids, const SizeMaxima &maxima) {
  bool isRepeated = isa<RepeatOp>(block.getParentOp());
  for (Operation &op : block) {
    for (Type type : op.getResultTypes())
      if (failed(verifySizes(&op, type, maxima)))
        return failure();
    if (auto read = dyn_cast<ReadOp>(op)) {
      StringAttr variable = read.getVariableAttr().getAttr();
      if (auto write = writes.find(variable); write != writes.end()) {
        ids[read.getResult()] = write->second.value;
        continue;
      }
      FailureOr<Id> old = readVariable(read, maxima);
      if (failed(old))
        return failure();
      ids[read.getResult()] = *old;
    } else if (auto write = dyn_cast<WriteOp>(op); write && !isRepeated) {
      writes[write.getVariableAttr().getAttr()] = {ids.at(write.getValue()), write};
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      if (failed(addPart(slice, ids, maxima)))
        return failure();
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      EntryValue part(EntryValue::Part);
      part.within = ids.at(reshape.getInput());
      part.bytes = getMaximumBytes(cast<RankedTensorType>(reshape.getType()), maxima);
      ids[reshape.getResult()] = addValue(std::move(part));
    } else if (auto concat = dyn_cast<ConcatOp>(op)) {
      if (failed(addWhole(concat, ids, maxima)))
        return failure();
    } else if (auto empty = dyn_cast<EmptyOp>(op)) {
      EntryValue value(EntryValue::Empty);
      value.bytes = getMaximumBytes(cast<RankedTensorType>(empty.getType()), maxima);
      ids[empty.getResult()] = addValue(std::move(value));
    } else if (isa<tile::LaunchOp>(op) || (heddle::isCollective(&op) && !isRepeated)) {
      addLaunch(&op, ids, maxima, isRepeated);
    } else if (auto repeat = dyn_cast<RepeatOp>(op); repeat && !isRepeated) {
      if (failed(addLoop(repeat, ids, maxima)))
        return failure();
    } else if (auto replace = dyn_cast<ReplaceFirstOp>(op); replace && isRepeated) {
      if (failed(addReplacement(replace, ids)))
        return failure();
    } else if (isa<func::ReturnOp>(op)) {
      for (Value operand : op.getOperands()) {
        outputs.push_back(ids.at(operand));
        values[outputs.back()].isOutput = true;
      }
    } else if (!isa<YieldOp>(op)) {
      return op.emitOpError() << "cannot be planned: entry '" << function.getSymName()
                              << "' may hold reads, writes and launches only";
    }
  }
  return success();
}

void EntryGraph::addLaunch(Operation *launch, DenseMap<Value, Id> &ids, const SizeMaxima &maxima, bool isRepeated) {
  unsigned index = launches.size();
  launches.push_back(launch);
  SmallVector<Id> &taken = inputs.emplace_back();
  for (auto [position, input] : llvm::enumerate(launch->getOperands())) {
    taken.push_back(ids.at(input));
    values[taken.back()].uses.push_back({index, static_cast<unsigned>(position)});
  }
  SmallVector<Id> made;
  for (OpResult result : launch->getResults()) {
    EntryValue value(EntryValue::Result);
    value.bytes = getMaximumBytes(cast<RankedTensorType>(result.getType()), maxima);
    value.launch = index;
    value.result = result.getResultNumber();
    // A value that a repetition updates in place keeps its memory from step to step.
    if (int64_t input = getReusedInput(index, value.result); isRepeated && input >= 0 && isInPlace(index))
      value.within = taken[input];
    made.push_back(ids[result] = addValue(std::move(value)));
  }
  results.push_back(made);
}

/// The element of a vector that belongs to the current step.
EntryGraph::Id EntryGraph::addElement(Id vector) {
  EntryValue element(EntryValue::Part);
  element.within = vector;
  element.bytes = element.stride = sizeof(int32_t);
  return addValue(std::move(element));
}

LogicalResult EntryGraph::addLoop(RepeatOp repeat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima) {
  Block &body = repeat.getBody().front();
  SmallVector<Id> carried;
  ids[body.getArgument(0)] = addElement(ids.at(repeat.getStarts()));
  for (auto [value, argument] : llvm::zip_first(repeat.getCarried(), body.getArguments().drop_front())) {
    Id id = ids.at(value);
    bool isOwn = (values[id].kind == EntryValue::Result || values[id].kind == EntryValue::Empty) &&
                 !values[id].within && value.hasOneUse();
    if (!isOwn)
      return repeat.emitError()
             << "entry '" << function.getSymName() << "' carries a value on from step to step that "
             << "would need a copy kernel: the value is no launch's result, or is used elsewhere too";
    carried.push_back(ids[argument] = id);
  }
  for (auto [value, argument] :
       llvm::zip_equal(repeat.getConstants(), body.getArguments().take_back(repeat.getConstants().size())))
    ids[argument] = ids.at(value);
  Loop loop{static_cast<unsigned>(launches.size()), 0, repeat, addElement(ids.at(repeat.getCounts()))};
  if (failed(addOps(body, ids, maxima)))
    return failure();
  loop.end = launches.size();
  if (loop.end > loop.first) {
    // Every step reads the counts.
    values[loop.counts].uses.push_back({loop.end - 1, ~0u});
    loops.push_back(loop);
  }
  for (auto [result, next, begun] :
       llvm::zip_equal(repeat.getResults(), body.getTerminator()->getOperands(), carried)) {
    Location at = locate(ids.at(next));
    if (at.root != begun || at.offset != 0)
      return repeat.emitError() << "entry '" << function.getSymName()
                                << "' carries on a value that is not made where the "
                                << "value before it is: copy it at the end of the step";
    ids[result] = ids.at(next);
  }
  return success();
}

/// The launch that computes the new rows writes them over the old ones.
LogicalResult EntryGraph::addReplacement(ReplaceFirstOp replace, DenseMap<Value, Id> &ids) {
  Id rows = ids.at(replace.getRows()), destination = ids.at(replace.getDestination());
  if (values[rows].kind != EntryValue::Result || values[rows].within || locate(destination).offset != 0)
    return replace.emitError() << "entry '" << function.getSymName()
                               << "' replaces rows by some that are not made for it: copy them at the end of the step";
  values[rows].within = destination;
  EntryValue updated(EntryValue::Updated);
  updated.within = destination;
  updated.bytes = values[destination].bytes;
  updated.parts = {rows};
  ids[replace.getResult()] = addValue(std::move(updated));
  return success();
}

const EntryGraph::Loop *EntryGraph::findLoop(unsigned launch) const {
  const Loop *found = llvm::find_if(loops, [&](const Loop &loop) { return launch >= loop.first && launch < loop.end; });
  return found == loops.end() ? nullptr : found;
}

void EntryGraph::reorder(ArrayRef<unsigned> order) {
  SmallVector<unsigned> places(order.size());
  for (auto [place, launch] : llvm::enumerate(order))
    places[launch] = place;
  auto permute = [&](auto &list) {
    auto old = std::exchange(list, {});
    for (unsigned launch : order)
      list.push_back(std::move(old[launch]));
  };
  permute(launches);
  permute(inputs);
  permute(results);
  for (Loop &loop : loops) { // the launches of a loop stay together
    loop.end = places[loop.end - 1] + 1;
    loop.first = places[loop.first];
  }
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

/// A collective's result may reuse the memory of its input.
int64_t EntryGraph::getReusedInput(unsigned launch, unsigned result) const {
  auto kernel = dyn_cast<tile::LaunchOp>(launches[launch]);
  return kernel ? kernel.getReuse()[result] : static_cast<int64_t>(result);
}

std::optional<EntryGraph::Id> EntryGraph::getReuse(unsigned launch, unsigned result) const {
  int64_t input = getReusedInput(launch, result);
  return input < 0 ? std::nullopt : std::optional(inputs[launch][input]);
}

bool EntryGraph::isInPlace(unsigned launch) const {
  auto kernel = dyn_cast<tile::LaunchOp>(launches[launch]); // not a collective
  return kernel && kernel.getInplace();
}

bool EntryGraph::isOnlyReuse(Id value, unsigned launch, unsigned result) const {
  int64_t reuse = getReusedInput(launch, result);
  return llvm::all_of(getOverlapping(value), [&](Id id) {
    return llvm::all_of(values[id].uses, [&](EntryValue::Use use) {
      return use.launch != launch || (id == value && static_cast<int64_t>(use.input) == reuse);
    });
  });
}

SmallVector<EntryGraph::Id> EntryGraph::getOldValues(StringAttr variable) const {
  const VariablePlace &place = placeOf(variable);
  auto found = oldValues.find(place.storage);
  return found == oldValues.end() ? SmallVector<Id>() : getOverlapping(found->second, place.offset, place.bytes);
}
