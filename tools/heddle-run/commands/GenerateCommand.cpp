#include "runtime/model/LineGenerator.h"
#include "runtime/text/Escapes.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/Opening.h"

namespace heddle::run {
namespace {

Status generate(const GenerateCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kDecoderAlone, "generate", profile));
  HEDDLE_ASSIGN(std::optional<SamplingOptions> sampling, samplingOptions(command.sampling));
  GenerationOptions options{command.tokens, std::move(sampling), command.repetitionPenalty, command.penaltyWindow};
  HEDDLE_CHECK(requireEntries(*model.engine, {Generator::entryOf(*model.engine, options)}, "continuing text"));
  AnswerOptions answers{command.stops, command.json};
  for (std::string &stop : answers.stops)
    stop = unescaped(stop);
  if (command.stream)
    answers.stream = [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
  auto lineOf = [](std::string &line) -> Result<LinePool<LineGenerator>::Line> {
    return [line = std::move(line)](LineGenerator &generator) { return generator.add(line); };
  };
  // What is streamed is said prompt by prompt.
  uint64_t window = command.stream ? 1 : kCallsAhead * uint64_t(model.description.maximumSequences);
  return shareLines(workersFor<LineGenerator>(model, *model.vocabulary, options, answers), window, lineOf, printLine);
}

} // namespace

Status runGenerate(const GenerateCommand &command) {
  return profiled(command.common, "generate", filesRead(command.common, {command.checkpoint}),
                  [&](Profile *profile) { return generate(command, profile); });
}

} // namespace heddle::run
