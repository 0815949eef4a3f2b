// Runs an entry of a model in the reference interpreter.
#include "tools/heddle-reference/ReferenceCommand.h"

#include "compiler/Reference/Interpreter.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/Npy.h"
#include "tools/cli/Program.h"
#include "tools/heddle-compile/Diagnostics.h"
#include "tools/heddle-compile/FatalErrors.h"
#include "tools/heddle-compile/ReadModel.h"
#include "tools/heddle-reference/Diff.h"
#include "tools/heddle-reference/Tensors.h"
#include "tools/heddle-run/call/Compare.h"
#include "llvm/Support/InitLLVM.h"

#include <cstdio>

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::HostTensor;
using ::heddle::run::NamedFile;

namespace {

class Reference {
public:
  Reference(ModuleOp module, const ReferenceCommand &command) : module(module), command(command), interpreter(module) {}
  LogicalResult run();

private:
  LogicalResult fail(const Twine &message) { return emitError(UnknownLoc::get(module.getContext())) << message; }
  LogicalResult check(const ::heddle::Status &status) { return status.ok() ? success() : fail(status.message()); }
  LogicalResult init();
  FailureOr<SmallVector<reference::Array>> readInputs(func::FuncOp entry);
  LogicalResult finish(func::FuncOp entry, ArrayRef<reference::Array> outputs);

  ModuleOp module;
  const ReferenceCommand &command;
  reference::Interpreter interpreter;
};

} // namespace

/// Fails after an error that lists the entries: returns null.
static func::FuncOp findEntry(ModuleOp module, StringRef name) {
  std::string names;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.getSymName() == name)
      return function;
    names += (names.empty() ? "" : ", ") + function.getSymName().str();
  }
  emitError(UnknownLoc::get(module.getContext()))
      << "there is no entry '" << name << "'; the entries are " << (names.empty() ? "none" : names);
  return {};
}

LogicalResult Reference::init() {
  uint64_t seed = *command.seed;
  func::FuncOp entry = findEntry(module, "init");
  if (!entry)
    return failure();
  if (VariableOp variable = VariableRoles(module).find(VariableRole::Seed)) {
    reference::Array value(ArrayRef<int64_t>{2});
    value(0) = static_cast<int32_t>(seed);
    value(1) = static_cast<int32_t>(seed >> 32);
    interpreter.setVariable(variable, value);
  }
  return interpreter.call(entry, {});
}

/// Returns the name of an input or a result.
static StringRef nameOf(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("heddle.name") : StringAttr();
  return name ? name.getValue() : "";
}

FailureOr<SmallVector<reference::Array>> Reference::readInputs(func::FuncOp entry) {
  SmallVector<reference::Array> inputs;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    StringRef name = nameOf(entry.getArgAttrDict(i));
    auto file = llvm::find_if(command.inputs, [&](const NamedFile &file) { return file.name == name; });
    if (file == command.inputs.end())
      return fail("entry '" + command.entry + "' needs the input '" + name + "'; give --input=" + name + "=@FILE.npy");
    auto tensor = ::heddle::readNpy(file->path);
    if (!tensor.ok())
      return fail(tensor.message());
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(entry.getArgumentTypes()[i]));
    if (isFloat != (tensor->type() == ::heddle::ElementType::F32))
      return fail("input '" + name + "' of entry '" + command.entry + "' takes " + (isFloat ? "f32" : "i32") +
                  ", and '" + file->path + "' has " + toString(tensor->type()));
    inputs.push_back(toArray(*tensor));
  }
  for (const NamedFile &file : command.inputs)
    if (llvm::none_of(llvm::seq(entry.getNumArguments()),
                      [&](unsigned i) { return nameOf(entry.getArgAttrDict(i)) == file.name; }))
      return fail("entry '" + command.entry + "' has no input '" + file.name + "'");
  return inputs;
}

LogicalResult Reference::finish(func::FuncOp entry, ArrayRef<reference::Array> outputs) {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    auto tensor = toTensor(output, entry.getResultTypes()[i]);
    if (!tensor.ok())
      return fail(tensor.message());
    StringRef name = nameOf(entry.getResultAttrDict(i));
    std::printf("%s %s", name.str().c_str(), describe(tensor->type(), tensor->shape()).c_str());
    if (output.size() <= 8)
      for (size_t j = 0; j < output.numbers.size(); ++j)
        std::printf("%s %.9g", j == 0 ? " =" : "", output.numbers[j]);
    std::printf("\n");
    tensors.emplace_back(name.str(), std::move(*tensor));
  }
  auto find = [&](const std::string &name) -> const HostTensor * {
    for (const auto &[other, tensor] : tensors)
      if (other == name)
        return &tensor;
    (void)fail("entry '" + command.entry + "' has no output '" + name + "'");
    return nullptr;
  };
  for (const NamedFile &file : command.outputs) {
    const HostTensor *tensor = find(file.name);
    if (!tensor || failed(check(::heddle::writeNpy(file.path, *tensor))))
      return failure();
  }
  bool isRight = true;
  for (const NamedFile &file : command.expectations) {
    const HostTensor *tensor = find(file.name);
    if (!tensor)
      return failure();
    auto expected = ::heddle::readNpy(file.path);
    if (!expected.ok())
      return fail(expected.message());
    auto comparison = ::heddle::run::compare(*tensor, *expected, command.tolerance);
    if (!comparison.ok())
      return fail("output '" + file.name + "' against '" + file.path + "': " + comparison.message());
    std::printf("%s: %s\n", file.name.c_str(), comparison->describe().c_str());
    isRight = isRight && comparison->matches();
  }
  if (!isRight)
    return fail("outputs are not as expected within --tolerance " + ::heddle::str(command.tolerance));
  return success();
}

LogicalResult Reference::run() {
  func::FuncOp entry = findEntry(module, command.entry);
  if (command.seed && failed(init()))
    return failure();
  if (!command.variables.empty() && failed(check(loadVariables(interpreter, command.variables))))
    return failure();
  FailureOr<SmallVector<reference::Array>> inputs = readInputs(entry), outputs = failure();
  if (failed(inputs))
    return failure();
  for (uint64_t i = 0; i < command.repeat; ++i) {
    outputs = interpreter.call(entry, *inputs);
    if (failed(outputs))
      return failure();
  }
  if (!command.savedVariables.empty() && failed(check(saveVariables(interpreter, module, command.savedVariables))))
    return failure();
  return finish(entry, *outputs);
}

static LogicalResult run(MLIRContext *context, const ReferenceCommand &command) {
  OwningOpRef<ModuleOp> module = readModel(context, command);
  if (!module)
    return failure();
  PassManager passes(context);
  buildPhasePipeline(passes, Phase::Import, command.phase, command.pipeline);
  if (failed(passes.run(*module)) || !findEntry(*module, command.entry))
    return failure();
  return command.diff ? diff(*module, command) : Reference(*module, command).run();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  handleFatalErrors("heddle-reference",
                    "the model is too large for this machine's memory: the interpreter takes 64 bits for each number");
  ::heddle::cli::beginProgram();
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // figures appear before the error they explain
  registerAllTargets();                     // the command line selects one
  std::optional<ReferenceCommand> command = parseReferenceCommand(argc, argv);
  if (!command)
    return ::heddle::cli::kWrongCommandLine;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  DiagnosticPrinter diagnostics(&context, "heddle-reference");
  return ::heddle::cli::finishOutput("heddle-reference",
                                     succeeded(run(&context, *command)) ? 0 : diagnostics.getExitCode());
}
