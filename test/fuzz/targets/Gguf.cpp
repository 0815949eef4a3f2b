// A GGUF file, each tensor of it, and its vocabulary.
#include "runtime/core/Gguf.h"
#include "runtime/tokenizers/GgufVocabulary.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  Result<GgufReader> reader = GgufReader::open(file.path());
  if (!reader)
    return;
  for (const GgufEntry &entry : reader->entries())
    if (entry.readType()) // readers check this first
      (void)reader->read(entry);
  (void)readGgufVocabulary(*reader);
}

} // namespace heddle::fuzz
