#include "runtime/model/Predictor.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

namespace heddle::run {
namespace {

void printPrediction(const PredictedLine &line, Labelling kind) {
  if (line.grade) {
    std::printf("%.6f\n", double(*line.grade));
    return;
  }
  if ((kind == Labelling::Texts || kind == Labelling::Pairs) && !line.labels.empty()) {
    std::printf("%s\t%.6f\n", line.labels[0].name.c_str(), line.labels[0].probability);
    return;
  }
  std::string text;
  for (const PredictedLabel &label : line.labels)
    text += (text.empty() ? "" : " ") + label.name;
  printLine(text);
}

Status predict(const PredictCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel opened, openModel(command.common, profile));
  Labelling kind = opened.description.labelling();
  if (!opened.description.givesLabels())
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact's model gives no labels, which predict takes; compile a text with `task classify`, "
                     "`task tag` or `task pair`.");
  if (opened.description.marks.image.pixels() > 0 && !command.records)
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact's model takes images, and a line of text is none: give --records, and "
                     "lines with an \"image\" each.");
  HEDDLE_CHECK(requireEntries(*opened.engine, {"logits"}, "a prediction"));
  HEDDLE_ASSIGN(TrainedModel model, withWeights(std::move(opened), command.common.base, command.checkpoint));
  if (kind != Labelling::Grades)
    HEDDLE_CHECK(checkLabels(*model.vocabulary, model.description, command.checkpoint));
  auto print = [&](const PredictedLine &line) { printPrediction(line, kind); };
  return shareLines(workersFor<Predictor>(model, *model.vocabulary),
                    kCallsAhead * uint64_t(model.description.maximumSequences), print, command.records);
}

} // namespace

Status runPredict(const PredictCommand &command) {
  return profiled(command.common, "predict", filesRead(command.common, {command.checkpoint}),
                  [&](Profile *profile) { return predict(command, profile); });
}

} // namespace heddle::run
