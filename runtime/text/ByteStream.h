// The bytes of a text file, from begin to end. A gzip or Zstandard file, which is told by its first bytes and not by
// its name, is decompressed on the way; several compressed files that are concatenated are one text.
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

  // As many bytes as there are, up to `into.size()`; 0 at the end. A compressed file that is damaged or ends early is
  // an error.
  virtual Result<size_t> read(std::span<char> into) = 0;

  // Whether read() gives the bytes of the file as they lie in it, so that they can be found again by their offset.
  virtual bool isPlainFile() const { return false; }
};

} // namespace heddle
