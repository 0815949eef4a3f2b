// Text to token ids and back, whatever the vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

class TextCodec {
public:
  virtual ~TextCodec() = default;

  virtual std::vector<int32_t> encode(std::string_view line) const = 0;
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  // A token as it stands in the vocabulary; "#7" where 7 has no piece.
  virtual std::string piece(int32_t id) const = 0;
  virtual int32_t pieces() const = 0; // ids are below it
};

} // namespace heddle::run
