// A tokenizer.json, and a text that its vocabulary takes apart and puts together.
#include "test/fuzz/Fuzz.h"
#include "tools/heddle-run/text/PublishedVocabulary.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<run::PublishedVocabulary> vocabulary = run::PublishedVocabulary::load(folderWith("tokenizer.json", bytes));
  if (!vocabulary)
    return;
  std::vector<int32_t> ids = vocabulary->encode("It's 12.5\u00a0% of caf\u00e9s,\n\t\u4f60\u597d \U0001f600 <|user|> don't\xff");
  for (int32_t id : ids)
    require(id >= 0 && id < vocabulary->pieces(), "ids are below the number of pieces");
  (void)vocabulary->decode(ids);
}

} // namespace heddle::fuzz
