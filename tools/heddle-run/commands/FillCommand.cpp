#include "runtime/model/MaskFiller.h"
#include "runtime/train/Checkpoint.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <limits>

namespace heddle::run {
namespace {

// Prints a line for each choice: the line's number, the mask's number (from 1), probability, piece. Mask 0 means that
// the line has no mask.
void printChoices(const FilledLine &line) {
  auto number = static_cast<unsigned long long>(line.number);
  if (line.masks.empty())
    std::printf("%llu\t0\t%.6f\t\n", number, std::numeric_limits<double>::quiet_NaN());
  for (size_t mask = 0; mask < line.masks.size(); ++mask)
    for (const FilledLine::Choice &choice : line.masks[mask]) {
      std::printf("%llu\t%zu\t%.6f\t", number, mask + 1, choice.probability);
      printLine(choice.piece);
    }
}

Status fill(const FillCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel opened, openModel(command.common, kEncoderAlone, "fill", profile));
  if (!opened.engine->hasEntry("logits"))
    return makeError(ErrorKind::Unsupported,
                     "the artifact's model gives hidden states and has no head that predicts words; "
                     "compile a BertForMaskedLM.");
  HEDDLE_ASSIGN(TrainedModel model, withWeights(std::move(opened), command.common.base, command.checkpoint));
  if (!model.vocabulary->maskId())
    return makeError(ErrorKind::Unsupported, "'", command.checkpoint,
                     "' has a vocabulary without the piece [MASK] or <mask>, so it has no mask to fill in.");

  auto print = [&](const FilledLine &line) { command.choices == 0 ? printLine(line.text) : printChoices(line); };
  return shareLines(workersFor<MaskFiller>(model, *model.vocabulary, std::max<int64_t>(command.choices, 1)),
                    kCallsAhead * uint64_t(model.description.maximumSequences), print);
}

} // namespace

Status runFill(const FillCommand &command) {
  return profiled(command.common, "fill", filesRead(command.common, {command.checkpoint}),
                  [&](Profile *profile) { return fill(command, profile); });
}

} // namespace heddle::run
