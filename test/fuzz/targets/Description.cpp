// A model description (.toml), through all phases up to the plan.
#include "compiler/Model/Import/Import.h"
#include "test/fuzz/targets/Compile.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  compile(mlir::heddle::importDescription(&quietContext(), file.path(), {}));
}

} // namespace heddle::fuzz
