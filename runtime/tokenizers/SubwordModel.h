// How a word becomes tokens. This is the part in which kinds of vocabularies differ.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

class SubwordModel {
public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of a word. The word is not empty; it may be any bytes, even invalid UTF-8.
  virtual void append(std::string_view word, std::vector<int32_t> &ids) const = 0;
  // The parts of a word that become the unknown token.
  virtual std::vector<std::string_view> unknownParts(std::string_view word) const {
    (void)word;
    return {};
  }
};

} // namespace heddle
