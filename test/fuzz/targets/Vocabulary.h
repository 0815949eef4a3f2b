// Common code of the fuzz targets of vocabularies.
#pragma once

#include "runtime/tokenizers/TextCodec.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

// Encodes a text with many kinds of characters, and decodes it again.
inline void encodeAndDecode(const TextCodec &vocabulary) {
  std::vector<int32_t> ids =
      vocabulary.encode("It's 12.5\u00a0% of caf\u00e9s,\n\t\u4f60\u597d \U0001f600 <|user|> don't forty-two  \xff");
  for (int32_t id : ids)
    require(id >= 0 && id < vocabulary.pieces(), "ids are below the number of pieces");
  (void)vocabulary.decode(ids);
}

} // namespace heddle::fuzz
