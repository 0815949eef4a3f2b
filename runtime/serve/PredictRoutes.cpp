// The route /predict: {"text": ["..."]} returns {"predictions": [{"label", "score"}]}. Also the route /v1/rerank for
// models that grade pairs, and for models that give one number to two texts with a mark between them.
#include "runtime/model/Predictor.h"
#include "runtime/serve/BatchEngine.h"
#include "runtime/serve/LineTexts.h"
#include "runtime/serve/Rerank.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/text/Utf8.h"

namespace heddle::serve {
namespace {

using Json = nlohmann::ordered_json;

class PredictRoutes final : public Routes {
public:
  PredictRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : model(model), metrics(metrics),
        engine([&model] { return std::make_unique<Predictor>(model.engine, model.description, model.vocabulary); },
               model, options, metrics) {}

  std::vector<std::string> paths() const override {
    return ranks() ? std::vector<std::string>{kPredict, kRerank} : std::vector<std::string>{kPredict};
  }
  const char *kind() const override { return "predict"; }
  std::string failure() const override { return engine.failure(); }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    engine.whenIdle(std::move(function), std::move(done));
  }

private:
  static constexpr const char *kPredict = "/predict", *kRerank = "/v1/rerank";

  Labelling kindOfLabels() const { return model.description.labelling(); }
  Pairs pairs() const {
    if (isOfPairs(kindOfLabels()))
      return Pairs::Required;
    const InputMarks *marks = model.vocabulary.inputMarks();
    bool hasForm = kindOfLabels() == Labelling::Texts && marks && !marks->after.empty() && marks->between;
    return hasForm ? Pairs::Allowed : Pairs::None;
  }
  bool ranks() const {
    bool gradesTwoTexts = pairs() == Pairs::Allowed && model.description.classes == 1;
    return kindOfLabels() == Labelling::Grades || gradesTwoTexts;
  }

  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange, const Json &body) override {
    return exchange->request.path == kRerank ? rerank(exchange, body) : predict(exchange, body);
  }

  std::optional<ApiError> predict(const std::shared_ptr<Exchange> &exchange, const Json &body) {
    Fields fields(body);
    bool needsPairs = pairs() == Pairs::Required;
    std::vector<std::string> texts = readTexts(fields, pairs());
    for (const std::string &text : texts) {
      size_t tab = std::min(text.find('\t'), text.size());
      if (needsPairs && !isBlank(text) && (isBlank(text.substr(0, tab)) || isBlank(text.substr(tab))))
        fields.fail("text", "this model takes pairs: an element of 'text' must be a list of two texts, neither blank.");
    }
    std::string name = fields.text("model");
    if (fields.error)
      return fields.error;
    if (Parsed<size_t> found = findModel(model, name); found.error)
      return found.error;
    Parsed<std::vector<PredictableLine>> lines = read(texts);
    if (lines.error)
      return lines.error;
    return submit(exchange, std::move(*lines.value),
                  [this, texts = std::move(texts)](std::span<const PredictedLine> predicted, int64_t) {
                    Json all = Json::array();
                    for (size_t i = 0; i < predicted.size(); ++i)
                      all.push_back(describe(texts[i], predicted[i]));
                    return Json{{"model", model.name}, {"predictions", std::move(all)}};
                  });
  }

  std::optional<ApiError> rerank(const std::shared_ptr<Exchange> &exchange, const Json &body) {
    Parsed<RerankRequest> parsed = parseRerank(body);
    if (parsed.error)
      return parsed.error;
    RerankRequest &request = *parsed.value;
    if (Parsed<size_t> found = findModel(model, request.model); found.error)
      return found.error;
    std::vector<std::string> pairs;
    for (const std::string &document : request.documents)
      pairs.push_back(lineOf(request.query, true) + "\t" + lineOf(document, true));
    Parsed<std::vector<PredictableLine>> lines = read(pairs);
    if (lines.error)
      return lines.error;
    return submit(exchange, std::move(*lines.value),
                  [this, request = std::move(request)](std::span<const PredictedLine> predicted, int64_t tokens) {
                    std::vector<double> scores;
                    for (const PredictedLine &line : predicted)
                      scores.push_back(line.grade.value_or(0));
                    return rerankAnswer(request, scores, tokens, model.name);
                  });
  }

  Parsed<std::vector<PredictableLine>> read(std::span<const std::string> texts) const {
    std::vector<PredictableLine> lines;
    for (const std::string &text : texts) {
      Result<PredictableLine> line =
          readPredictable(text, /*isRecord=*/false, lines.size() + 1, model.description, model.vocabulary);
      if (!line.ok())
        return ApiError{400, line.message(), "text", "invalid_value"};
      lines.push_back(std::move(*line));
    }
    return lines;
  }

  // Answers with the JSON that `write` makes of the predictions and the number of tokens.
  std::optional<ApiError> submit(const std::shared_ptr<Exchange> &exchange, std::vector<PredictableLine> lines,
                                 std::function<Json(std::span<const PredictedLine>, int64_t)> write) {
    int64_t tokens = 0;
    for (const PredictableLine &line : lines)
      tokens += line ? int64_t(line->tokens.size() + line->right.size()) : 0;
    std::optional<ApiError> error =
        engine.submit(exchange, std::move(lines),
                      [write = std::move(write), tokens](Exchange &to, const std::vector<PredictedLine> &predicted) {
                        to.answer(write(predicted, tokens));
                      });
    if (!error)
      metrics.promptTokens += uint64_t(tokens);
    return error;
  }

  Json describe(const std::string &text, const PredictedLine &line) const {
    if (line.grade)
      return {{"score", *line.grade}};
    auto labelOf = [](const PredictedLabel &label) -> Json {
      return {{"label", label.name}, {"score", label.probability}};
    };
    if (kindOfLabels() != Labelling::Words)
      return line.labels.empty() ? Json() : labelOf(line.labels.front());
    Json labels = Json::array();
    std::vector<std::string> words = splitWords(text);
    for (size_t i = 0; i < line.labels.size(); ++i) {
      Json label = labelOf(line.labels[i]);
      if (i < words.size())
        label["word"] = words[i];
      labels.push_back(std::move(label));
    }
    return labels;
  }

  const ServedModel &model;
  Metrics &metrics;
  BatchEngine<Predictor, PredictableLine, PredictedLine> engine;
};

} // namespace

std::unique_ptr<Routes> makePredictRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<PredictRoutes>(model, options, metrics);
}

} // namespace heddle::serve
