// How SentencePiece normalises a text before it is cut into pieces.
#pragma once

#include "runtime/tokenizers/CharacterMap.h"
#include "runtime/tokenizers/PieceTable.h"
#include "runtime/tokenizers/WholeTokens.h"

#include <string>
#include <string_view>

namespace heddle {

struct SentencePieceText {
  CharacterMap map;         // may be empty
  WholeTokens kept;         // parts of a text that stay as they are
  bool addsSpace = true;    // at the beginning of a text
  bool spaceBehind = false; // adds the space at the end instead
  bool dropsSpaces = true;  // at both ends of a text, and all but one of several in a row

  // `continues` means that the text follows another text. It then gets no space of its own, unless spaces at its beginning are
  // dropped.
  std::string apply(std::string_view text, bool continues) const;
};

} // namespace heddle
