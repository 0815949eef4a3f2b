// Common code of the compiler's fuzz targets.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "test/fuzz/Fuzz.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::fuzz {

// Returns a context with all dialects that discards diagnostics.
mlir::MLIRContext &quietContext();

// Compiles the module up to its plan; it may be null. Skips modules that would take minutes.
void compile(mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace heddle::fuzz
