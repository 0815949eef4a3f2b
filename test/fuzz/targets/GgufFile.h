// Reads all that a GGUF file has.
#pragma once

#include "runtime/core/Gguf.h"
#include "runtime/tokenizers/GgufVocabulary.h"

#include <filesystem>

namespace heddle::fuzz {

inline void readWhole(const std::filesystem::path &path) {
  Result<GgufReader> reader = GgufReader::open(path);
  if (!reader)
    return;
  for (const GgufEntry &entry : reader->entries()) {
    const GgufType *type = entry.readType(); // readers check this, and the shape of packed matrices, first
    if (type)
      (void)reader->read(entry);
    if (type && type->format && entry.shape.size() == 2 && entry.shape[1] % type->values == 0)
      (void)reader->readPacked(entry);
  }
  (void)readGgufVocabulary(*reader);
}

} // namespace heddle::fuzz
