// The texts of a request to /translate or /predict: {"text": "..."} or {"text": ["...", ...]}.
#pragma once

#include "runtime/serve/ApiError.h"
#include "runtime/serve/Fields.h"

#include <string>
#include <vector>

namespace heddle::serve {

inline constexpr size_t kMostTexts = 4096;

// The text with line breaks, and tabs if they separate pairs, replaced by spaces.
std::string lineOf(std::string text, bool isOfPair);

// Whether a text may, or must, be a pair of texts.
enum class Pairs { None, Allowed, Required };

// Reads the field `text`. If pairs are allowed, an element of the list may be a list of two texts; they are returned
// separated by a tab. A tab in a text does not make it a pair if pairs are required.
std::vector<std::string> readTexts(Fields &fields, Pairs pairs);

} // namespace heddle::serve
