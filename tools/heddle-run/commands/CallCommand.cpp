#include "tools/heddle-run/commands/Opening.h"

#include "runtime/core/Log.h"
#include "runtime/core/Npy.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/NamedFile.h"
#include "tools/heddle-run/call/VariableFile.h"

#include <cstdio>
#include <deque>

namespace heddle::run {
namespace {

constexpr size_t kShownValues = 8;

Result<std::vector<NamedFile>> parseAll(std::string_view flag, const std::vector<std::string> &texts) {
  std::vector<NamedFile> files;
  for (const std::string &text : texts) {
    HEDDLE_ASSIGN(NamedFile file, NamedFile::parse(flag, text));
    files.push_back(std::move(file));
  }
  return files;
}

void show(const std::string &name, const HostTensor &tensor) {
  std::string line = str(name, " ", describe(tensor.type(), tensor.shape()));
  auto values = [&](auto typed) {
    line += " =";
    for (auto value : typed)
      line += str(" ", value);
  };
  if (tensor.bytes().size() / kElementBytes <= kShownValues) {
    if (tensor.type() == ElementType::F32)
      values(tensor.values<float>());
    else
      values(tensor.values<int32_t>());
  }
  std::puts(line.c_str());
}

Result<const HostTensor *> findOutput(const Outputs &outputs, const CallCommand &command, const std::string &name) {
  if (const HostTensor *tensor = outputs.find(name))
    return tensor;
  std::string names;
  for (const auto &[other, tensor] : outputs)
    names += (names.empty() ? "" : ", ") + other;
  return makeError(ErrorKind::NotFound, "entry '", command.entry, "' has no output '", name,
                   "'; its outputs: ", names.empty() ? "no outputs" : names, ".");
}

Status checkExpectations(const Outputs &outputs, const CallCommand &command,
                         const std::vector<NamedFile> &expectations) {
  std::string wrong;
  for (const NamedFile &file : expectations) {
    HEDDLE_ASSIGN(const HostTensor *actual, findOutput(outputs, command, file.name));
    HEDDLE_ASSIGN(HostTensor expected, readNpy(file.path));
    auto comparison = compare(*actual, expected, command.tolerance);
    if (!comparison.ok())
      return std::move(comparison).error().within(str("output '", file.name, "' against '", file.path, "'"));
    std::printf("%s: %s\n", file.name.c_str(), comparison->describe().c_str());
    if (!comparison->matches())
      wrong += (wrong.empty() ? "'" : ", '") + file.name + "'";
  }
  if (!wrong.empty())
    return makeError(ErrorKind::InvalidArgument, "not as expected within --tolerance ", command.tolerance, ": output ",
                     wrong, ".");
  return Success();
}

// A new session's variables are zero.
void warnOfZeros(const CallCommand &command, const Session &session) {
  if (command.seed || !command.variables.empty() || command.entry == "init")
    return;
  std::vector<std::string> weights = usedWeights(session, command.entry);
  if (weights.empty())
    return;
  log(LogLevel::Warning, str("all weights that the entry '", command.entry, "' uses are zero, '", weights.front(), "'",
                             weights.size() == 1 ? "" : str(" and ", weights.size() - 1, " more"),
                             ": give --variables FILE for weights of "
                             "a file",
                             session.findEntry("init") ? ", or --seed N for weights drawn at random" : ""));
}

Status call(const CallCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(std::vector<NamedFile> inputFiles, parseAll("--input", command.inputs));
  HEDDLE_ASSIGN(std::vector<NamedFile> outputFiles, parseAll("--output", command.outputs));
  HEDDLE_ASSIGN(std::vector<NamedFile> expectations, parseAll("--expect", command.expectations));
  std::deque<HostTensor> tensors;
  std::vector<Input> inputs;
  for (const NamedFile &file : inputFiles) {
    HEDDLE_ASSIGN(HostTensor tensor, readNpy(file.path));
    tensors.push_back(std::move(tensor));
    inputs.push_back({file.name, tensors.back()});
  }

  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common, profile));
  Session &session = engine->onDevice();
  std::vector<std::string_view> entries = {command.entry};
  if (command.seed)
    entries.push_back("init");
  HEDDLE_CHECK(session.prepare(entries));
  if (command.seed)
    HEDDLE_CHECK(session.init(*command.seed));
  if (!command.variables.empty())
    HEDDLE_CHECK(loadVariables(session, command.variables));
  warnOfZeros(command, session);

  Outputs outputs;
  for (uint64_t i = profile ? 1 : 0; i < command.repeat; ++i) {
    HEDDLE_ASSIGN(outputs, session.call(command.entry, inputs));
  }
  if (profile) {
    HEDDLE_CHECK(profile->run(session, command.entry, inputs));
    HEDDLE_ASSIGN(outputs, session.outputs());
  }
  uint64_t memory = session.memory().peak;
  log(LogLevel::Info, str("device memory: ", describeBytes(memory), " (", memory, " bytes) at most"));
  for (const auto &[name, tensor] : outputs)
    show(name, tensor);
  for (const NamedFile &file : outputFiles) {
    HEDDLE_ASSIGN(const HostTensor *tensor, findOutput(outputs, command, file.name));
    HEDDLE_CHECK(writeNpy(file.path, *tensor));
  }
  if (!command.saveVariables.empty())
    HEDDLE_CHECK(saveVariables(session, entries, command.saveVariables));
  HEDDLE_CHECK(checkExpectations(outputs, command, expectations));
  return command.expectedVariables.empty() ? Success()
                                           : expectVariables(session, command.expectedVariables, command.tolerance);
}

} // namespace

Status runCall(const CallCommand &command) {
  return profiled(command.common, "call", [&](Profile *profile) { return call(command, profile); });
}

} // namespace heddle::run
