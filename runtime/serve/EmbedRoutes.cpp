// /v1/embeddings and /v1/rerank of an encoder.
#include "runtime/serve/BatchEngine.h"
#include "runtime/serve/VectorAnswers.h"

namespace heddle::serve {
namespace {

class EmbedRoutes final : public Routes {
public:
  EmbedRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : engine(
            [&model] {
              return std::make_unique<Embedder>(model.engine, model.description, model.vocabulary, model.embedding);
            },
            model, options, metrics),
        answers(model, metrics,
                [this](const std::shared_ptr<Exchange> &exchange, std::vector<std::vector<int32_t>> texts,
                       size_t /*adapter*/, VectorAnswers::Finish finish) {
                  return engine.submit(exchange, std::move(texts), std::move(finish));
                }) {}

  std::vector<std::string> paths() const override {
    return {VectorAnswers::kPaths.begin(), VectorAnswers::kPaths.end()};
  }
  const char *kind() const override { return "embed"; }
  std::string failure() const override { return engine.failure(); }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    engine.whenIdle(std::move(function), std::move(done));
  }

private:
  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange,
                                 const nlohmann::ordered_json &body) override {
    return answers.answer(exchange, body);
  }

  BatchEngine<Embedder, std::vector<int32_t>, EmbeddedLine> engine;
  VectorAnswers answers;
};

} // namespace

std::unique_ptr<Routes> makeEmbedRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<EmbedRoutes>(model, options, metrics);
}

} // namespace heddle::serve
