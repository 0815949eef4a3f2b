#include "compiler/Import/Import.h"

#include "compiler/Import/Entries.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::heddle;

OwningOpRef<ModuleOp> heddle::importDescription(MLIRContext *context, StringRef path, ArrayRef<std::string> overrides) {
  context->loadDialect<HeddleDialect, arith::ArithDialect, func::FuncDialect>();
  FailureOr<Description> description = readDescription(context, path, overrides);
  if (failed(description))
    return {};

  OwningOpRef<ModuleOp> module = ModuleOp::create(Location(description->start));
  std::string json = llvm::formatv("{0}", llvm::json::Value(description->toJSON()));
  (*module)->setAttr("heddle.description", StringAttr::get(context, json));
  Graph graph(*module, *description);
  Entries(graph, *description).build();
  if (failed(verify(*module)))
    return {};
  return module;
}
