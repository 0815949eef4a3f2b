// Attention's weights as one page of HTML that needs nothing but itself: no other file, no network.
#pragma once

#include "tools/heddle-run/model/Explanation.h"

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::run {

struct ExplainPage {
  std::string source, target; // the sentences
  // The tokens that encoder and decoder read, marks included, and what the decoder should say after each of its own.
  std::vector<std::string> sourceTokens, targetTokens, nextTokens;
  std::vector<AttentionMap> maps;

  // Any text may be in the sentences and tokens; bytes that are not UTF-8 become U+FFFD. Weights have six decimals.
  std::string html() const;
  // Replaces the file as a whole, or leaves it as it was.
  Status write(const std::filesystem::path &path) const;
};

} // namespace heddle::run
