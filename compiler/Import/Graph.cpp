#include "compiler/Import/Graph.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

Initializer Initializer::xavier(int64_t inputs, int64_t outputs) {
  return {Uniform, std::sqrt(6.0 / static_cast<double>(inputs + outputs))};
}

Graph::Graph(ModuleOp module, const Description &description)
    : builder(module.getContext()), module(module), description(description), where(description.start) {}

Graph::At::At(Graph &graph, StringRef key, StringRef part) : graph(graph), outer(graph.where) {
  Location line = graph.description.whereIs(key);
  graph.where = part.empty() ? line : NameLoc::get(graph.builder.getStringAttr(part), line);
}

RankedTensorType Graph::tensor(ArrayRef<Dim> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> names;
  for (const Dim &dim : dims) {
    const auto *size = std::get_if<StringRef>(&dim);
    shape.push_back(size ? ShapedType::kDynamic : std::get<int64_t>(dim));
    if (size)
      names.push_back(builder.getStringAttr(*size));
  }
  Attribute encoding = names.empty() ? Attribute() : DimsAttr::get(builder.getContext(), names);
  return RankedTensorType::get(shape, element, encoding);
}

//===-- Module level --------------------------------------------------------------------------------------------===//

void Graph::toSymbols() {
  if (firstEntry)
    builder.setInsertionPoint(firstEntry);
  else
    builder.setInsertionPointToEnd(module.getBody());
}

void Graph::addSize(StringRef name, int64_t maximum, StringRef longestOf) {
  OpBuilder::InsertionGuard guard(builder);
  toSymbols();
  create<SizeOp>(name, maximum, longestOf.empty() ? StringAttr() : builder.getStringAttr(longestOf));
}

void Graph::addVariable(StringRef name, VariableKind kind, RankedTensorType type, Initializer initializer) {
  OpBuilder::InsertionGuard guard(builder);
  toSymbols();
  create<VariableOp>(name, kind, type);
  variables.push_back({builder.getStringAttr(name), kind, type, Location(where), initializer});
  variableTypes[name] = type;
}

//===-- Entries -------------------------------------------------------------------------------------------------===//

void Graph::beginEntry(StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  entry = create<func::FuncOp>(name, builder.getFunctionType({}, {}));
  if (!firstEntry)
    firstEntry = entry;
  builder.setInsertionPointToStart(entry.addEntryBlock());
  weights.clear();
  inputAttrs.clear();
  outputAttrs.clear();
  outputs.clear();
}

Value Graph::addIndices(StringRef name, StringRef size, int64_t limit) {
  inputAttrs.push_back(
      builder.getDictionaryAttr({builder.getNamedAttr("heddle.name", builder.getStringAttr(name)),
                                 builder.getNamedAttr("heddle.limit", builder.getI64IntegerAttr(limit))}));
  return entry.getBody().addArgument(tensor({size}, i32()), Location(where));
}

Value Graph::addNumbers(StringRef name, StringRef size) { return addFloats(name, tensor({size}, f32())); }
Value Graph::addScalar(StringRef name) { return addFloats(name, tensor({1}, f32())); }

Value Graph::addFloats(StringRef name, RankedTensorType type) {
  inputAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("heddle.name", builder.getStringAttr(name))));
  return entry.getBody().addArgument(type, Location(where));
}

void Graph::addOutput(StringRef name, Value value) {
  outputAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("heddle.name", builder.getStringAttr(name))));
  outputs.push_back(value);
}

void Graph::endEntry() {
  create<func::ReturnOp>(outputs);
  entry.setType(builder.getFunctionType(entry.getBody().getArgumentTypes(), ValueRange(outputs).getTypes()));
  entry.setArgAttrsAttr(builder.getArrayAttr(inputAttrs));
  entry.setResAttrsAttr(builder.getArrayAttr(outputAttrs));
}

//===-- State ---------------------------------------------------------------------------------------------------===//

Value Graph::weight(const Twine &name, ArrayRef<int64_t> shape, Initializer initializer) {
  std::string key = name.str();
  Value &value = weights[key];
  if (value)
    return value;
  auto type = RankedTensorType::get(shape, f32());
  if (!variableTypes.contains(key)) {
    addVariable(key, VariableKind::Weight, type, initializer);
    if (description.hasDecoder()) {
      addVariable("adam.m." + key, VariableKind::OptimizerState, type, Initializer::zeros());
      addVariable("adam.v." + key, VariableKind::OptimizerState, type, Initializer::zeros());
    }
    if (description.hasDecoder() && description.emaDecay > 0)
      addVariable("ema." + key, VariableKind::OptimizerState, type, Initializer::zeros());
    if (description.hasDecoder() && description.accumulate)
      addVariable("grad." + key, VariableKind::Gradient, type, Initializer::zeros());
  }
  return value = read(key);
}

Value Graph::read(StringRef variable) { return create<ReadOp>(variableTypes.at(variable), variable); }

void Graph::write(StringRef variable, Value value) { create<WriteOp>(variable, value); }

//===-- Ops -----------------------------------------------------------------------------------------------------===//

Value Graph::fill(RankedTensorType type, double value) {
  Type element = type.getElementType();
  TypedAttr attr = element.isF32() ? TypedAttr(builder.getFloatAttr(element, value))
                                   : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return create<FillOp>(type, attr);
}

Value Graph::scale(Value x, double factor) {
  return create<arith::MulFOp>(x, fill(cast<RankedTensorType>(x.getType()), factor));
}
