// A model of SentencePiece's, and a text that it takes apart and puts together.
#include "test/fuzz/Fuzz.h"
#include "tools/heddle-run/text/Tokenizer.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<run::Tokenizer> tokenizer = run::Tokenizer::fromBytes(text(bytes), "fuzz");
  if (!tokenizer)
    return;
  std::vector<int32_t> ids = tokenizer->encode("forty-two  caf\u00e9s \xff");
  for (int32_t id : ids)
    require(id >= 0 && id < tokenizer->pieces(), "ids are below the number of pieces");
  (void)tokenizer->decode(ids);
}

} // namespace heddle::fuzz
