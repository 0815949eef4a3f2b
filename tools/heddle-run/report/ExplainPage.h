// Attention's weights as a page.
#pragma once

#include "runtime/model/Explanation.h"
#include "tools/heddle-run/report/HtmlPage.h"

#include <string>
#include <vector>

namespace heddle::run {

struct ExplainPage {
  std::string source, target; // the sentences
  // The tokens that encoder and decoder read, marks included, and what the decoder should say after each of its own.
  std::vector<std::string> sourceTokens, targetTokens, nextTokens;
  std::vector<AttentionMap> maps;

  // Weights have six decimals.
  HtmlPage page() const;
};

} // namespace heddle::run
