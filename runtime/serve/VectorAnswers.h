// The answers of /v1/embeddings, and of /v1/rerank, which compares the vectors of the query and the documents.
#pragma once

#include "runtime/model/Embedder.h"
#include "runtime/serve/Exchange.h"
#include "runtime/serve/Routes.h"
#include "runtime/serve/TextRequest.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::serve {

class VectorAnswers {
public:
  using Vector = std::vector<float>;
  static constexpr std::array<const char *, 2> kPaths = {"/v1/embeddings", "/v1/rerank"};

  // Gets the lines' vectors, in the texts' order.
  using Finish = std::function<void(Exchange &, std::vector<EmbeddedLine>)>;
  // Computes the vectors of the texts, given as tokens, with the weights of an adapter (0: none), or returns an error.
  using Submit = std::function<std::optional<ApiError>(
      const std::shared_ptr<Exchange> &, std::vector<std::vector<int32_t>> texts, size_t adapter, Finish)>;

  // All referenced objects must outlive this.
  VectorAnswers(const ServedModel &model, Metrics &metrics, Submit submit)
      : model(model), metrics(metrics), submit(std::move(submit)),
        reader(model.engine, model.description, model.vocabulary, model.embedding) {}

  // Answers the exchange, now or later, or returns why it does not. Several threads may call this.
  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange, const nlohmann::ordered_json &body) const;

private:
  const std::string &nameOf(const std::string &asked) const { return asked.empty() ? model.name : asked; }

  // Texts as the model reads them.
  struct Read {
    std::vector<std::vector<int32_t>> texts;
    int64_t tokens = 0;
  };
  // Makes the JSON of the answer from the texts' vectors and the number of their tokens.
  using Write = std::function<nlohmann::ordered_json(std::span<const Vector>, int64_t)>;

  std::optional<ApiError> embed(const std::shared_ptr<Exchange> &exchange, const nlohmann::ordered_json &body) const;
  std::optional<ApiError> rerank(const std::shared_ptr<Exchange> &exchange, const nlohmann::ordered_json &body) const;
  Parsed<Read> readTokens(std::vector<TextOrIds> texts, std::string_view field) const;
  std::optional<ApiError> compute(const std::shared_ptr<Exchange> &exchange, Read read, size_t adapter,
                                  Write write) const;

  const ServedModel &model;
  Metrics &metrics;
  Submit submit;
  const Embedder reader; // only reads texts
};

} // namespace heddle::serve
