#include "runtime/core/Npy.h"
#include "runtime/model/Embedder.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <charconv>

namespace heddle::run {
namespace {

// Prints an array of JSON. Each number has as few digits as identify it among floats.
void printVector(const EmbeddedLine &line) {
  std::string text;
  for (float number : line.vector) {
    char digits[32];
    text += text.empty() ? '[' : ',';
    text.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
  }
  printLine(text + "]");
}

// The vectors of all lines, for a file.
class VectorFile {
public:
  void add(const EmbeddedLine &line) {
    numbers.insert(numbers.end(), line.vector.begin(), line.vector.end());
    ++lines;
  }
  Status write(const std::string &path) const {
    const int64_t shape[] = {lines, lines == 0 ? 0 : int64_t(numbers.size()) / lines};
    return writeNpy(path, TensorView::of(std::span(numbers), shape));
  }

private:
  std::vector<float> numbers;
  int64_t lines = 0;
};

Status embed(const EmbedCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel opened, openModel(command.common, profile));
  HEDDLE_CHECK(checkEmbeds(*opened.engine));
  HEDDLE_ASSIGN(EmbeddingRule rule, embeddingRule(command.common, command.checkpoint, opened.description));
  HEDDLE_ASSIGN(TrainedModel model, withWeights(std::move(opened), command.common.base, command.checkpoint));
  VectorFile file;
  auto take = [&](const EmbeddedLine &line) { command.output.empty() ? printVector(line) : file.add(line); };
  HEDDLE_CHECK(shareLines(workersFor<Embedder>(model, *model.vocabulary, rule),
                          kCallsAhead * uint64_t(model.description.maximumSequences), take));
  return command.output.empty() ? Status(Success()) : file.write(command.output);
}

} // namespace

Status runEmbed(const EmbedCommand &command) {
  std::vector<std::filesystem::path> read = filesRead(command.common, {command.checkpoint});
  if (!command.output.empty())
    HEDDLE_CHECK(cli::checkOutput("--output", command.output, read));
  return profiled(command.common, "embed", read, [&](Profile *profile) { return embed(command, profile); });
}

} // namespace heddle::run
