// /v1/embeddings and /v1/rerank of an encoder, which compares the vectors of the query and of the documents.
#include "runtime/model/Embedder.h"
#include "runtime/serve/BatchEngine.h"
#include "runtime/serve/LineTexts.h"
#include "runtime/serve/Rerank.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/tokenizers/Base64.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <bit>
#include <cmath>

namespace heddle::serve {
namespace {

using Json = nlohmann::ordered_json;
using Vector = std::vector<float>;

std::string base64Of(const Vector &vector) {
  static_assert(std::endian::native == std::endian::little, "clients expect f32 in little-endian order");
  return toBase64({reinterpret_cast<const char *>(vector.data()), vector.size() * sizeof(float)});
}

// The cosine of the angle between two vectors of equal length; 0 if one of them is zero.
double cosine(const Vector &one, const Vector &other) {
  double product = 0, squares = 0, otherSquares = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    product += double(one[i]) * double(other[i]);
    squares += double(one[i]) * double(one[i]);
    otherSquares += double(other[i]) * double(other[i]);
  }
  double lengths = std::sqrt(squares * otherSquares);
  return lengths > 0 ? product / lengths : 0;
}

class EmbedRoutes final : public Routes {
public:
  EmbedRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : model(model), metrics(metrics),
        engine(
            [&model] {
              return std::make_unique<Embedder>(model.engine, model.description, model.vocabulary, model.embedding);
            },
            model, options, metrics) {}

  std::vector<std::string> paths() const override { return {kEmbeddings, kRerank}; }
  const char *kind() const override { return "embed"; }
  std::string failure() const override { return engine.failure(); }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    engine.whenIdle(std::move(function), std::move(done));
  }

private:
  static constexpr const char *kEmbeddings = "/v1/embeddings", *kRerank = "/v1/rerank";

  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange, const Json &body) override {
    return exchange->request.path == kRerank ? rerank(exchange, body) : embed(exchange, body);
  }

  std::optional<ApiError> embed(const std::shared_ptr<Exchange> &exchange, const Json &body) {
    Fields fields(body);
    std::vector<TextOrIds> texts = readTextsOrIds(fields, "input", kMostTexts);
    std::string name = fields.text("model"), format = fields.text("encoding_format");
    if (!format.empty() && format != "float" && format != "base64")
      fields.fail("encoding_format", "'encoding_format' must be \"float\" or \"base64\".");
    int64_t width = model.description.width;
    if (std::optional<int64_t> wanted = fields.integer("dimensions", 1, INT32_MAX); wanted && *wanted != width)
      fields.refuse("dimensions", str("other than ", width, " are not supported by this model; leave it out."));
    if (fields.error)
      return fields.error;
    if (Parsed<size_t> found = findModel(model, name); found.error)
      return found.error;
    Parsed<Read> read = readTokens(std::move(texts), "input");
    if (read.error)
      return read.error;
    return submit(exchange, std::move(*read.value),
                  [this, isBase64 = format == "base64"](std::span<const Vector> vectors, int64_t tokens) {
                    Json data = Json::array();
                    for (const Vector &vector : vectors)
                      data.push_back({{"object", "embedding"},
                                      {"index", data.size()},
                                      {"embedding", isBase64 ? Json(base64Of(vector)) : Json(vector)}});
                    return Json{{"object", "list"},
                                {"data", std::move(data)},
                                {"model", model.name},
                                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
                  });
  }

  std::optional<ApiError> rerank(const std::shared_ptr<Exchange> &exchange, const Json &body) {
    Parsed<RerankRequest> parsed = parseRerank(body);
    if (parsed.error)
      return parsed.error;
    RerankRequest &request = *parsed.value;
    if (Parsed<size_t> found = findModel(model, request.model); found.error)
      return found.error;
    std::vector<TextOrIds> texts(request.documents.begin(), request.documents.end());
    texts.emplace_back(request.query);
    Parsed<Read> read = readTokens(std::move(texts), "documents");
    if (read.error)
      return read.error;
    return submit(exchange, std::move(*read.value),
                  [this, request = std::move(request)](std::span<const Vector> vectors, int64_t tokens) {
                    std::vector<double> scores;
                    for (const Vector &document : vectors.first(request.documents.size()))
                      scores.push_back(cosine(vectors.back(), document));
                    return rerankAnswer(request, scores, tokens, model.name);
                  });
  }

  // Texts as the model reads them.
  struct Read {
    std::vector<std::vector<int32_t>> texts;
    int64_t tokens = 0;
  };

  Parsed<Read> readTokens(std::vector<TextOrIds> texts, std::string_view field) const {
    const EmbeddingRule &rule = model.embedding;
    int64_t longest = std::min({model.description.maximumLength, model.description.maximumTokens, rule.longest});
    InputMarks marks = model.description.inputMarks(model.vocabulary);
    auto encode = [&](const std::string &given) {
      return encodeInput(model.vocabulary, marks, rule.prepare(given)).tokens;
    };
    Read read;
    for (TextOrIds &each : texts) {
      auto *ids = std::get_if<std::vector<int32_t>>(&each);
      if (ids)
        if (std::optional<ApiError> unknown = checkIds(*ids, model.vocabulary.pieces(), field))
          return std::move(*unknown);
      std::vector<int32_t> tokens = ids ? std::move(*ids) : encode(std::get<std::string>(each));
      auto length = int64_t(tokens.size());
      if (length == 0 || length > longest)
        return ApiError{400,
                        str("text ", read.texts.size(), " has ", length, " tokens; the model takes 1 to ", longest,
                            " of them; shorten it."),
                        std::string(field), "context_length_exceeded"};
      read.tokens += length;
      read.texts.push_back(std::move(tokens));
    }
    return read;
  }

  // Answers with the JSON that `write` makes of the texts' vectors and the number of their tokens.
  std::optional<ApiError> submit(const std::shared_ptr<Exchange> &exchange, Read read,
                                 std::function<Json(std::span<const Vector>, int64_t)> write) {
    int64_t tokens = read.tokens;
    std::optional<ApiError> error =
        engine.submit(exchange, std::move(read.texts),
                      [write = std::move(write), tokens](Exchange &to, std::vector<EmbeddedLine> lines) {
                        std::vector<Vector> vectors;
                        for (EmbeddedLine &line : lines)
                          vectors.push_back(std::move(line.vector));
                        to.answer(write(vectors, tokens));
                      });
    if (!error)
      metrics.promptTokens += uint64_t(tokens);
    return error;
  }

  const ServedModel &model;
  Metrics &metrics;
  BatchEngine<Embedder, std::vector<int32_t>, EmbeddedLine> engine;
};

} // namespace

std::unique_ptr<Routes> makeEmbedRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<EmbedRoutes>(model, options, metrics);
}

} // namespace heddle::serve
