// Checks that the verifiers of several op families share. Each check emits its own error.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {

using Gradients = FailureOr<SmallVector<Value>>;

/// Returns true if the rows of a value are rows of the batch (RowwiseOpInterface).
using IsOfRows = llvm::function_ref<bool(Value)>;

inline RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns true if two dimensions have the same extent and the same name of a run-time size.
bool sameDim(DimOf a, DimOf b);

/// Fails unless all `others` equal the dimension `expected`. `what` names the dimension in the message.
LogicalResult expectSameDim(Operation *op, StringRef what, DimOf expected, ArrayRef<DimOf> others);

LogicalResult expectSameElements(Operation *op, RankedTensorType a, RankedTensorType b);

/// Fails unless kernels take the types of all operands and results. Verifiers call this before they look at a dimension
/// of a tensor of any rank.
LogicalResult expectTensorsOfKernels(Operation *op);

/// Fails unless `rate`, the attribute `name`, lies in [0, 1).
LogicalResult expectRate(Operation *op, StringRef name, const APFloat &rate);

LogicalResult expectStaticColumns(Operation *op, RankedTensorType type);

LogicalResult expectOneColumn(Operation *op, RankedTensorType type);

/// Returns the declaration of `name`, or null after an error that also lists the other undeclared variables.
template <typename SymbolOp>
SymbolOp lookup(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, StringRef what) {
  auto found = symbols.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (found)
    return found;
  InFlightDiagnostic error = op->emitOpError() << "names a " << what << " that is not declared: " << name;
  // Verification stops at this error, so its notes name everything else that is missing.
  llvm::SmallSetVector<Attribute, 8> missing;
  missing.insert(name);
  Operation *module = SymbolTable::getNearestSymbolTable(op);
  module->walk([&](Operation *user) {
    if (auto other = user->getAttrOfType<FlatSymbolRefAttr>("variable");
        other && !symbols.lookupSymbolIn(module, other) && missing.insert(other))
      error.attachNote(user->getLoc()) << "nor is " << other;
  });
  return found;
}

/// Fails unless `parts` is a tensor<MxGxN> with static G and N.
LogicalResult verifyParts(Operation *op, RankedTensorType parts);

/// Fails unless the first extent is dynamic. A kernel runs one workgroup per element of a column, but a vector of
/// static extent counts as a row.
LogicalResult expectColumn(Operation *op, StringRef what, RankedTensorType type);

/// Fails unless only the first result has a gradient: the other results exist only for the backward pass.
LogicalResult expectFirstOnly(Operation *op, ValueRange gradients);

} // namespace mlir::heddle
