// The texts of a request to /translate or /predict: {"text": "..."} or {"text": ["...", ...]}.
#pragma once

#include "runtime/serve/ApiError.h"
#include "runtime/serve/Fields.h"

#include <string>
#include <vector>

namespace heddle::serve {

inline constexpr size_t kMostTexts = 4096;

// The field `text`. An element of the list may be a list of two texts if `takesPairs`; they come with a tab between
// them.
std::vector<std::string> readTexts(Fields &fields, bool takesPairs);

} // namespace heddle::serve
