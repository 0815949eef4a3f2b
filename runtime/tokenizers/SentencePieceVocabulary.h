// The vocabulary of a published folder that has SentencePiece's tokenizer.model and no tokenizer.json.
#pragma once

#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/SentencePieceFile.h"

namespace heddle {

// Reads tokenizer.model and, if present, added_tokens.json and tokenizer_config.json, which give the added tokens and
// the begin and end marks.
Result<PublishedVocabulary::Parts> readTokenizerModel(const std::filesystem::path &folder);

// The parts of a model's file alone: its pieces, and how a text is normalised. Texts have no marks. Pieces have the model's
// numbers, or those of `numbers`, which has an "<unk>" for all others. `path` names the file in messages.
Result<PublishedVocabulary::Parts> partsOfModel(const SentencePieceFile &file, const std::string &path,
                                                std::optional<PieceTable> numbers = {});

// How the model's pieces become a text.
PieceRule ruleOfModel(const SentencePieceFile &file);

} // namespace heddle
