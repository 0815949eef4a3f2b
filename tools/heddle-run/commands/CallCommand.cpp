#include "tools/heddle-run/commands/Flags.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/core/Log.h"
#include "runtime/core/Npy.h"
#include "runtime/text/InputLines.h"
#include "tools/cli/CommandLine.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/NamedFile.h"
#include "tools/heddle-run/call/RandomInputs.h"
#include "tools/heddle-run/call/VariableFile.h"

#include <cstdio>
#include <unistd.h>

namespace heddle::run {
namespace {

constexpr size_t kShownValues = 8;

Result<std::vector<NamedFile>> parseAll(std::string_view flag, const std::vector<std::string> &texts) {
  std::vector<NamedFile> files;
  for (const std::string &text : texts) {
    HEDDLE_ASSIGN(files.emplace_back(), NamedFile::parse(flag, text));
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

Result<const HostTensor *> findOutput(const Outputs &outputs, const EntryCall &call, const std::string &name) {
  if (const HostTensor *tensor = outputs.find(name))
    return tensor;
  std::string names;
  for (const auto &[other, tensor] : outputs)
    names += (names.empty() ? "" : ", ") + other;
  return makeError(ErrorKind::NotFound, "entry '", call.entry, "' has no output '", name,
                   "'; its outputs: ", names.empty() ? "no outputs" : names, ".");
}

Status checkExpectations(const Outputs &outputs, const EntryCall &call, const std::vector<NamedFile> &expectations) {
  std::string wrong;
  for (const NamedFile &file : expectations) {
    HEDDLE_ASSIGN(const HostTensor *actual, findOutput(outputs, call, file.name));
    HEDDLE_ASSIGN(HostTensor expected, readNpy(file.path));
    auto comparison = compare(*actual, expected, call.tolerance);
    if (!comparison.ok())
      return std::move(comparison).error().within(str("output '", file.name, "' against '", file.path, "'"));
    std::printf("%s: %s\n", file.name.c_str(), comparison->describe().c_str());
    if (!comparison->matches())
      wrong += (wrong.empty() ? "'" : ", '") + file.name + "'";
  }
  if (!wrong.empty())
    return makeError(ErrorKind::InvalidArgument, "not as expected within --tolerance ", call.tolerance, ": output ",
                     wrong, ".");
  return Success();
}

// The files that are read before a call.
struct CallFiles {
  std::vector<NamedTensor> inputs;
  std::vector<NamedFile> outputs, expectations;
};

Result<std::vector<std::filesystem::path>> filesOfCall(const ArtifactOptions &options, const EntryCall &call) {
  std::vector<std::filesystem::path> files = filesRead(options, {call.variables, call.expectedVariables});
  HEDDLE_ASSIGN(std::vector<NamedFile> inputs, parseAll("--input", call.inputs));
  HEDDLE_ASSIGN(std::vector<NamedFile> expectations, parseAll("--expect", call.expectations));
  for (const std::vector<NamedFile> *named : {&inputs, &expectations})
    for (const NamedFile &file : *named)
      files.push_back(file.path);
  return files;
}

Result<CallFiles> readFiles(const ArtifactOptions &options, const EntryCall &call) {
  CallFiles files;
  HEDDLE_ASSIGN(std::vector<NamedFile> inputs, parseAll("--input", call.inputs));
  HEDDLE_ASSIGN(files.outputs, parseAll("--output", call.outputs));
  HEDDLE_ASSIGN(files.expectations, parseAll("--expect", call.expectations));
  HEDDLE_ASSIGN(std::vector<std::filesystem::path> read, filesOfCall(options, call));
  HEDDLE_CHECK(cli::checkOutput("--save-variables", call.saveVariables, read));
  for (const NamedFile &output : files.outputs)
    HEDDLE_CHECK(cli::checkOutput("--output", output.path, read));
  for (const NamedFile &file : inputs) {
    HEDDLE_ASSIGN(HostTensor tensor, readNpy(file.path));
    files.inputs.push_back({file.name, std::move(tensor)});
  }
  return files;
}

// Warns if the call uses weights that nothing has set: a new session's variables are zero.
void warnOfZeros(const EntryCall &call, const Session &session) {
  std::vector<std::string> weights = usedWeights(session, call.entry);
  if (weights.empty())
    return;
  log(LogLevel::Warning, str("all weights that the entry '", call.entry, "' uses are zero, '", weights.front(), "'",
                             weights.size() == 1 ? "" : str(" and ", weights.size() - 1, " more"),
                             ": give --variables FILE for weights of "
                             "a file",
                             session.findEntry("init") ? ", or --seed N for weights drawn at random" : ""));
}

// Makes calls in a session.
class Caller {
public:
  Caller(Session &session, OtherMeaning others, Profile *profile)
      : session(session), others(others), profile(profile) {}

  Status make(const EntryCall &call, const CallFiles &files) {
    std::vector<std::string_view> entries = {call.entry};
    if (call.seed)
      entries.push_back("init");
    HEDDLE_CHECK(session.prepare(entries));
    if (call.seed)
      HEDDLE_CHECK(session.init(*call.seed));
    if (!call.variables.empty())
      HEDDLE_CHECK(loadVariables(session, call.variables, others));
    if (call.seed || !call.variables.empty() || call.entry == "init")
      given = true;
    if (!given)
      warnOfZeros(call, session);

    std::vector<Input> inputs;
    for (const NamedTensor &input : files.inputs)
      inputs.push_back({input.name, input.tensor});
    Outputs outputs;
    for (uint64_t i = profile ? 1 : 0; i < call.repeat; ++i) {
      HEDDLE_ASSIGN(outputs, session.call(call.entry, inputs));
    }
    if (profile) {
      HEDDLE_CHECK(profile->run(session, call.entry, inputs));
      HEDDLE_ASSIGN(outputs, session.outputs());
    }
    for (const auto &[name, tensor] : outputs)
      show(name, tensor);
    for (const NamedFile &file : files.outputs) {
      HEDDLE_ASSIGN(const HostTensor *tensor, findOutput(outputs, call, file.name));
      HEDDLE_CHECK(writeNpy(file.path, *tensor));
    }
    if (!call.saveVariables.empty())
      HEDDLE_CHECK(saveVariables(session, entries, call.saveVariables));
    HEDDLE_CHECK(checkExpectations(outputs, call, files.expectations));
    return call.expectedVariables.empty() ? Success()
                                          : expectVariables(session, call.expectedVariables, call.tolerance);
  }

private:
  Session &session;
  OtherMeaning others;
  Profile *profile;
  bool given = false; // true if weights were set, by this call or an earlier one
};

void logMemory(const Session &session) {
  uint64_t memory = session.memory().peak;
  log(LogLevel::Info, str("device memory: ", describeBytes(memory), " (", memory, " bytes) at most"));
}

Status callOnce(const CallCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(CallFiles files, readFiles(command.common, command.single));
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common, profile));
  Status status = Caller(engine->onDevice(), command.common.others, profile).make(command.single, files);
  logMemory(engine->onDevice());
  return status;
}

Status callLine(const ArtifactOptions &options, Caller &caller, const std::string &line) {
  EntryCall call;
  CLI::App flags;
  addEntryCall(&flags, call).front()->required();
  if (std::string problem = cli::parseFlags(flags, line); !problem.empty())
    return makeError(ErrorKind::InvalidArgument, problem, ".");
  HEDDLE_ASSIGN(CallFiles files, readFiles(options, call));
  return caller.make(call, files);
}

// Answers each line before it reads the next, so that a program can ask and wait.
Status callLines(const CallCommand &command) {
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common, nullptr));
  Caller caller(engine->onDevice(), command.common.others, nullptr);
  InputLines lines(STDIN_FILENO);
  uint64_t number = 0, failed = 0;
  for (;; ++number) {
    HEDDLE_ASSIGN(std::vector<std::string> line, lines.next(1));
    if (line.empty())
      break;
    Status status = callLine(command.common, caller, line.front());
    const bool isDone = status.ok();
    if (!isDone) {
      Error error = std::move(status).error().within(str("line ", number + 1, " of standard input"));
      // A lost device answers no further calls.
      if (!command.keepGoing || error.kind == ErrorKind::DeviceLost)
        return error;
      log(LogLevel::Error, error.message);
      ++failed;
    }
    std::printf("call %llu: %s\n", static_cast<unsigned long long>(number + 1), isDone ? "done" : "failed");
    std::fflush(stdout);
  }
  logMemory(engine->onDevice());
  return failed == 0 ? Success()
                     : Status(makeError(ErrorKind::InvalidArgument, failed, " of ", number, " calls failed."));
}

} // namespace

Status runCall(const CallCommand &command) {
  if (command.calls)
    return callLines(command);
  HEDDLE_ASSIGN(std::vector<std::filesystem::path> read, filesOfCall(command.common, command.single));
  return profiled(command.common, "call", read, [&](Profile *profile) { return callOnce(command, profile); });
}

} // namespace heddle::run
