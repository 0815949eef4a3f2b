#include "compiler/Reference/Interpreter.h"

#include "compiler/Reference/Registry.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry made;
    addArithmetic(made);
    addAttention(made);
    addDrawing(made);
    addElementwise(made);
    addMatrices(made);
    addPooling(made);
    addRecurrence(made);
    addRouting(made);
    addScores(made);
    addState(made);
    return made;
  }();
  return registry;
}

Interpreter::Interpreter(ModuleOp module) : module(module) {
  for (auto variable : module.getOps<VariableOp>()) {
    variables[variable.getSymName()] = variable;
    if (!variable.getStorageAttr())
      memory[variable.getSymName()] = Array(variable.getTensorType().getShape());
  }
}

Interpreter::Place Interpreter::placeOf(VariableOp variable) const {
  int64_t rows = 0;
  for (; variable.getStorageAttr(); variable = variables.lookup(*variable.getStorage()))
    rows += static_cast<int64_t>(variable.getFrom());
  StringRef storage = variable.getSymName();
  return {storage, rows * memory.find(storage)->second.width()};
}

Array Interpreter::getVariable(VariableOp variable) const {
  Place place = placeOf(variable);
  Array value(variable.getTensorType().getShape());
  std::copy_n(memory.find(place.storage)->second.numbers.begin() + place.offset, value.size(), value.numbers.begin());
  return value;
}

void Interpreter::setVariable(VariableOp variable, const Array &value) {
  assert(ArrayRef(value.shape) == variable.getTensorType().getShape() && "values are of their variable's shape");
  Place place = placeOf(variable);
  llvm::copy(value.numbers, memory.find(place.storage)->second.numbers.begin() + place.offset);
}

//===-- Sizes ---------------------------------------------------------------------------------------------------===//

LogicalResult Interpreter::bindSize(func::FuncOp entry, SizeOp size, ArrayRef<Array> inputs,
                                    llvm::StringMap<int64_t> &seen) {
  StringRef name = size.getSymName();
  auto maximum = static_cast<int64_t>(size.getMaximum());
  if (size.getFixed())
    sizes[name] = maximum;
  for (auto [i, input] : llvm::enumerate(inputs))
    if (size.getLongest() && entry.getArgAttrOfType<StringAttr>(i, "heddle.name") == *size.getLongest())
      for (double number : input.numbers)
        sizes[name] = std::max(sizes[name], static_cast<int64_t>(number));
  if (auto found = seen.find(name); found != seen.end())
    sizes[name] = found->second;
  if (sizes[name] <= maximum)
    return success();
  return entry.emitError() << "size '" << name << "' is " << sizes[name] << " in this call, and " << maximum
                           << " at most";
}

LogicalResult Interpreter::bindSizes(func::FuncOp entry, ArrayRef<Array> inputs) {
  sizes.clear();
  llvm::StringMap<int64_t> seen;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    auto name = entry.getArgAttrOfType<StringAttr>(i, "heddle.name");
    auto refuse = [&]() -> LogicalResult {
      InFlightDiagnostic error = entry.emitError()
                                 << "input " << (name ? name : StringAttr::get(entry.getContext(), Twine(i)));
      error << " is a " << type << ", got the shape [" << ArrayRef<int64_t>(input.shape) << "]";
      return error;
    };
    if (type.getRank() != static_cast<int64_t>(input.shape.size()))
      return refuse();
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool isKnown = !type.isDynamicDim(dim);
      int64_t extent = input.shape[dim];
      if (!isKnown)
        isKnown = !seen.try_emplace(getSizeName(type, dim), extent).second;
      if (isKnown && extent != (type.isDynamicDim(dim) ? seen[getSizeName(type, dim)] : type.getDimSize(dim)))
        return refuse();
    }
  }
  for (auto size : module.getOps<SizeOp>())
    if (failed(bindSize(entry, size, inputs, seen)))
      return failure();
  for (auto size : module.getOps<SizeOp>()) {
    if (!size.getOfAttr())
      continue;
    int64_t whole = sizes[*size.getOf()] * static_cast<int64_t>(size.getTimes()),
            from = static_cast<int64_t>(size.getFrom());
    auto maximum = static_cast<int64_t>(size.getMaximum());
    if (size.getWithin())
      sizes[size.getSymName()] = whole > from && whole <= maximum ? whole : 0;
    else
      sizes[size.getSymName()] = std::clamp<int64_t>(whole - from, 0, maximum);
  }
  return success();
}

FailureOr<SmallVector<Array>> Interpreter::call(func::FuncOp entry, ArrayRef<Array> inputs) {
  if (entry.isExternal() || !entry.getBody().hasOneBlock())
    return entry.emitError() << "entry '" << entry.getSymName() << "' has no body of one block";
  if (inputs.size() != entry.getNumArguments())
    return entry.emitError() << "entry '" << entry.getSymName() << "' takes " << entry.getNumArguments()
                             << " inputs, got " << inputs.size();
  if (failed(bindSizes(entry, inputs)))
    return failure();
  return Frame(*this, nullptr).run(entry.getBody().front(), inputs);
}

//===-- Frames --------------------------------------------------------------------------------------------------===//

FailureOr<SmallVector<Array>> Frame::run(Block &block, ArrayRef<Array> arguments) {
  for (auto [argument, array] : llvm::zip_equal(block.getArguments(), arguments))
    set(argument, array);
  for (Operation &op : block.without_terminator()) {
    const Registry::Evaluate *evaluate = Registry::get().find(op.getName().getStringRef());
    if (!evaluate)
      return op.emitError() << "'" << op.getName() << "' has no meaning in the reference interpreter"
                            << (isa<MinimizeOp, AccumulateOp, ApplyOp>(op)
                                    ? ": the module is to be differentiated first"
                                    : "");
    if (failed((*evaluate)(&op, *this)))
      return failure();
    if (interpreter.observer && isa<func::FuncOp>(op.getParentOp())) {
      SmallVector<const Array *> results;
      for (Value result : op.getResults())
        results.push_back(&get(result));
      interpreter.observer(&op, results);
    }
  }
  SmallVector<Array> given;
  for (Value value : block.getTerminator()->getOperands())
    given.push_back(get(value));
  return given;
}

const Array &Frame::get(Value value) const {
  if (auto found = values.find(value); found != values.end())
    return *found->second;
  assert(parent && "a value is made before it is read");
  return parent->get(value);
}

Array &Frame::set(Value value, Array array) {
  std::unique_ptr<Array> &place = values[value];
  place = std::make_unique<Array>(std::move(array));
  return *place;
}

Array &Frame::make(Value value) {
  SmallVector<int64_t> shape;
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      shape.push_back(type.isDynamicDim(dim) ? size(getSizeName(type, dim)) : type.getDimSize(dim));
  return set(value, Array(shape));
}

FailureOr<Array> reference::runElementwise(Region &region, Frame &frame, ArrayRef<Array> arguments) {
  FailureOr<SmallVector<Array>> results = Frame(frame.getInterpreter(), &frame).run(region.front(), arguments);
  if (failed(results))
    return failure();
  return std::move(results->front());
}
