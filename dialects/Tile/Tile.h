// The tile dialect: one workgroup's program. See README.md beside this file.
#ifndef HEDDLE_DIALECTS_TILE_TILE_H
#define HEDDLE_DIALECTS_TILE_TILE_H

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

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace mlir::tile {

/// An attribute of launches of which ranks do some rows each: an axis of the grid along which workgroups share the
/// rows, and how many rows each has.
inline constexpr StringLiteral kShardAttrName = "shard";

/// How a tile of a given layout sits in one lane: `rows` x `runs` registers of `vector` neighbouring columns each.
struct LaneShape {
  int64_t rows, runs, vector;
  int64_t count() const { return rows * runs; }
};
LaneShape getLaneShape(RankedTensorType tile);

/// The layout of a tile that lanes share out, or null: before `layout` has run, and for cooperative matrices.
SimtAttr getLayout(Type tile);
/// The layout of a tile of cooperative matrices, or null. One of them counts as one register in `getLaneShape`.
CooperativeAttr getCooperativeLayout(Type tile);

/// Elements of 16 bits in a row of an operand that tensor cores read from shared memory: all of its banks once.
inline constexpr int64_t kOperandColumns = 64;

/// Rows of the left operand that a warpgroup multiplies at once.
inline constexpr int64_t kWarpgroupRows = 64;

/// Shared memory for `tiles` tiles one below the other, whose rows lie `padding` elements apart, in their order.
MemRefType getSharedType(RankedTensorType tile, int64_t padding, int64_t tiles = 1);

/// Elements from the beginning of one row to that of the next.
int64_t getRowStride(MemRefType memory);

/// The bytes that shared memory takes, those between its rows included.
int64_t getSharedBytes(MemRefType memory);

} // namespace mlir::tile

#endif
