#include "tools/heddle-reference/FirstDifference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "tools/heddle-reference/DeviceSession.h"
#include "tools/heddle-reference/Tensors.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::HostTensor;
using ::heddle::Session;
using ::heddle::Status;
using ::heddle::run::NamedTensor;
using ::heddle::run::WholeComparison;
using reference::Array;

/// How many results one compilation adds as outputs. More would change fusion too much.
static constexpr size_t kAtOnce = 8;

namespace {

/// A result to check, and the tolerance: the same that the comparison of outputs and variables uses.
struct Look {
  Value value;
  double floor;               // smaller numbers are compared as if they were this large
  SmallVector<Value> besides; // an error that is negligible compared with these values is no difference
};

class Search {
public:
  Search(ModuleOp module, const ReferenceCommand &command, const reference::Interpreter &variables,
         ArrayRef<NamedTensor> inputs)
      : module(module), command(command), start(variables), inputs(inputs),
        entry(module.lookupSymbol<func::FuncOp>(command.entry)) {}

  void run(ArrayRef<WholeComparison::Wrong> wrong);

private:
  enum class State { Right, Wrong, Hidden };

  LogicalResult interpret();
  /// Returns the value that makes this output or variable; null if it agrees with the reference when looked at.
  Value findStart(const WholeComparison::Wrong &wrong);
  /// Returns the values that the entry writes, before the op `before` if that is not null, to this variable, to its
  /// storage or to its views.
  SmallVector<Value> valuesOf(VariableOp variable, Operation *before);
  /// Returns the values in this entry from which a result is computed.
  SmallVector<Value> sourcesOf(Value value);
  /// Returns the results that `wrong` depends on and that have not been checked, the nearest first, or a single result
  /// that is known to be wrong.
  SmallVector<Look> collect(Value wrong);
  /// Goes back from a wrong result and returns the earliest wrong one found.
  Value goBack(Value wrong);
  /// Compiles and calls the entry with these values as outputs, and records which are wrong.
  void look(ArrayRef<Look> looks);
  /// Return the entry's output that is this value, and the variable that holds it after a call; nullopt and null if
  /// there is none. A value that is an output or is written cannot become an output again without a copy.
  std::optional<std::string> findOutput(Value value);
  VariableOp findVariable(Value value);
  bool isSeen(Value value) { return findOutput(value) || findVariable(value); }
  FailureOr<SmallVector<double>> compileAndCompare(ArrayRef<Look> looks);
  Status call(Session &session, ArrayRef<Look> looks, SmallVectorImpl<double> &errors);
  State stateOf(Value value) const;

  ModuleOp module;
  const ReferenceCommand &command;
  const reference::Interpreter &start;
  ArrayRef<NamedTensor> inputs;
  func::FuncOp entry;
  DenseMap<Value, Array> expected;
  DenseMap<Value, State> states; // of the values that were looked at
  DenseMap<Value, double> errors;
};

} // namespace

/// Only f32 and i32 values can be outputs: callers take no other types.
static bool isVisible(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && (type.getElementType().isF32() || type.getElementType().isInteger(32)) &&
         !value.getDefiningOp<ReadOp>();
}

/// Returns true if a result is only as exact as the largest operand, so that an error in a small operand is negligible.
static bool addsUp(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp, arith::SelectOp, JoinOp, ScatterAddOp>(
      op);
}

LogicalResult Search::interpret() {
  reference::Interpreter interpreter = start;
  interpreter.observe([&](Operation *op, ArrayRef<const Array *> results) {
    for (auto [result, array] : llvm::zip_equal(op->getResults(), results))
      expected[result] = *array;
  });
  SmallVector<Array> arrays;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, "heddle.name");
    arrays.push_back(
        toArray(llvm::find_if(inputs, [&](auto &input) { return input.name == name.getValue(); })->tensor));
  }
  return interpreter.call(entry, arrays);
}

//===-- Where a value comes from --------------------------------------------------------------------------------===//

SmallVector<Value> Search::valuesOf(VariableOp variable, Operation *before) {
  auto isWithin = [&](VariableOp view, VariableOp storage) {
    while (view != storage && view.getStorageAttr())
      view = start.findVariable(*view.getStorage());
    return view == storage;
  };
  SmallVector<Value> values;
  for (auto write : entry.getBody().front().getOps<WriteOp>()) {
    VariableOp written = start.findVariable(write.getVariable());
    if ((!before || write->isBeforeInBlock(before)) && (isWithin(written, variable) || isWithin(variable, written)))
      values.push_back(write.getValue());
  }
  return values;
}

