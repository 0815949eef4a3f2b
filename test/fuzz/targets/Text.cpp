// A model as text (.weft), through all phases up to the plan.
#include "compiler/Model/Import/Import.h"
#include "test/fuzz/targets/Compile.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  MemoryFile file(bytes);
  static const std::vector<std::string> kSmall = {"vocab_size=24", "max_tokens=64", "max_sequences=4", "max_length=16"};
  compile(mlir::heddle::importText(&quietContext(), file.path(), {kSmall}));
}

} // namespace heddle::fuzz
