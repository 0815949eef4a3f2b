// Training in the C API: turns the caller's options into those of a training run, and its reports into calls.
#include "runtime/c/ApiCall.h"
#include "runtime/train/TrainingRun.h"

#include <sys/mman.h>

using namespace heddle;

namespace {

const char *orEmpty(const char *text) { return text ? text : ""; }

// The texts that a caller gave as lines: nameless files in memory, which last as long as this object.
class TextsInMemory {
public:
  TextsInMemory() = default;
  TextsInMemory(const TextsInMemory &) = delete;
  TextsInMemory &operator=(const TextsInMemory &) = delete;
  ~TextsInMemory() {
    for (std::FILE *file : files)
      std::fclose(file);
  }

  // Returns the path of a text; empty for none.
  Result<std::string> pathOf(const heddle_text &text) {
    if (!text.path && !text.lines && text.count != 0)
      return makeError(ErrorKind::InvalidArgument, "a text has ", text.count, " lines, and its `lines` is NULL.");
    if (text.path || !text.lines)
      return std::string(orEmpty(text.path));
    int descriptor = ::memfd_create("text", MFD_CLOEXEC);
    std::FILE *file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
    if (!file)
      return makeError(ErrorKind::OutOfMemory, "there is no memory for a text of ", text.count, " lines.");
    files.push_back(file);
    for (size_t i = 0; i < text.count; ++i) {
      std::string_view line = orEmpty(text.lines[i]);
      if (line.find('\n') != std::string_view::npos)
        return makeError(ErrorKind::InvalidArgument, "line ", i + 1, " of a text holds a line feed.");
      std::fwrite(line.data(), 1, line.size(), file);
      std::fputc('\n', file);
    }
    if (std::fflush(file) != 0 || std::ferror(file))
      return makeError(ErrorKind::OutOfMemory, "there is no memory for a text of ", text.count, " lines.");
    return str("/proc/self/fd/", descriptor);
  }

private:
  std::vector<std::FILE *> files;
};

Result<TextFiles> filesOf(const heddle_text &source, const heddle_text &target, const heddle_text &text,
                          const heddle_text &data, TextsInMemory &memory) {
  TextFiles files;
  for (auto [given, path] :
       {std::pair(&source, &files.source), {&target, &files.target}, {&text, &files.text}, {&data, &files.data}}) {
    HEDDLE_ASSIGN(*path, memory.pathOf(*given));
  }
  return files;
}

// Calls `function` with each number of C's structure and the option that it is.
void forEachNumber(auto &given, auto &options, auto function) {
  function(given.steps, options.steps);
  function(given.accumulate, options.microBatches);
  function(given.shuffle_window, options.windowLines);
  function(given.validate_every, options.validateEvery);
  function(given.patience, options.patience);
  function(given.save_every, options.saveEvery);
  function(given.keep_last, options.keepLast);
  function(given.batch_sequences, options.batchSequences);
  function(given.batch_tokens, options.batchTokens);
}

heddle_training defaults() {
  static const TrainingOptions options;
  heddle_training result{};
  result.documents = options.text.documents.c_str();
  result.vocab_type = options.vocabularyType.c_str();
  result.seed = -1;
  forEachNumber(result, options, [](auto &number, const auto &option) { number = option; });
  return result;
}

Result<TrainingOptions> optionsOf(const heddle_training &given, TextsInMemory &memory) {
  TrainingOptions options;
  options.checkpoint = orEmpty(given.checkpoint);
  HEDDLE_ASSIGN(options.text, filesOf(given.src, given.tgt, given.text, given.data, memory));
  HEDDLE_ASSIGN(options.validation,
                filesOf(given.valid_src, given.valid_tgt, given.valid_text, given.valid_data, memory));
  for (auto [name, option] : {std::pair(given.documents, &options.text.documents),
                              {given.vocab, &options.vocabulary},
                              {given.vocab_type, &options.vocabularyType},
                              {given.weights, &options.weights},
                              {given.base, &options.base},
                              {given.chat_template, &options.chatTemplate}})
    if (name)
      *option = name;
  if (given.seed >= 0)
    options.seed = uint64_t(given.seed);
  forEachNumber(given, options, [](const auto &number, auto &option) { option = number; });
  options.resume = given.resume != 0;
  options.validateBleu = given.validate_bleu != 0;
  options.others = given.force != 0 ? OtherMeaning::Warn : OtherMeaning::Refuse;
  return options;
}

// Passes reports on to the caller.
class Reporter final : public TrainingObserver {
public:
  explicit Reporter(const heddle_training &training) : report(training.report), user(training.user) {}
  bool isStopped() const { return stopped; }

  Status step(const StepReport &step) override {
    return tell(/*isValidation=*/false, step.step, step.loss, describeAsJson(step));
  }
  Status validation(uint64_t step, const EvaluationResult &result, bool) override {
    return tell(/*isValidation=*/true, step, result.loss, describeAsJson(step, result));
  }

private:
  Status tell(bool isValidation, uint64_t step, double loss, const std::string &record) {
    heddle_report told{sizeof(heddle_report), isValidation, step, loss, record.c_str()};
    stopped |= report && report(user, &told) != 0;
    return Success();
  }

  int (*report)(void *user, const heddle_report *report);
  void *user;
  bool stopped = false;
};

} // namespace

heddle_status heddle_training_defaults(heddle_training *training) {
  return guarded([&]() -> Status { return fill(training, defaults()); });
}

heddle_status heddle_train(heddle_session *session, const heddle_training *training, heddle_training_end *end) {
  return guarded([&]() -> Status {
    if (!session || !training)
      return missing(session ? "training" : "the session");
    heddle_training given = defaults();
    HEDDLE_CHECK(readFields(training, given));
    TextsInMemory memory;
    Reporter reporter(given);
    HEDDLE_ASSIGN(TrainingOptions options, optionsOf(given, memory));
    options.stopRequested = [&] { return reporter.isStopped(); };
    SessionEngine engine(session->session);
    HEDDLE_ASSIGN(std::unique_ptr<TrainingRun> run, TrainingRun::open(std::move(options)));
    HEDDLE_CHECK(run->readText(engine));
    HEDDLE_CHECK(run->begin());
    HEDDLE_ASSIGN(TrainingEnd ended, run->run(reporter));
    if (end)
      *end = heddle_training_end(ended);
    return Success();
  });
}