SmallVector<Value> Search::sourcesOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op))
    return valuesOf(start.findVariable(read.getVariable()), read);
  SetVector<Value> sources;
  op->walk([&](Operation *inner) { // regions may use values defined outside
    for (Value operand : inner->getOperands())
      if (operand.getDefiningOp() && operand.getParentBlock() == op->getBlock())
        sources.insert(operand);
  });
  return llvm::to_vector(sources);
}

//===-- Looking at values ---------------------------------------------------------------------------------------===//

Search::State Search::stateOf(Value value) const {
  assert(isVisible(value) && "of others nothing is known");
  return states.lookup(value);
}

void Search::look(ArrayRef<Look> looks) {
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (FailureOr<SmallVector<double>> found = compileAndCompare(looks); succeeded(found)) {
      for (auto [one, error] : llvm::zip_equal(looks, *found)) {
        states[one.value] = error <= command.tolerance ? State::Right : State::Wrong;
        errors[one.value] = error;
      }
      return;
    }
  }
  if (looks.size() == 1) // cannot become an output without a copy
    states[looks.front().value] = State::Hidden;
  else
    for (const Look &one : looks)
      look(one);
}

FailureOr<SmallVector<double>> Search::compileAndCompare(ArrayRef<Look> looks) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> clone(cast<ModuleOp>(module->clone(mapping)));
  auto function = clone->lookupSymbol<func::FuncOp>(command.entry);
  for (auto other : llvm::make_early_inc_range(clone->getOps<func::FuncOp>()))
    if (other != function)
      other.erase();
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<Value> outputs(end->getOperands());
  SmallVector<Type> types(function.getResultTypes());
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  Builder builder(module.getContext());
  for (auto [i, one] : llvm::enumerate(looks)) {
    if (isSeen(one.value))
      continue;
    outputs.push_back(mapping.lookup(one.value));
    types.push_back(one.value.getType());
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("heddle.name", builder.getStringAttr("heddle.looked_at." + Twine(i)))));
  }
  end->setOperands(outputs);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  std::unique_ptr<Session> session = compileForDevice(*clone, command);
  if (!session)
    return failure();
  SmallVector<double> found;
  if (Status status = call(*session, looks, found); !status.ok())
    return emitError(UnknownLoc::get(module.getContext())) << status.message();
  return found;
}

std::optional<std::string> Search::findOutput(Value value) {
  for (auto [i, output] : llvm::enumerate(entry.getBody().front().getTerminator()->getOperands()))
    if (output == value)
      return entry.getResultAttrOfType<StringAttr>(static_cast<unsigned>(i), "heddle.name").str();
  return std::nullopt;
}

VariableOp Search::findVariable(Value value) {
  for (Operation *user : value.getUsers())
    if (auto write = dyn_cast<WriteOp>(user); write && write->getBlock() == &entry.getBody().front()) {
      VariableOp variable = start.findVariable(write.getVariable());
      if (valuesOf(variable, nullptr).back() == value)
        return variable;
    }
  return {};
}

/// Finds the error of each value; more than the tolerance if integers differ.
Status Search::call(Session &session, ArrayRef<Look> looks, SmallVectorImpl<double> &found) {
  HEDDLE_CHECK(session.prepare({command.entry}));
  HEDDLE_CHECK(copyToDevice(start, session));
  std::vector<::heddle::Input> given;
  for (const NamedTensor &input : inputs)
    given.push_back({input.name, input.tensor});
  HEDDLE_ASSIGN(::heddle::Outputs outputs, session.call(command.entry, given));
  for (auto [i, one] : llvm::enumerate(looks)) {
    HEDDLE_ASSIGN(HostTensor right, toTensor(expected.find(one.value)->second, one.value.getType()));
    WholeComparison comparison(one.floor);
    std::optional<std::string> output = findOutput(one.value);
    if (VariableOp variable = findVariable(one.value); variable && !output) {
      HEDDLE_ASSIGN(HostTensor written, session.readVariable(variable.getSymName().str()));
      HEDDLE_CHECK(comparison.add("it", "", written, right));
    } else {
      std::string name = output.value_or("heddle.looked_at." + std::to_string(i));
      HEDDLE_CHECK(comparison.add("it", "", *outputs.find(name), right));
    }
    for (Value beside : one.besides) {
      HEDDLE_ASSIGN(HostTensor other, toTensor(expected.find(beside)->second, beside.getType()));
      HEDDLE_CHECK(comparison.add("beside it", "", other, other));
    }
    WholeComparison::Verdict verdict = comparison.judge(command.tolerance);
    found.push_back(verdict.wrong.empty() ? 0 : std::max(verdict.worst, 2 * command.tolerance));
  }
  return ::heddle::Success();
}

