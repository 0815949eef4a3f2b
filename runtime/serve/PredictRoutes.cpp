// /predict: {"text": ["..."]} returns {"predictions": [{"label", "score"}]}.
#include "runtime/core/Log.h"
#include "runtime/model/Predictor.h"
#include "runtime/serve/LineTexts.h"
#include "runtime/serve/ModelThread.h"
#include "runtime/serve/Routes.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::serve {
namespace {

class PredictRoutes final : public Routes {
public:
  PredictRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : model(model), options(options), metrics(metrics), thread([this] { return step(); }) {}

  std::vector<std::string> paths() const override { return {"/predict"}; }
  const char *kind() const override { return "predict"; }
  std::string failure() const override { return {}; }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    thread.post([this, call = [function = std::move(function), done = std::move(done)] { done(function()); }] {
      auto batch = std::make_shared<Batch>();
      batch->whenIdle = call;
      batches.push_back(std::move(batch));
    });
  }

  void handle(std::shared_ptr<Exchange> exchange) override {
    if (std::optional<ApiError> error = answer(exchange))
      exchange->refuse(*error);
  }

private:
  using Clock = std::chrono::steady_clock;

  // A request, or a function that is called between the requests before and after it.
  struct Batch {
    std::function<void()> whenIdle;
    std::shared_ptr<Exchange> exchange;
    std::vector<std::string> texts;
    size_t read = 0; // number of texts passed to the predictor
    std::vector<PredictedLine> lines;
    Clock::time_point start = Clock::now();
  };

  Labelling kindOfLabels() const { return model.description.labelling(); }

  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange) {
    Parsed<nlohmann::ordered_json> body = parseBody(exchange->request.body);
    if (body.error)
      return body.error;
    Fields fields(*body.value);
    bool takesPairs = isOfPairs(kindOfLabels());
    auto batch = std::make_shared<Batch>();
    batch->exchange = exchange;
    batch->texts = readTexts(fields, takesPairs);
    for (const std::string &text : batch->texts)
      if (takesPairs && !isBlank(text) && text.find('\t') == std::string::npos)
        fields.fail("text", "this model takes pairs: an element of 'text' must be a list of two texts.");
    std::string name = fields.text("model");
    if (fields.error)
      return fields.error;
    if (Parsed<size_t> found = findModel(model, name); found.error)
      return found.error;
    if (unfinished >= options.queue + model.description.maximumSequences)
      return queueIsFull();
    unfinished += int64_t(batch->texts.size());
    thread.post([this, batch] { batches.push_back(batch); });
    return std::nullopt;
  }

  nlohmann::ordered_json describe(const std::string &text, const PredictedLine &line) const {
    if (line.grade)
      return {{"score", *line.grade}};
    auto labelOf = [](const PredictedLabel &label) -> nlohmann::ordered_json {
      return {{"label", label.name}, {"score", label.probability}};
    };
    if (kindOfLabels() != Labelling::Words)
      return line.labels.empty() ? nlohmann::ordered_json() : labelOf(line.labels.front());
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    std::vector<std::string> words = splitWords(text);
    for (size_t i = 0; i < line.labels.size(); ++i) {
      nlohmann::ordered_json label = labelOf(line.labels[i]);
      if (i < words.size())
        label["word"] = words[i];
      labels.push_back(std::move(label));
    }
    return labels;
  }

  void finish(const Batch &batch) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (size_t i = 0; i < batch.lines.size(); ++i)
      all.push_back(describe(batch.texts[i], batch.lines[i]));
    metrics.whole.add(std::chrono::duration<double>(Clock::now() - batch.start).count());
    batch.exchange->answer({{"model", model.name}, {"predictions", std::move(all)}});
  }

  // Lines are answered in order. An error fails all requests in work.
  bool step() {
    for (; !batches.empty() && batches.front()->whenIdle; batches.pop_front())
      batches.front()->whenIdle();
    if (batches.empty())
      return false;
    if (!predictor)
      predictor.emplace(model.engine, model.description, model.vocabulary);
    for (std::shared_ptr<Batch> &batch : batches) {
      if (batch->whenIdle)
        break;
      for (; batch->read < batch->texts.size() && held < 2 * uint64_t(model.description.maximumSequences);
           ++batch->read, ++held)
        if (Status added = predictor->add(batch->texts[batch->read], /*isRecord=*/false); !added.ok())
          return fail({400, added.message(), "text"});
    }
    if (Status stepped = predictor->step(); !stepped.ok()) {
      log(LogLevel::Error, stepped.message());
      return fail({500, stepped.message(), "", "model_error"});
    }
    ++metrics.steps;
    for (PredictedLine &line : predictor->take()) {
      Batch &first = *batches.front();
      first.lines.push_back(std::move(line));
      --held;
      --unfinished;
      if (first.lines.size() == first.texts.size()) {
        finish(first);
        batches.pop_front();
      }
    }
    return !batches.empty();
  }

  bool fail(const ApiError &error) {
    std::erase_if(batches, [&](const std::shared_ptr<Batch> &batch) {
      if (batch->whenIdle)
        return false;
      unfinished -= int64_t(batch->texts.size() - batch->lines.size());
      batch->exchange->refuse(error);
      return true;
    });
    held = 0;
    predictor.reset(); // it still holds their lines
    return !batches.empty();
  }

  const ServedModel &model;
  const ServeOptions &options;
  Metrics &metrics;
  std::atomic<int64_t> unfinished = 0;
  // Used by the model's thread.
  std::optional<Predictor> predictor;
  std::deque<std::shared_ptr<Batch>> batches; // in the order of their lines
  uint64_t held = 0;                          // lines that the predictor holds
  ModelThread thread;                         // must be the last member: it uses the others
};

} // namespace

std::unique_ptr<Routes> makePredictRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<PredictRoutes>(model, options, metrics);
}

} // namespace heddle::serve
