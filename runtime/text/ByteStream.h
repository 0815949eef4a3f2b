// The bytes of a text file, from beginning to end. Gzip and Zstandard files are recognised by their first bytes, not by
// their names, and decompressed on the fly. Several concatenated compressed files are one text.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace heddle {

class ByteStream {
public:
  static Result<std::unique_ptr<ByteStream>> open(const std::filesystem::path &path);
  virtual ~ByteStream() = default;

  // Reads up to `into.size()` bytes and returns how many it read; 0 at the end. Fails if a compressed file is damaged
  // or truncated.
  virtual Result<size_t> read(std::span<char> into) = 0;

  // Returns true if read() returns the file's bytes unchanged, so that offsets in the text are offsets in the file.
  virtual bool isPlainFile() const { return false; }
};

} // namespace heddle
