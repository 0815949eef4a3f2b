// MLIR optimization remarks of the fusion passes: what they fused, and what they could not fuse and why. The category
// of a remark is the pass's name without "heddle-": `heddle-opt --remarks-filter-missed=fuse-kernels`, and
// heddle-compile likewise.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::heddle {

/// Returns true if remarks are collected. Passes look for reasons only then.
inline bool wantsRemarks(MLIRContext *context) { return context->getRemarkEngine() != nullptr; }

namespace detail {
inline remark::RemarkOpts describeRemark(StringRef name, StringRef pass, Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    function = op->getParentOfType<func::FuncOp>();
  return remark::RemarkOpts::name(name).category(pass).function(function ? function.getSymName() : StringRef());
}
} // namespace detail

/// Reports that `pass` fused `what` at `op` into `into`.
inline void remarkFused(StringRef pass, Operation *op, const Twine &what, const Twine &into) {
  if (auto remark = remark::passed(op->getLoc(), detail::describeRemark("fused", pass, op)))
    remark << remark::detail::Remark::Arg("What", what.str()) << remark::detail::Remark::Arg("Into", into.str());
}

/// Reports that `pass` left `what` at `op` unfused. `reason` is the condition of the fusion that does not hold.
inline void remarkMissed(StringRef pass, Operation *op, const Twine &what, const Twine &reason) {
  if (auto remark = remark::missed(op->getLoc(), detail::describeRemark("not fused", pass, op)))
    remark << remark::detail::Remark::Arg("What", what.str()) << remark::detail::Remark::Arg("Reason", reason.str());
}

} // namespace mlir::heddle
