#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/core/Log.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/train/FolderSync.h"
#include "runtime/train/ResumeProof.h"
#include "runtime/train/TrainingRun.h"
#include "tools/heddle-run/report/Logging.h"
#include "tools/heddle-run/report/StopSignal.h"
#include "tools/heddle-run/report/TrainingReport.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace heddle::run {
namespace {

Status checkFlags(const TrainCommand &command) {
  auto whole = [](const std::filesystem::path &file) {
    std::error_code error; // ignored: opening the file will report it
    return weakly_canonical(absolute(file, error), error);
  };
  if (!command.common.profile.empty() && whole(command.common.profile) == whole(command.log))
    return makeError(ErrorKind::InvalidArgument, "--log and --profile both name '", command.common.profile,
                     "'; name two files.");
  return Success();
}

Status verifyResume(const TrainCommand &command) {
  TrainingOptions options = command.training;
  options.checkpoint = plainPath(options.checkpoint);
  options.checkpoint += str(".verify.", ::getpid());
  HEDDLE_ASSIGN(std::unique_ptr<TrainingRun> run, TrainingRun::open(options));
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> opened, openEngine(command.common, nullptr));
  HEDDLE_CHECK(run->readText(*opened));
  Progress progress(stderr, isatty(STDERR_FILENO), options.steps);
  TrainingLog nowhere;
  TrainingReport report(progress, nowhere, /*profile=*/nullptr);
  auto open = [&]() -> Result<std::unique_ptr<Engine>> {
    if (opened)
      return std::unique_ptr<Engine>(std::move(opened));
    HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> again, openEngine(command.common, nullptr));
    HEDDLE_CHECK(openBase(options.base, "", *again, run->inputs().model, options.others));
    return std::unique_ptr<Engine>(std::move(again));
  };
  Result<ResumeProof> proof = proveResume(open, run->inputs(), run->trainerOptions(), options.checkpoint, report);
  std::error_code error;
  std::filesystem::remove_all(options.checkpoint, error);
  HEDDLE_CHECK(proof);
  std::vector<std::string> differences = proof->differences();
  if (!differences.empty()) {
    std::string list;
    for (const std::string &name : differences)
      list += (list.empty() ? "" : ", ") + name;
    return makeError(ErrorKind::Unsupported, "a training that is interrupted after step ", proof->interruptedAfter,
                     " and resumed is not the training that runs through: after step ", proof->steps,
                     " they differ in ", list, ".");
  }
  std::printf("%llu steps at once, and %llu and %llu with a checkpoint between them, end alike:\n",
              static_cast<unsigned long long>(proof->steps), static_cast<unsigned long long>(proof->interruptedAfter),
              static_cast<unsigned long long>(proof->steps - proof->interruptedAfter));
  for (const auto &[name, hash] : proof->whole.files)
    std::printf("%s %s\n", hash.c_str(), name.c_str());
  return Success();
}

std::string describeEnd(TrainingEnd end, const Trainer &trainer, const std::string &checkpoint) {
  switch (end) {
  case TrainingEnd::Finished:
    return str("trained ", trainer.step(), trainer.step() == 1 ? " step" : " steps", "; checkpoint ", checkpoint);
  case TrainingEnd::Stopped:
    return str("stopped by a signal after step ", trainer.step(), "; checkpoint ", checkpoint, "; --resume continues");
  case TrainingEnd::Patience:
    return str("stopped after step ", trainer.step(), ": the last ", trainer.validations().sinceBest,
               " validations were no better than the validation of step ", trainer.validations().bestStep,
               "; checkpoint ", checkpoint, "/best");
  }
  return {};
}

