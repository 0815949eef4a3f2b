// The file tokenizer.json of a published model.
#pragma once

#include "runtime/tokenizers/PublishedVocabulary.h"

namespace heddle {

Result<PublishedVocabulary::Parts> readTokenizerJson(const std::filesystem::path &folder);

// Returns true if tokenizer.json adds nothing to GPT-2's two files: it only cuts words by GPT-2's rule.
Result<bool> cutsAsGpt2(const std::filesystem::path &folder);

} // namespace heddle
