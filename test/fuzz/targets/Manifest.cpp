// The manifest of a checkpoint.
#include "test/fuzz/Fuzz.h"
#include "tools/heddle-run/model/Checkpoint.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<run::Manifest> manifest = run::Manifest::read(folderWith("manifest.json", bytes));
  if (!manifest)
    return;
  std::string written = manifest->toJson();
  Result<run::Manifest> again = run::Manifest::read(folderWith("manifest.json", std::as_bytes(std::span(written))));
  require(again.ok(), "a manifest that is written can be read");
}

} // namespace heddle::fuzz
