#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/Opening.h"
#include "tools/heddle-run/model/LineGenerator.h"

namespace heddle::run {
namespace {

Status generate(const GenerateCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kDecoderAlone, "generate", profile));
  HEDDLE_CHECK(requireEntries(*model.engine, {"decode_step"}, "continuing text"));

  GenerationOptions options{command.tokens, samplingOptions(command.sampling)};
  // Heddle's trainings begin each document with the begin mark; published models continue bare text.
  auto beginning = model.step ? PromptBeginning::Mark : PromptBeginning::Bare;
  LineGenerator generator(*model.engine, model.description, *model.vocabulary, options, beginning);
  auto add = [&](const std::string &line) -> Status {
    generator.add(line);
    return Success();
  };
  return answerLines(generator, kCallsAhead * uint64_t(model.description.maximumSequences), add, printLine);
}

} // namespace

Status runGenerate(const GenerateCommand &command) {
  return profiled(command.common, "generate", [&](Profile *profile) { return generate(command, profile); });
}

} // namespace heddle::run
