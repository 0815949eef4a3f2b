// Trains a compiled model on sentence pairs and translates with it, from a program: like `heddle-run train` and
// `heddle-run translate`, but without their flags.
//
//   heddle-example-train model.heddle source.txt target.txt CHECKPOINT_FOLDER STEPS "a sentence"...
//
// The vocabulary is the artifact's, or is trained on both files. heddle-run can also resume or use the folder.
#include "runtime/model/Translator.h"
#include "runtime/train/TrainingRun.h"

#include <cstdlib>
#include <iostream>

namespace {

// Prints the loss every 50 steps.
class Lines final : public heddle::TrainingObserver {
  heddle::Status step(const heddle::StepReport &report) override {
    if (report.step % 50 == 0)
      std::cerr << "step " << report.step << ": loss " << report.loss << "\n";
    return heddle::Success();
  }
};

heddle::Status learn(char **arguments, std::vector<std::string> sentences) {
  HEDDLE_ASSIGN(std::unique_ptr<heddle::Session> session, heddle::Session::open(arguments[0]));
  heddle::SessionEngine engine(std::move(session));

  heddle::TrainingOptions options;
  options.text.source = arguments[1];
  options.text.target = arguments[2];
  options.checkpoint = arguments[3];
  options.steps = std::strtoull(arguments[4], nullptr, 10);
  HEDDLE_ASSIGN(std::unique_ptr<heddle::TrainingRun> run, heddle::TrainingRun::open(options));
  HEDDLE_CHECK(run->readText(engine));
  HEDDLE_CHECK(run->begin());
  Lines lines;
  HEDDLE_CHECK(run->run(lines));

  const auto &[model, vocabulary, corpus, validation, validationText] = run->inputs();
  HEDDLE_CHECK(heddle::Translator::check(engine, model, {}));
  HEDDLE_CHECK(engine.prepare(std::vector<std::string_view>{"encode", "beam_step"}, {}));
  heddle::Translator translator(engine, model, {});
  std::vector<std::vector<int32_t>> sources;
  for (const std::string &sentence : sentences)
    sources.push_back(vocabulary.encode(sentence));
  HEDDLE_ASSIGN(std::vector<heddle::Translation> translations, translator.translate(sources));
  for (const heddle::Translation &translation : translations)
    std::cout << vocabulary.decode(translation.best[0].tokens) << "\n";
  return heddle::Success();
}

} // namespace

int main(int count, char **arguments) {
  if (count < 6) {
    std::cerr << "usage: " << arguments[0]
              << " model.heddle source.txt target.txt CHECKPOINT_FOLDER STEPS SENTENCE...\n";
    return 2;
  }
  if (heddle::Status status = learn(arguments + 1, {arguments + 6, arguments + count}); !status) {
    std::cerr << arguments[0] << ": " << status.message() << "\n";
    return 1;
  }
  return 0;
}
