// What the fusion passes did, and what they could not do and why, as MLIR's optimization remarks. Their category is the
// pass's name without "heddle-": `heddle-opt --remarks-filter-missed=fuse-kernels`, and heddle-compile likewise.
#ifndef HEDDLE_COMPILER_FUSION_REMARKS_H
#define HEDDLE_COMPILER_FUSION_REMARKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::heddle {

/// Whether someone reads remarks. Passes look for reasons only then.
inline bool wantsRemarks(MLIRContext *context) { return context->getRemarkEngine() != nullptr; }

namespace detail {
inline remark::RemarkOpts describeRemark(StringRef name, StringRef pass, Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    function = op->getParentOfType<func::FuncOp>();
  return remark::RemarkOpts::name(name).category(pass).function(function ? function.getSymName() : StringRef());
}
} // namespace detail

/// Says that `pass` fused `what` at `op`, and into what.
inline void remarkFused(StringRef pass, Operation *op, const Twine &what, const Twine &into) {
  if (auto remark = remark::passed(op->getLoc(), detail::describeRemark("fused", pass, op)))
    remark << remark::detail::Remark::Arg("What", what.str()) << remark::detail::Remark::Arg("Into", into.str());
}

/// Says that `pass` left `what` at `op` unfused, and which condition of its fusion does not hold.
inline void remarkMissed(StringRef pass, Operation *op, const Twine &what, const Twine &reason) {
  if (auto remark = remark::missed(op->getLoc(), detail::describeRemark("not fused", pass, op)))
    remark << remark::detail::Remark::Arg("What", what.str()) << remark::detail::Remark::Arg("Reason", reason.str());
}

} // namespace mlir::heddle

#endif
