// Hashes that identify contents: a corpus, the files of a checkpoint. XXH3, 128 bits; not secure against forgery.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace heddle {

class ContentHash {
public:
  ContentHash();
  ContentHash(ContentHash &&) noexcept;
  ~ContentHash();

  ContentHash &add(std::string_view bytes);
  std::string hexadecimal() const; // 32 digits: the hash of all added bytes

private:
  XXH3_state_s *state;
};

Result<std::string> hashFile(const std::filesystem::path &path);

// 16 digits.
std::string hexadecimal(uint64_t value);

} // namespace heddle
