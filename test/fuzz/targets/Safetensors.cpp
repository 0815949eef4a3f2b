// A safetensors file, and each tensor of it.
#include "runtime/core/Safetensors.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  for (OtherTypes others : {OtherTypes::Refuse, OtherTypes::PassOver}) {
    Result<SafetensorsReader> reader = SafetensorsReader::open(file.path(), others);
    if (!reader)
      continue;
    for (const SafetensorsEntry &entry : reader->entries()) {
      Result<HostTensor> tensor = reader->read(entry.name);
      require(!tensor || tensor->bytes().size() <= 4 * bytes.size(),
              "a tensor is at most twice as large as 16-bit numbers of the file");
    }
  }
}

} // namespace heddle::fuzz
