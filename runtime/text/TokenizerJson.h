// The file tokenizer.json of a published model.
#pragma once

#include "runtime/text/PublishedVocabulary.h"

namespace heddle {

Result<PublishedVocabulary::Parts> readTokenizerJson(const std::filesystem::path &folder);

// Whether the file says no more of the vocabulary than GPT-2's two files do: it cuts words by GPT-2's rule alone.
Result<bool> cutsAsGpt2(const std::filesystem::path &folder);

} // namespace heddle
