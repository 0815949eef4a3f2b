// The page of `explain`: attention weights.
#pragma once

#include "runtime/model/Explanation.h"
#include "tools/heddle-run/report/HtmlPage.h"

#include <string>
#include <vector>

namespace heddle::run {

struct ExplainPage {
  std::string source, target; // the sentences
  // The tokens that encoder and decoder read, marks included, and the token that the decoder should predict after each.
  std::vector<std::string> sourceTokens, targetTokens, nextTokens;
  std::vector<AttentionMap> maps;

  // The page has the weights with six decimals.
  HtmlPage page() const;
};

} // namespace heddle::run
