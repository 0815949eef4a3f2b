// The tile dialect: one workgroup's program. See README.md beside this file.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {

/// How one dimension of a tile is distributed over lanes. Coordinate c of lane l is (l / stride) mod lanes. The lane's
/// register k holds `unit` neighbouring indices, which begin at unit * (c + k * lanes). With `pieces`, each eight
/// neighbouring lanes hold that many neighbouring pieces of eight indices before it is the turn of the next eight.
struct Distribution {
  static constexpr int64_t kPiece = 8;

  int64_t lanes = 1, stride = 1, unit = 1, pieces = 1;

  /// The number of indices that all lanes together hold in a register each.
  int64_t width() const { return lanes * unit; }
  /// The distance from the lane's first index to the first index of its register `k`.
  int64_t step(int64_t k) const { return k / pieces * pieces * width() + k % pieces * kPiece; }
  /// Returns true if each lane holds the same indices, perhaps in registers of another width.
  bool operator==(const Distribution &other) const {
    return lanes == other.lanes &&
           (lanes == 1 || (stride == other.stride && unit == other.unit && pieces == other.pieces));
  }
};

} // namespace mlir::tile

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"
#include "dialects/Tile/TileInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace mlir::tile {

/// An attribute of launches whose rows are shared out over ranks: the axis of the grid along which workgroups share the
/// rows, and the number of rows per workgroup.
inline constexpr StringLiteral kShardAttrName = "shard";

/// The registers of one lane for a tile: `rows` x `runs` registers of `vector` neighbouring columns each.
struct LaneShape {
  int64_t rows, runs, vector;
  int64_t count() const { return rows * runs; }
};

/// Returns the registers of a lane for a tile. A cooperative matrix counts as one register.
LaneShape getLaneShape(RankedTensorType tile);

/// Returns the layout of a tile, or null if it has none of this kind: by default, none that says which lane has what.
template <typename Layout = DistributedLayout> Layout getLayout(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  return type ? dyn_cast_or_null<Layout>(type.getEncoding()) : Layout();
}
/// Returns true if each tile among the types has a layout.
bool haveLayouts(TypeRange types);
/// Returns how a dimension of a tile with a distributed layout is distributed.
Distribution getDistribution(RankedTensorType tile, int64_t dim);

/// Rows of the left operand that a warpgroup multiplies at once.
inline constexpr int64_t kWarpgroupRows = 64;

/// Returns the swizzled layout of shared memory, or null if the elements of its rows are in order.
SwizzledAttr getSwizzle(Type memory);

/// Returns true if a memref is shared memory.
bool isShared(Type memory);

/// Returns the type of shared memory for `tiles` tiles, one below the other. The elements of a row are in order. If rows
/// are padded, neighbouring rows begin in different banks.
MemRefType getSharedType(RankedTensorType tile, int64_t tiles = 1, bool isPadded = true);

/// Returns the stride between rows, in elements.
int64_t getRowStride(MemRefType memory);

/// Returns the bytes of shared memory, including the padding between rows.
int64_t getSharedBytes(MemRefType memory);

/// Returns true if the kernel has an op of this kind.
template <typename Op> bool contains(FuncOp kernel) {
  return kernel.walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace mlir::tile
