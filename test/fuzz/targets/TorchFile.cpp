// A file of torch.save, and each tensor of it.
#include "runtime/core/TorchFile.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  Result<TorchReader> reader = TorchReader::open(file.path());
  if (!reader)
    return;
  for (const auto &[name, entry] : reader->entries()) {
    Result<HostTensor> tensor = reader->read(entry);
    require(!tensor || tensor->bytes().size() <= 2 * bytes.size(),
            "a tensor is at most twice as large as 16-bit numbers of the file");
  }
}

} // namespace heddle::fuzz
