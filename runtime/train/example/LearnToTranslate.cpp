// Trains a compiled model on sentence pairs and translates with it, from a program: like `heddle-run train` and
// `heddle-run translate`, but without their flags.
//
//   heddle-example-train model.heddle source.txt target.txt CHECKPOINT_FOLDER STEPS "a sentence"...
//
// The vocabulary is trained on both files. heddle-run can also resume or use the folder.
#include "runtime/model/Translator.h"
#include "runtime/train/Trainer.h"

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
  HEDDLE_ASSIGN(heddle::ModelDescription model, heddle::ModelDescription::parse(engine.description()));

  HEDDLE_ASSIGN(heddle::LineBlocks text, heddle::LineBlocks::open(arguments[1], arguments[2], /*spool=*/"."));
  HEDDLE_ASSIGN(heddle::Tokenizer tokenizer,
                heddle::Tokenizer::train(text.files(), static_cast<int32_t>(model.vocabularySize)));
  heddle::TextPairs corpus(text, tokenizer, model.maximumLength, model.marks);

  heddle::TrainerOptions options;
  options.checkpoint = arguments[3];
  options.steps = std::strtoull(arguments[4], nullptr, 10);
  options.limits = model.limits();
  std::vector<heddle::Batch> validation; // none
  heddle::ParallelText validationText;
  heddle::Trainer trainer(engine, {model, tokenizer, corpus, validation, validationText}, options,
                          [] { return false; });
  HEDDLE_CHECK(trainer.begin());
  Lines lines;
  HEDDLE_CHECK(trainer.run(lines));

  HEDDLE_CHECK(heddle::Translator::check(engine, model, {}));
  HEDDLE_CHECK(engine.prepare(std::vector<std::string_view>{"encode", "beam_step"}, {}));
  heddle::Translator translator(engine, model, {});
  std::vector<std::vector<int32_t>> sources;
  for (const std::string &sentence : sentences)
    sources.push_back(tokenizer.encode(sentence));
  HEDDLE_ASSIGN(std::vector<heddle::Translation> translations, translator.translate(sources));
  for (const heddle::Translation &translation : translations)
    std::cout << tokenizer.decode(translation.best[0].tokens) << "\n";
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
