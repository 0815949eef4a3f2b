// A GGUF model in two files. The input begins with the first one's length, a 32-bit number.
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/targets/GgufFile.h"

#include <algorithm>
#include <cstring>

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  uint32_t length = 0;
  if (bytes.size() < sizeof length)
    return;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes = bytes.subspan(sizeof length);
  size_t first = std::min<size_t>(length, bytes.size());
  (void)folderWith("m-00002-of-00002.gguf", bytes.subspan(first));
  readWhole(folderWith("m-00001-of-00002.gguf", bytes.first(first)) / "m-00001-of-00002.gguf");
}

} // namespace heddle::fuzz
