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

// Reads the field `text`. If `takesPairs`, an element of the list may be a list of two texts; they are returned
// separated by a tab.
std::vector<std::string> readTexts(Fields &fields, bool takesPairs);

} // namespace heddle::serve
