#include "tools/heddle-run/report/ExplainPage.h"

#include "tools/heddle-run/report/PageParts.h" // generated from explain.css, explain.html and explain.js

#include <cmath>

namespace heddle::run {
namespace {

nlohmann::ordered_json toJson(const AttentionMap &map) {
  auto heads = nlohmann::ordered_json::array();
  for (int64_t head = 0; head < map.heads; ++head) {
    auto rows = nlohmann::ordered_json::array();
    for (int64_t query = 0; query < map.queries; ++query) {
      auto row = nlohmann::ordered_json::array();
      for (float weight : map.row(head, query))
        row.push_back(std::round(double(weight) * 1e6) / 1e6);
      rows.push_back(std::move(row));
    }
    heads.push_back(std::move(rows));
  }
  return {{"kind", map.kind},
          {"layer", map.layer},
          {"queries", map.queriesOf},
          {"keys", map.keysOf},
          {"weights", std::move(heads)}};
}

} // namespace

HtmlPage ExplainPage::page() const {
  nlohmann::ordered_json data = {{"sentences", {source, target}},
                                 {"source", sourceTokens},
                                 {"target", targetTokens},
                                 {"next", nextTokens},
                                 {"maps", nlohmann::ordered_json::array()}};
  for (const AttentionMap &map : maps)
    data["maps"].push_back(toJson(map));
  return {"Attention: " + source, kExplainStyle, kExplainBody, kExplainScript, std::move(data)};
}

} // namespace heddle::run
