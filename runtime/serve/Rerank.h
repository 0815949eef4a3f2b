// The body and the answer of /v1/rerank.
#pragma once

#include "runtime/serve/ApiError.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::serve {

struct RerankRequest {
  std::string model, query; // no model: empty
  std::vector<std::string> documents;
  size_t most = 0; // number of results
  bool returnsDocuments = false;
};

// {"query": "...", "documents": ["..." or {"text": "..."}], "top_n": 3, "return_documents": false}. Fails if the query
// or a document is blank.
Parsed<RerankRequest> parseRerank(const nlohmann::ordered_json &body);

// The documents by their scores, best first. `tokens` is the number of tokens that the model read.
nlohmann::ordered_json rerankAnswer(const RerankRequest &request, std::span<const double> scores, int64_t tokens,
                                    const std::string &model);

} // namespace heddle::serve
