// The pass that finds what a call must fulfil, so that no kernel reads or writes where nothing is.
#ifndef HEDDLE_COMPILER_CONTRACT_DERIVECONTRACT_H
#define HEDDLE_COMPILER_CONTRACT_DERIVECONTRACT_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Of functions, after planning of entries: an array of `#plan.segments`.
inline constexpr StringLiteral kSegmentsAttrName = "plan.segments";

/// `heddle-derive-contract`, on graphs of tensors: where an op indexes rows by values that inputs bring, the inputs get
/// limits (`heddle.limit`, the tighter of two counts) or the entry gets conditions on several of them
/// (`plan.segments`). Variables of indices get limits too. Warns of indices that it can neither bound nor follow back
/// to inputs.
std::unique_ptr<Pass> createDeriveContractPass();
void registerDeriveContractPass();

} // namespace mlir::heddle

#endif