//===-- The search ----------------------------------------------------------------------------------------------===//

Value Search::findStart(const WholeComparison::Wrong &wrong) {
  for (auto [i, value] : llvm::enumerate(entry.getBody().front().getTerminator()->getOperands()))
    if (nameOfOutput(entry.getResultAttrOfType<StringAttr>(static_cast<unsigned>(i), "heddle.name")) == wrong.name &&
        value.getDefiningOp()) {
      errors[value] = wrong.error; // the comparison has looked at it
      return value;
    }
  VariableOp variable = start.findVariable(wrong.name);
  if (!variable)
    return {};
  for (Value value : valuesOf(variable, nullptr)) {
    if (!value.getDefiningOp())
      continue;
    auto count = static_cast<double>(variable.getTensorType().getNumElements());
    Look one{value, std::max(command.floor, wrong.scale / std::sqrt(count)), {}};
    if (isVisible(value) && !states.contains(value))
      look(one);
    // If the value cannot be looked at, the comparison's error counts.
    if (!isVisible(value) || stateOf(value) == State::Hidden)
      errors[value] = wrong.error;
    else if (stateOf(value) == State::Right)
      continue;
    return value;
  }
  return {};
}

SmallVector<Look> Search::collect(Value wrong) {
  SmallVector<Look> looks;
  SetVector<Value> queue; // grows during the loop
  queue.insert(wrong);
  for (size_t next = 0; next < queue.size() && looks.size() < kAtOnce; ++next) {
    SmallVector<Value> sources = sourcesOf(queue[next]), besides;
    if (addsUp(queue[next].getDefiningOp()))
      llvm::copy_if(sources, std::back_inserter(besides),
                    [](Value source) { return source.getDefiningOp() && isVisible(source); });
    for (Value source : sources) {
      bool isKnown = isVisible(source) && states.contains(source);
      if (!source.getDefiningOp() || (isKnown && stateOf(source) == State::Right) || !queue.insert(source))
        continue;
      if (isKnown && stateOf(source) == State::Wrong)
        return {Look{source, 0, {}}};
      if (isVisible(source) && !isKnown && looks.size() < kAtOnce)
        looks.push_back({source, command.floor, besides});
    }
  }
  return looks;
}

Value Search::goBack(Value wrong) {
  while (true) {
    SmallVector<Look> looks = collect(wrong);
    if (looks.empty())
      return wrong;
    if (states.contains(looks.front().value))
      wrong = looks.front().value; // it is the nearest known wrong result
    else
      look(looks);
  }
}

void Search::run(ArrayRef<WholeComparison::Wrong> wrong) {
  if (failed(interpret()))
    return;
  Value found;
  for (const WholeComparison::Wrong &tensor : wrong)
    if (found = findStart(tensor); found)
      break;
  if (!found) {
    entry.emitError() << "entry '" << command.entry
                      << "': what is wrong agrees where it is looked at, which changes what is fused with what; "
                      << "--fuse-kernels=false and the like tell which fusion it is";
    return;
  }
  found = goBack(found);
  found.getDefiningOp()->emitOpError() << "is where compiled and reference part: its result is off by "
                                       << errors.lookup(found) << " (relative), and its operands agree";
}

void mlir::heddle::reportFirstDifference(ModuleOp module, const ReferenceCommand &command,
                                         const reference::Interpreter &variables, ArrayRef<NamedTensor> inputs,
                                         ArrayRef<WholeComparison::Wrong> wrong) {
  Search(module, command, variables, inputs).run(wrong);
}
