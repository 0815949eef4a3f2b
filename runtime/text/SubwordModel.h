// How a word of a text becomes tokens: what kinds of vocabularies differ in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

class SubwordModel {
public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of a word, which is not empty: any bytes, be they UTF-8 or not.
  virtual void append(std::string_view word, std::vector<int32_t> &ids) const = 0;
};

} // namespace heddle
