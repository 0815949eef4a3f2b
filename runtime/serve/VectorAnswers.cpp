#include "runtime/serve/VectorAnswers.h"

#include "runtime/serve/LineTexts.h"
#include "runtime/serve/Rerank.h"
#include "runtime/tokenizers/Base64.h"

#include <bit>
#include <cmath>

namespace heddle::serve {
namespace {

using Json = nlohmann::ordered_json;
using Vector = VectorAnswers::Vector;

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

} // namespace

std::optional<ApiError> VectorAnswers::answer(const std::shared_ptr<Exchange> &exchange, const Json &body) const {
  return exchange->request.path == kPaths[1] ? rerank(exchange, body) : embed(exchange, body);
}

std::optional<ApiError> VectorAnswers::embed(const std::shared_ptr<Exchange> &exchange, const Json &body) const {
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
  Parsed<size_t> adapter = findModel(model, name);
  if (adapter.error)
    return adapter.error;
  Parsed<Read> read = readTokens(std::move(texts), "input");
  if (read.error)
    return read.error;
  return compute(exchange, std::move(*read.value), *adapter.value,
                 [name = nameOf(name), isBase64 = format == "base64"](std::span<const Vector> vectors, int64_t tokens) {
                   Json data = Json::array();
                   for (const Vector &vector : vectors)
                     data.push_back({{"object", "embedding"},
                                     {"index", data.size()},
                                     {"embedding", isBase64 ? Json(base64Of(vector)) : Json(vector)}});
                   return Json{{"object", "list"},
                               {"data", std::move(data)},
                               {"model", name},
                               {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
                 });
}

std::optional<ApiError> VectorAnswers::rerank(const std::shared_ptr<Exchange> &exchange, const Json &body) const {
  Parsed<RerankRequest> parsed = parseRerank(body);
  if (parsed.error)
    return parsed.error;
  RerankRequest &request = *parsed.value;
  Parsed<size_t> adapter = findModel(model, request.model);
  if (adapter.error)
    return adapter.error;
  std::vector<TextOrIds> texts(request.documents.begin(), request.documents.end());
  texts.emplace_back(request.query);
  Parsed<Read> read = readTokens(std::move(texts), "documents");
  if (read.error)
    return read.error;
  return compute(
      exchange, std::move(*read.value), *adapter.value,
      [name = nameOf(request.model), request = std::move(request)](std::span<const Vector> vectors, int64_t tokens) {
        std::vector<double> scores;
        for (const Vector &document : vectors.first(request.documents.size()))
          scores.push_back(cosine(vectors.back(), document));
        return rerankAnswer(request, scores, tokens, name);
      });
}

Parsed<VectorAnswers::Read> VectorAnswers::readTokens(std::vector<TextOrIds> texts, std::string_view field) const {
  Read read;
  for (TextOrIds &each : texts) {
    auto *ids = std::get_if<std::vector<int32_t>>(&each);
    if (ids)
      if (std::optional<ApiError> unknown = checkIds(*ids, model.vocabulary.pieces(), field))
        return std::move(*unknown);
    std::vector<int32_t> tokens = ids ? std::move(*ids) : reader.encode(std::get<std::string>(each)).tokens;
    auto length = int64_t(tokens.size());
    if (length == 0 || length > int64_t(reader.longestText()))
      return ApiError{400,
                      str("text ", read.texts.size(), " has ", length, " tokens; the model takes 1 to ",
                          reader.longestText(), " of them; shorten it."),
                      std::string(field), "context_length_exceeded"};
    read.tokens += length;
    read.texts.push_back(std::move(tokens));
  }
  return read;
}

std::optional<ApiError> VectorAnswers::compute(const std::shared_ptr<Exchange> &exchange, Read read, size_t adapter,
                                               Write write) const {
  int64_t tokens = read.tokens;
  std::optional<ApiError> error =
      submit(exchange, std::move(read.texts), adapter,
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

} // namespace heddle::serve
