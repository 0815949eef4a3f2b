// An MLIR action for each step of a kernel's code generation. Tools watch it by MLIRContext::registerActionHandler.
#pragma once

#include "mlir/IR/Action.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::heddle {

class KernelAction : public tracing::ActionImpl<KernelAction> {
public:
  static constexpr StringLiteral tag = "heddle-kernel";

  KernelAction(ArrayRef<IRUnit> units, StringLiteral step, StringRef kernel)
      : ActionImpl(units), step(step), kernel(kernel) {}
  void print(raw_ostream &stream) const override { stream << step << " of kernel '" << kernel << "'"; }

  const StringLiteral step; // such as "lower to LLVM"
  const StringRef kernel;   // the kernel's name
};

/// Runs `work` as a KernelAction.
inline LogicalResult runKernelAction(MLIRContext *context, StringLiteral step, StringRef kernel,
                                     function_ref<LogicalResult()> work) {
  LogicalResult result = failure();
  context->executeAction<KernelAction>([&] { result = work(); }, /*irUnits=*/{}, step, kernel);
  return result;
}

} // namespace mlir::heddle
