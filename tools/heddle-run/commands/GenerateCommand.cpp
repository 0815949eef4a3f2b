#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/Opening.h"
#include "tools/heddle-run/model/LineGenerator.h"

namespace heddle::run {
namespace {

Status generate(const GenerateCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel model, openModel(command.common, kDecoderAlone, "generate", profile));
  HEDDLE_CHECK(requireEntries(*model.engine, {"decode_step"}, "continuing text"));
  HEDDLE_ASSIGN(BytePairs vocabulary, BytePairs::load(command.checkpoint));
  HEDDLE_CHECK(checkVocabulary(vocabulary.pieces(), vocabulary.endId(), model.description));
  HEDDLE_CHECK(loadTrained(command.checkpoint, *model.engine, model.description));

  GenerationOptions options{command.tokens, samplingOptions(command.sampling)};
  LineGenerator generator(*model.engine, model.description, vocabulary, options);
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
