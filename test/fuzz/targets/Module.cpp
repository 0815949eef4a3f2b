// A .mlir file, through all phases up to the plan.
#include "compiler/Model/Import/Nesting.h"
#include "test/fuzz/targets/Compile.h"

#include "mlir/Parser/Parser.h"

#include <string>

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  const std::string source(text(bytes));      // MLIR's lexer reads the terminating zero
  if (!mlir::heddle::findTooDeepMLIR(source)) // as heddle-compile does
    compile(mlir::parseSourceString<mlir::ModuleOp>(source, &quietContext()));
}

} // namespace heddle::fuzz
