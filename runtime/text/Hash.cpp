#include "runtime/text/Hash.h"

#include "runtime/core/File.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace heddle {

ContentHash::ContentHash() : state(XXH3_createState()) { XXH3_128bits_reset(state); }
ContentHash::ContentHash(ContentHash &&other) noexcept : state(std::exchange(other.state, nullptr)) {}
ContentHash::~ContentHash() { XXH3_freeState(state); }

ContentHash &ContentHash::add(std::string_view bytes) {
  XXH3_128bits_update(state, bytes.data(), bytes.size());
  return *this;
}

std::string ContentHash::hexadecimal() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state);
  return heddle::hexadecimal(hash.high64) + heddle::hexadecimal(hash.low64);
}

Result<std::string> hashFile(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(InputFile file, InputFile::open(path));
  ContentHash hash;
  std::vector<std::byte> chunk;
  for (uint64_t at = 0; at < file.size(); at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(file.size() - at, 1 << 20));
    HEDDLE_CHECK(file.read(at, chunk));
    hash.add({reinterpret_cast<const char *>(chunk.data()), chunk.size()});
  }
  return hash.hexadecimal();
}

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace heddle
