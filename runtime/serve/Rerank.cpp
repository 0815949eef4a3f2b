#include "runtime/serve/Rerank.h"

#include "runtime/serve/Fields.h"
#include "runtime/serve/LineTexts.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <numeric>

namespace heddle::serve {

Parsed<RerankRequest> parseRerank(const nlohmann::ordered_json &body) {
  Fields fields(body);
  RerankRequest request;
  request.model = fields.text("model");
  request.query = fields.text("query");
  if (isBlank(request.query))
    fields.fail("query", "'query' must be a text that is not blank.");
  const Fields::Json *documents = fields.find("documents");
  if (!documents || !documents->is_array() || documents->empty() || documents->size() > kMostTexts)
    fields.fail("documents", str("'documents' must be a list of 1 to ", kMostTexts, " texts."));
  else
    for (const Fields::Json &each : *documents) {
      const Fields::Json &text = each.is_object() && each.contains("text") ? each["text"] : each;
      if (!text.is_string() || isBlank(text.get_ref<const std::string &>()))
        fields.fail("documents", str("element ", request.documents.size(),
                                     " of 'documents' must be a text that is not blank, or {\"text\": \"...\"}."));
      else
        request.documents.push_back(text.get<std::string>());
    }
  request.most = size_t(fields.integer("top_n", 1, INT32_MAX).value_or(INT32_MAX));
  request.returnsDocuments = fields.flag("return_documents");
  if (fields.error)
    return std::move(*fields.error);
  return request;
}

nlohmann::ordered_json rerankAnswer(const RerankRequest &request, std::span<const double> scores, int64_t tokens,
                                    const std::string &model) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::greater(), [&](size_t index) { return scores[index]; });
  order.resize(std::min(order.size(), request.most));
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (size_t index : order) {
    results.push_back({{"index", index}, {"relevance_score", scores[index]}});
    if (request.returnsDocuments)
      results.back()["document"] = {{"text", request.documents[index]}};
  }
  return {{"model", model},
          {"results", std::move(results)},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

} // namespace heddle::serve
