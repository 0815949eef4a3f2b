// A step of one kernel's code generation, which tools can watch: MLIRContext::registerActionHandler.
#ifndef HEDDLE_COMPILER_TARGET_KERNELACTION_H
#define HEDDLE_COMPILER_TARGET_KERNELACTION_H

#include "mlir/IR/Action.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::heddle {

class KernelAction : public tracing::ActionImpl<KernelAction> {
public:
  static constexpr StringLiteral tag = "heddle-kernel";

  KernelAction(ArrayRef<IRUnit> units, StringLiteral step, StringRef kernel)
      : ActionImpl(units), step(step), kernel(kernel) {}
  void print(raw_ostream &stream) const override { stream << step << " of kernel '" << kernel << "'"; }

  const StringLiteral step; // what is done
  const StringRef kernel;   // its name
};

/// Does the work as such an action.
inline LogicalResult runKernelAction(MLIRContext *context, StringLiteral step, StringRef kernel,
                                     function_ref<LogicalResult()> work) {
  LogicalResult result = failure();
  context->executeAction<KernelAction>([&] { result = work(); }, /*irUnits=*/{}, step, kernel);
  return result;
}

} // namespace mlir::heddle

#endif
