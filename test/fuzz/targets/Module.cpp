// A .mlir file, through all phases up to the plan.
#include "test/fuzz/targets/Compile.h"

#include "mlir/Parser/Parser.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  compile(mlir::parseSourceString<mlir::ModuleOp>(text(bytes), &quietContext()));
}

} // namespace heddle::fuzz
