// A SentencePiece model; encodes and decodes a text.
#include "runtime/tokenizers/Tokenizer.h"
#include "test/fuzz/targets/Vocabulary.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  if (auto tokenizer = Tokenizer::fromBytes(text(bytes), "fuzz"))
    encodeAndDecode(*tokenizer);
}

} // namespace heddle::fuzz
