#include "tools/heddle-reference/Diff.h"

#include "mlir/IR/OwningOpRef.h"
#include "runtime/core/Npy.h"
#include "tools/heddle-reference/DeviceSession.h"
#include "tools/heddle-reference/FirstDifference.h"
#include "tools/heddle-reference/Tensors.h"
#include "tools/heddle-run/bench/FillVariables.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/RandomInputs.h"
#include "tools/heddle-run/call/VariableFile.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::HostTensor;
using ::heddle::Session;
using ::heddle::Status;
using ::heddle::run::NamedTensor;
using ::heddle::run::WholeComparison;

namespace {

class Comparison {
public:
  Comparison(ModuleOp module, const ReferenceCommand &command)
      : module(module), command(command), interpreter(module), entry(module.lookupSymbol<func::FuncOp>(command.entry)) {
  }

  LogicalResult run();

private:
  LogicalResult fail(const Twine &message) { return emitError(UnknownLoc::get(module.getContext())) << message; }
  LogicalResult check(const Status &status) { return status.ok() ? success() : fail(status.message()); }
  /// Returns the value of a Result; fails after an error with the Result's message.
  template <typename T> FailureOr<T> valueOf(::heddle::Result<T> result) {
    if (!result.ok())
      return fail(result.message());
    return std::move(result).value();
  }

  LogicalResult open();
  Status startVariables();
  ::heddle::Result<std::vector<NamedTensor>> makeInputs();
  Status makeDistinct(NamedTensor &input);
  LogicalResult compareCalls();
  Status compareOutputs(const ::heddle::Outputs &outputs, ArrayRef<reference::Array> expected,
                        WholeComparison &comparison);
  Status compareVariables(WholeComparison &comparison);
  LogicalResult report(StringRef what, const WholeComparison::Verdict &verdict);

  ModuleOp module;
  const ReferenceCommand &command;
  reference::Interpreter interpreter;
  func::FuncOp entry;
  std::unique_ptr<Session> session;
};

} // namespace

LogicalResult Comparison::open() {
  OwningOpRef<ModuleOp> clone(module.clone());
  session = compileForDevice(*clone, command);
  if (!session)
    return failure();
  std::printf("device %s, target %s\n", session->device().id.c_str(), std::string(session->target()).c_str());
  return success();
}

Status Comparison::startVariables() {
  const std::string names[] = {command.entry};
  HEDDLE_CHECK(::heddle::run::fillVariables(*session, names, command.seed.value_or(1)));
  HEDDLE_CHECK(copyFromDevice(*session, interpreter));
  if (command.variables.empty())
    return ::heddle::Success();
  HEDDLE_CHECK(loadVariables(interpreter, command.variables));
  return copyToDevice(interpreter, *session);
}

/// If the entry scatters to the rows in `input`, makes them distinct.
Status Comparison::makeDistinct(NamedTensor &input) {
  std::optional<int64_t> rows;
  entry.walk([&](ScatterRowsOp scatter) {
    auto argument = dyn_cast<BlockArgument>(scatter.getIndices());
    if (argument && argument.getOwner() == &entry.front() &&
        entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "heddle.name").getValue() == input.name)
      rows = std::min(rows.value_or(std::numeric_limits<int32_t>::max()),
                      cast<RankedTensorType>(scatter.getResult().getType()).getDimSize(0));
  });
  if (!rows)
    return ::heddle::Success();
  std::span<int32_t> values = input.tensor.values<int32_t>();
  std::vector<int32_t> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end())
    return ::heddle::Success();
  if (static_cast<int64_t>(values.size()) > *rows)
    return ::heddle::makeError(::heddle::ErrorKind::InvalidArgument, "entry '", command.entry, "': the ", values.size(),
                               " numbers of '", input.name, "' name distinct rows of ", *rows,
                               "; give fewer by --input ", input.name, "=@FILE.npy");
  std::mt19937 random(command.seed.value_or(1));
  std::vector<int32_t> all(static_cast<size_t>(*rows));
  std::iota(all.begin(), all.end(), 0);
  std::ranges::shuffle(all, random);
  std::copy_n(all.begin(), values.size(), values.begin());
  input.isBlind = false;
  return ::heddle::Success();
}

