// The manifest of a checkpoint.
#include "runtime/train/Checkpoint.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<Manifest> manifest = Manifest::read(folderWith("manifest.json", bytes));
  if (!manifest)
    return;
  std::string written = manifest->toJson();
  Result<Manifest> again = Manifest::read(folderWith("manifest.json", std::as_bytes(std::span(written))));
  require(again.ok(), "a manifest that is written can be read");
}

} // namespace heddle::fuzz
