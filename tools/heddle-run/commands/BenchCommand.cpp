#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/core/File.h"
#include "runtime/core/Log.h"
#include "tools/heddle-run/bench/BenchReport.h"
#include "tools/heddle-run/bench/FillVariables.h"
#include "tools/heddle-run/bench/Measure.h"
#include "tools/heddle-run/call/RandomInputs.h"

#include <algorithm>
#include <cstdio>

namespace heddle::run {
namespace {

constexpr uint64_t kSeed = 1;

// Returns the requested entries, or all but `init`.
Result<std::vector<std::string>> chooseEntries(const BenchCommand &command, const Session &session) {
  std::vector<std::string> entries = command.entries;
  std::string known;
  for (const EntryInfo &entry : session.entries()) {
    known += (known.empty() ? "" : ", ") + entry.name;
    if (command.entries.empty() && entry.name != "init")
      entries.push_back(entry.name);
  }
  for (const std::string &entry : entries)
    if (!session.findEntry(entry))
      return makeError(ErrorKind::NotFound, "'", command.common.artifact, "' has no entry '", entry,
                       "'. Its entries are: ", known, ".");
  return entries;
}

// Measures the device's ceilings, before and after the entries. Their session lives only meanwhile: on a processor it
// takes 512 MiB. Without an artifact, or without the memory, a warning is logged and there are no ceilings.
class CeilingRuns {
public:
  CeilingRuns(const BenchCommand &command, const Session &session)
      : isChosen(!command.ceilings.empty()), device(session.device().id) {
    if (command.ceilings == "none")
      return;
    path = isChosen ? command.ceilings : findCeilings(session.target());
    if (!path)
      log(LogLevel::Warning, str("no ceilings are measured: the build made no artifact for them for ", session.target(),
                                 "; --ceilings names an artifact that measures them"));
  }

  // Fails if the artifact that the user chose cannot measure ceilings.
  Status run() {
    if (!path)
      return Success();
    Result<Ceilings> measured = measure();
    if (measured) {
      best.include(*measured);
      isKnown = true;
      return Success();
    }
    if (isChosen && measured.error().kind != ErrorKind::OutOfMemory)
      return std::move(measured).error();
    log(LogLevel::Warning, str(isKnown ? "ceilings are measured only once" : "no ceilings are measured", ", because '",
                               path->string(), "' cannot run: ", measured.message()));
    path.reset();
    return Success();
  }

  // The best rates so far; null if there are none.
  const Ceilings *get() const { return isKnown ? &best : nullptr; }

private:
  Result<Ceilings> measure() const {
    HEDDLE_ASSIGN(CeilingMeasurement ceilings, CeilingMeasurement::open(*path, device));
    return ceilings.measure();
  }

  bool isChosen, isKnown = false;
  std::string device;
  std::optional<std::filesystem::path> path;
  Ceilings best;
};

Status bench(const BenchCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common, profile));
  Session &session = engine->onDevice();
  HEDDLE_ASSIGN(std::vector<std::string> entries, chooseEntries(command, session));
  HEDDLE_CHECK(fillVariables(session, entries, kSeed));

  CeilingRuns ceilings(command, session);
  HEDDLE_CHECK(ceilings.run());

  BenchReport report(session);
  for (const std::string &entry : entries) {
    HEDDLE_ASSIGN(std::vector<NamedTensor> tensors,
                  randomInputs(*session.findEntry(entry), {.sequences = command.sequences, .seed = kSeed}));
    if (std::string warning = warningOfBlind(entry, tensors); !warning.empty())
      log(LogLevel::Warning, warning);
    std::vector<Input> inputs;
    for (const NamedTensor &named : tensors)
      inputs.push_back({named.name, named.tensor});
    HEDDLE_ASSIGN(EntryMeasurement measured,
                  measure(session, entry, inputs, {.repeat = command.repeat, .warmup = command.warmup}));
    if (profile)
      profile->add(session, entry, measured.lastProfile, measured.costs);
    report.add(std::move(measured));
  }
  HEDDLE_CHECK(ceilings.run()); // again, as the amount of other work on the machine changes
  if (ceilings.get())
    report.setCeilings(*ceilings.get());
  if (!command.save.empty())
    HEDDLE_CHECK(writeFile(command.save, report.json().dump(1) + "\n"));
  std::fputs((command.json ? report.json().dump() + "\n" : report.text()).c_str(), stdout);
  return Success();
}

} // namespace

Status runBench(const BenchCommand &command) {
  std::vector<std::filesystem::path> read = filesRead(command.common, {command.ceilings});
  HEDDLE_CHECK(cli::checkOutput("--save", command.save, read));
  return profiled(command.common, "bench", read, [&](Profile *profile) { return bench(command, profile); });
}

} // namespace heddle::run