::heddle::Result<std::vector<NamedTensor>> Comparison::makeInputs() {
  const ::heddle::EntryInfo &info = *session->findEntry(command.entry);
  HEDDLE_ASSIGN(std::vector<NamedTensor> inputs, ::heddle::run::randomInputs(info, {.seed = command.seed.value_or(1)}));
  for (const ::heddle::run::NamedFile &file : command.inputs) {
    auto input = llvm::find_if(inputs, [&](const NamedTensor &input) { return input.name == file.name; });
    if (input == inputs.end())
      return ::heddle::makeError(::heddle::ErrorKind::NotFound, "entry '", command.entry, "' has no input '", file.name,
                                 "'.");
    HEDDLE_ASSIGN(input->tensor, ::heddle::readNpy(file.path));
    input->isBlind = false;
  }
  for (NamedTensor &input : inputs)
    if (llvm::none_of(command.inputs, [&](const auto &file) { return file.name == input.name; }))
      HEDDLE_CHECK(makeDistinct(input));
  if (std::string warning = ::heddle::run::warningOfBlind(command.entry, inputs); !warning.empty())
    emitWarning(UnknownLoc::get(module.getContext())) << warning;
  return inputs;
}

Status Comparison::compareOutputs(const ::heddle::Outputs &outputs, ArrayRef<reference::Array> expected,
                                  WholeComparison &comparison) {
  for (auto [i, array] : llvm::enumerate(expected)) {
    std::string name = entry.getResultAttrOfType<StringAttr>(static_cast<unsigned>(i), "heddle.name").str();
    HEDDLE_ASSIGN(HostTensor value, toTensor(array, entry.getResultTypes()[i]));
    HEDDLE_CHECK(comparison.add(nameOfOutput(name), nameOfOutput(name), *outputs.find(name), value));
  }
  return ::heddle::Success();
}

Status Comparison::compareVariables(WholeComparison &comparison) {
  for (const ::heddle::VariableInfo &info : session->variables()) {
    VariableOp variable = interpreter.findVariable(info.name);
    if (!variable || info.isStorage)
      continue;
    HEDDLE_ASSIGN(HostTensor expected, toTensor(interpreter.getVariable(variable), variable.getType()));
    HEDDLE_ASSIGN(HostTensor actual, session->readVariable(info.name));
    HEDDLE_CHECK(comparison.add(info.name, ::heddle::run::sortOf(info), actual, expected));
  }
  return ::heddle::Success();
}

LogicalResult Comparison::report(StringRef what, const WholeComparison::Verdict &verdict) {
  std::printf("%s: %zu tensors, largest relative error %g\n", what.str().c_str(), verdict.tensors, verdict.worst);
  if (verdict.wrong.empty())
    return success();
  constexpr size_t most = 8;
  std::string names;
  for (const WholeComparison::Wrong &tensor : ArrayRef(verdict.wrong).take_front(most))
    names += (names.empty() ? "" : ", ") + tensor.describe();
  if (verdict.wrong.size() > most)
    names += " and " + std::to_string(verdict.wrong.size() - most) + " more";
  return fail(what + ": not what the reference interpreter computes, within --tolerance " +
              ::heddle::str(command.tolerance) + ": " + names);
}

LogicalResult Comparison::compareCalls() {
  auto inputs = valueOf(makeInputs());
  if (failed(inputs))
    return failure();
  std::vector<::heddle::Input> onDevice;
  for (const NamedTensor &input : *inputs)
    onDevice.push_back({input.name, input.tensor});
  SmallVector<reference::Array> arrays;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, "heddle.name");
    auto input = llvm::find_if(*inputs, [&](const NamedTensor &input) { return input.name == name.getValue(); });
    arrays.push_back(toArray(input->tensor));
  }
  for (uint64_t call = 1; call <= command.repeat; ++call) {
    reference::Interpreter before = interpreter;
    auto outputs = valueOf(session->call(command.entry, onDevice));
    if (failed(outputs)) // do not interpret, perhaps for hours, what the device refuses
      return failure();
    FailureOr<SmallVector<reference::Array>> expected = interpreter.call(entry, arrays);
    WholeComparison comparison(command.floor);
    if (failed(expected) || failed(check(compareOutputs(*outputs, *expected, comparison))) ||
        failed(check(compareVariables(comparison))))
      return failure();
    WholeComparison::Verdict verdict = comparison.judge(command.tolerance);
    if (failed(report("call " + std::to_string(call), verdict))) {
      reportFirstDifference(module, command, before, *inputs, verdict.wrong);
      return failure();
    }
  }
  return success();
}

LogicalResult Comparison::run() {
  if (failed(open()) || failed(check(startVariables())))
    return failure();
  return compareCalls();
}

LogicalResult mlir::heddle::diff(ModuleOp module, const ReferenceCommand &command) {
  return Comparison(module, command).run();
}
