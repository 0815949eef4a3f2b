// The heddle dialect: ops, attributes, interfaces. See README.md beside this file.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::heddle {
/// See `Heddle_Elementwise` in HeddleInterfaces.td.
template <typename ConcreteType> class Elementwise : public OpTrait::TraitBase<ConcreteType, Elementwise> {};
} // namespace mlir::heddle

#include "dialects/Heddle/HeddleDialect.h.inc"
#include "dialects/Heddle/HeddleEnums.h.inc"
#include "dialects/Heddle/HeddleInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Heddle/HeddleAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Heddle/HeddleOps.h.inc"

namespace mlir::heddle {

/// The attribute of entries that several ranks run together (compiler/Graph/Distribution/Distribute.cpp).
inline constexpr StringLiteral kRanksAttrName = "heddle.ranks";

/// Sharded tensors have a multiple of this many elements (256 bytes), so that each rank's part is aligned for vector
/// loads.
inline int64_t getShardElements(Type element) { return 2048 / element.getIntOrFloatBitWidth(); }

/// Returns the name of the run-time size behind dimension `dim`, or empty if the dimension is static.
StringRef getSizeName(RankedTensorType type, int64_t dim);

/// A size that is a multiple of another size is called "SIZE*FACTOR". `getFactorOfSize` returns SIZE and FACTOR, and
/// for any other name the name itself and 1. `getMultipleOfSize` returns the name of the multiple.
std::pair<StringRef, int64_t> getFactorOfSize(StringRef name);
std::string getMultipleOfSize(StringRef size, int64_t factor);

/// Declares the size "SIZE*FACTOR" right after SIZE. Does nothing for other names, or if the size is already declared.
void declareMultiple(ModuleOp module, StringRef name);

/// Returns true if both types have equally many elements, whatever the run-time sizes are.
bool sameElements(RankedTensorType a, RankedTensorType b);

/// Returns a rank-1 type with the extent and the size name of dimension `dim`.
RankedTensorType getDimType(RankedTensorType type, int64_t dim, Type element);

/// A dimension of a tensor type. `getTypeOfDims` returns a type whose dimensions have the extents and size names of
/// `dims`.
struct DimOf {
  RankedTensorType type;
  int64_t dim;
};
RankedTensorType getTypeOfDims(ArrayRef<DimOf> dims, Type element);

/// Every kernel sees a matrix: a rank-1 tensor is a row if its extent is static, and a column if it is dynamic.
bool isColumn(RankedTensorType type);

/// Returns true if `op` computes each element on its own (`Elementwise` in this dialect, `ElementwiseMappable` in
/// others).
bool isElementwise(Operation *op);

/// Returns true if several ranks compute `op` together.
bool isCollective(Operation *op);

} // namespace mlir::heddle