// Trains. At the end `engine` is still open.
Status trainOn(std::unique_ptr<SessionEngine> &engine, const TrainCommand &command, Profile *profile, Ranks *ranks) {
  bool isFirst = !ranks || ranks->isFirst(); // only the first rank writes files and messages
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> nowhere(isFirst ? nullptr : std::fopen("/dev/null", "w"),
                                                           std::fclose);
  Progress progress(nowhere ? nowhere.get() : stderr, isFirst && isatty(STDERR_FILENO), command.training.steps);
  TrainingOptions options = command.training;
  options.ranks = ranks;
  options.stopRequested = [] { return stopSignal() != 0; };
  options.kernelProgress = [&](size_t done, size_t all) {
    progress.kernels(done, all);
    if (ranks)
      ranks->others().busy("compiling kernels");
  };
  HEDDLE_ASSIGN(std::unique_ptr<TrainingRun> run, TrainingRun::open(std::move(options)));
  if (isFirst)
    HEDDLE_CHECK(TrainingLog::check(command.log, command.tensorboard));
  HEDDLE_ASSIGN(engine, openEngine(command.common, profile, ranks));
  if (ranks) {
    const std::string &reason = ranks->reasonAgainstNccl();
    log(LogLevel::Info, str("the ranks exchange gradients by ", ranks->describeTransport(),
                            reason.empty() ? "" : str("; not by NCCL: ", reason)));
    engine->beforeRun = [ranks] { ranks->atRun("computing"); };
  }
  HEDDLE_CHECK(run->readText(*engine));
  watchStopSignals();
  HEDDLE_CHECK(run->begin());
  if (run->isDone())
    return Success();

  const Trainer &trainer = run->trainer();
  TrainingLog trainingLog;
  if (isFirst) {
    std::error_code error;
    for (const std::filesystem::path file : {command.log, command.common.profile}) // their folders may have moved, too
      std::filesystem::create_directories(file.parent_path(), error);
    if (!command.log.empty())
      HEDDLE_CHECK(trainingLog.openJson(command.log, trainer.step()));
    if (!command.tensorboard.empty())
      HEDDLE_CHECK(trainingLog.openEvents(command.tensorboard, trainer.step()));
  }
  TrainingReport report(progress, trainingLog, profile);
  HEDDLE_ASSIGN(TrainingEnd end, run->run(report));
  progress.clear();
  log(LogLevel::Info, describeEnd(end, trainer, command.training.checkpoint.string()));
  if (trainer.skippedSteps() != 0)
    log(LogLevel::Info, str("of all ", trainer.step(), " steps, ", trainer.skippedSteps(),
                            " were skipped: their gradients overflowed"));
  return Success();
}

Status train(const TrainCommand &command, Profile *profile, Ranks *ranks) {
  if (command.verifyResume)
    return verifyResume(command);
  std::unique_ptr<SessionEngine> engine;
  Status status = trainOn(engine, command, profile, ranks);
  if (!status && ranks) // tell the others before closing the device, as they may wait for this rank
    ranks->others().fail(status.message());
  return status;
}

// With --restart-from-checkpoint, a launcher starts the same command again after any failure: resume if there is a
// checkpoint.
Status chooseStart(TrainCommand &command) {
  if (!command.restarts)
    return Success();
  Result<std::filesystem::path> newest = findCheckpoint(command.training.checkpoint);
  if (!newest && newest.error().kind != ErrorKind::NotFound)
    return std::move(newest).error();
  command.training.resume = newest.ok();
  if (command.training.resume) { // the checkpoint has both
    command.training.vocabulary.clear();
    command.training.weights.clear();
  }
  return Success();
}

Status trainAs(Ranks *ranks, TrainCommand command) {
  HEDDLE_CHECK(chooseStart(command));
  HEDDLE_CHECK(checkFlags(command));
  command.training.base = command.common.base;
  command.training.others = command.common.others;
  if (ranks && command.verifyResume)
    return makeError(ErrorKind::InvalidArgument,
                     "--verify-resume trains in one process; start it without other ranks.");
  if (ranks && !ranks->isFirst())
    command.common.profile.clear();
  std::vector<std::filesystem::path> read =
      filesRead(command.common, {command.training.vocabulary, command.training.weights},
                {&command.training.text, &command.training.validation});
  HEDDLE_CHECK(cli::checkOutput("--log", command.log, read));
  return profiled(command.common, "train", read, [&](Profile *profile) {
    if (profile)
      profile->limitTo(command.profiledSteps.value_or(StepWindow()));
    return train(command, profile, ranks);
  });
}

void report(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "heddle-run train: %.*s\n", int(message.size()), message.data());
}

} // namespace

Status runTrain(const TrainCommand &command) {
  watchLostReader();
  HEDDLE_ASSIGN(RankPlace place, findRankPlace(command.ranks, [](const char *name) { return std::getenv(name); }));
  if (place.ranks == 1)
    return trainAs(nullptr, command);
  watchStopSignals(); // when a launcher ends this rank because another has ended, wait for the message that says which
  if (place.rank != 0)
    logOnlyProblems();
  MeetingOptions options{place, command.timeout, [] { return stopSignal() != 0; }, report};
  HEDDLE_ASSIGN(std::unique_ptr<Ranks> ranks, Ranks::join(options, command.transport));
  log(LogLevel::Info, str(place.ranks, " ranks, started by ", place.launcher));
  if (Status status = trainAs(ranks.get(), command); !status)
    ranks->others().fail(status.message());
  return Success();
}

} // namespace heddle::run
