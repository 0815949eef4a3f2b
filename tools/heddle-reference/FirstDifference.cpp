#include "tools/heddle-reference/FirstDifference.h"

#include "mlir/IR/IRMapping.h"
#include "tools/heddle-reference/Device.h"
#include "tools/heddle-reference/Tensors.h"
#include "tools/heddle-run/call/Compare.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::HostTensor;
using ::heddle::Session;
using ::heddle::Status;
using ::heddle::run::NamedTensor;
using ::heddle::run::WholeComparison;
using reference::Array;

/// Results that are looked at in one compilation: more change what is fused with what.
static constexpr size_t kAtOnce = 8;

namespace {

class Search {
public:
  Search(ModuleOp module, const ReferenceCommand &command, const reference::Interpreter &variables,
         ArrayRef<NamedTensor> inputs)
      : module(module), command(command), start(variables), inputs(inputs),
        entry(module.lookupSymbol<func::FuncOp>(command.entry)) {}

  void run();

private:
  LogicalResult interpret();
  /// How far each of these values is off; more than the tolerance where integers differ. Zero for values that cannot be
  /// outputs, because they would have to be copied.
  SmallVector<double> errorsOf(ArrayRef<Value> values);
  FailureOr<SmallVector<double>> compileAndCompare(ArrayRef<Value> values);
  Status call(Session &session, ArrayRef<Value> values, SmallVectorImpl<double> &errors);
  bool isWrong(double error) const { return !(error <= command.tolerance); }
  /// The first of `values` that is wrong, as far as halving tells, and its error.
  std::pair<Value, double> findWrong(ArrayRef<Value> values);

  ModuleOp module;
  const ReferenceCommand &command;
  const reference::Interpreter &start;
  ArrayRef<NamedTensor> inputs;
  func::FuncOp entry;
  DenseMap<Value, Array> expected;
};

} // namespace

/// What can be an output: callers take f32 and i32.
static bool isVisible(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && (type.getElementType().isF32() || type.getElementType().isInteger(32)) &&
         !value.getDefiningOp<ReadOp>();
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

SmallVector<double> Search::errorsOf(ArrayRef<Value> values) {
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (FailureOr<SmallVector<double>> errors = compileAndCompare(values); succeeded(errors))
      return *errors;
  }
  if (values.size() == 1)
    return {0};
  SmallVector<double> errors;
  for (Value value : values)
    llvm::append_range(errors, errorsOf(value));
  return errors;
}

FailureOr<SmallVector<double>> Search::compileAndCompare(ArrayRef<Value> values) {
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
  for (auto [i, value] : llvm::enumerate(values)) {
    outputs.push_back(mapping.lookup(value));
    types.push_back(value.getType());
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("heddle.name", builder.getStringAttr("heddle.looked_at." + Twine(i)))));
  }
  end->setOperands(outputs);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  std::unique_ptr<Session> session = compileForDevice(*clone, command);
  if (!session)
    return failure();
  SmallVector<double> errors;
  if (Status status = call(*session, values, errors); !status.ok())
    return emitError(UnknownLoc::get(module.getContext())) << status.message();
  return errors;
}

Status Search::call(Session &session, ArrayRef<Value> values, SmallVectorImpl<double> &errors) {
  HEDDLE_CHECK(session.prepare({command.entry}));
  HEDDLE_CHECK(copyToDevice(start, session));
  std::vector<::heddle::Input> given;
  for (const NamedTensor &input : inputs)
    given.push_back({input.name, input.tensor});
  HEDDLE_ASSIGN(::heddle::Outputs outputs, session.call(command.entry, given));
  for (auto [i, value] : llvm::enumerate(values)) {
    std::string name = "heddle.looked_at." + std::to_string(i);
    HEDDLE_ASSIGN(HostTensor right, toTensor(expected.find(value)->second, value.getType()));
    WholeComparison comparison(command.floor);
    HEDDLE_CHECK(comparison.add(name, 0, *outputs.find(name), right));
    WholeComparison::Verdict verdict = comparison.judge(command.tolerance);
    errors.push_back(verdict.wrong.empty() ? 0 : std::max(verdict.worst, 2 * command.tolerance));
  }
  return ::heddle::Success();
}

std::pair<Value, double> Search::findWrong(ArrayRef<Value> values) {
  std::pair<Value, double> found;
  while (!values.empty()) {
    SmallVector<size_t> places; // spread over all, the last one among them
    size_t count = std::min(kAtOnce, values.size());
    for (size_t i = 1; i <= count; ++i)
      places.push_back(values.size() * i / count - 1);
    SmallVector<Value> some;
    for (size_t place : places)
      some.push_back(values[place]);
    SmallVector<double> errors = errorsOf(some);
    auto wrong = llvm::find_if(errors, [&](double error) { return isWrong(error); });
    if (wrong == errors.end())
      break;
    size_t i = static_cast<size_t>(wrong - errors.begin());
    found = {some[i], *wrong};
    values = values.slice(i == 0 ? 0 : places[i - 1] + 1, places[i] - (i == 0 ? 0 : places[i - 1] + 1));
  }
  return found;
}

void Search::run() {
  if (failed(interpret()))
    return;
  SmallVector<Value> values;
  for (Operation &op : entry.getBody().front())
    llvm::append_range(values, llvm::make_filter_range(op.getResults(), isVisible));
  std::pair<Value, double> wrong = findWrong(values);
  if (!wrong.first) {
    entry.emitError() << "entry '" << command.entry
                      << "': no single result parts where it is looked at, which changes what is fused "
                      << "with what; --fuse-kernels=false and the like tell which fusion it is";
    return;
  }
  // Another branch may have parted before: an operand that is wrong leads further back.
  while (true) {
    SetVector<Value> operands;
    for (Value operand : wrong.first.getDefiningOp()->getOperands())
      if (operand.getDefiningOp() && isVisible(operand))
        operands.insert(operand);
    std::pair<Value, double> earlier = findWrong(operands.getArrayRef());
    if (!earlier.first)
      break;
    wrong = earlier;
  }
  wrong.first.getDefiningOp()->emitOpError() << "is where compiled and reference part: its result is off by "
                                             << wrong.second << " (relative), and its operands agree";
}

void mlir::heddle::reportFirstDifference(ModuleOp module, const ReferenceCommand &command,
                                         const reference::Interpreter &variables, ArrayRef<NamedTensor> inputs) {
  Search(module, command, variables, inputs).run();
}
