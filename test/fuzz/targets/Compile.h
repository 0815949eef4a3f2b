// What the fuzz targets of the compiler share.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "test/fuzz/Fuzz.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::fuzz {

// With all dialects; what is told is thrown away.
mlir::MLIRContext &quietContext();

// Compiles the module, null where there is none, up to its plan. Modules that would take minutes are left out.
void compile(mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace heddle::fuzz
