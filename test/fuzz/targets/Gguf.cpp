// A GGUF file, each tensor of it, and its vocabulary.
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/targets/GgufFile.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) { readWhole(MemoryFile(bytes).path()); }

} // namespace heddle::fuzz
