// A NumPy file.
#include "runtime/core/Npy.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  Result<HostTensor> tensor = readNpy(file.path());
  require(!tensor || tensor->bytes().size() <= bytes.size(), "a tensor has no more bytes than its file");
}

} // namespace heddle::fuzz
