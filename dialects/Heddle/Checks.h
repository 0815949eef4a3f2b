// What several ops demand alike of their operands, for the verifiers beside each family of ops; each reports what is
// wrong.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {

using Gradients = FailureOr<SmallVector<Value>>;

/// Whether a value has rows of the batch (RowwiseOpInterface).
using IsOfRows = llvm::function_ref<bool(Value)>;

inline RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether two dimensions are alike, by extent and by the name of their run-time size.
bool sameDim(DimOf a, DimOf b);

/// Every value passed must have the dimension that is named first; `what` names that dimension for the reader.
LogicalResult expectSameDim(Operation *op, StringRef what, DimOf expected, ArrayRef<DimOf> others);

LogicalResult expectSameElements(Operation *op, RankedTensorType a, RankedTensorType b);

/// What asks for a dimension of a tensor of any number of them needs this first.
LogicalResult expectTensorsOfKernels(Operation *op);

/// A probability with which something is left out.
LogicalResult expectRate(Operation *op, StringRef name, const APFloat &rate);

LogicalResult expectStaticColumns(Operation *op, RankedTensorType type);

LogicalResult expectOneColumn(Operation *op, RankedTensorType type);

/// The declaration that `name` stands for, or null after an error that tells what else is missing.
template <typename SymbolOp>
SymbolOp lookup(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, StringRef what) {
  auto found = symbols.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (found)
    return found;
  InFlightDiagnostic error = op->emitOpError() << "names a " << what << " that is not declared: " << name;
  // The verifier stops here: what else is missing is told along.
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

/// Parts of each row of a matrix, of which there is a static number.
LogicalResult verifyParts(Operation *op, RankedTensorType parts);

/// A kernel has a workgroup for each element of a column: vectors of a fixed extent are rows.
LogicalResult expectColumn(Operation *op, StringRef what, RankedTensorType type);

/// Rules know only the gradient of an op's first result; the others are there for the backward pass alone.
LogicalResult expectFirstOnly(Operation *op, ValueRange gradients);

} // namespace mlir::heddle
