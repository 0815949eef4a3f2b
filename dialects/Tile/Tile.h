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

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

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
LaneShape getLaneShape(RankedTensorType tile);

/// Returns the layout of a tile that is distributed over lanes. Returns null before phase `layout`, and for cooperative
/// matrices.
SimtAttr getLayout(Type tile);
/// Returns the layout of a tile of cooperative matrices, or null. `getLaneShape` counts a cooperative matrix as one
/// register.
CooperativeAttr getCooperativeLayout(Type tile);

/// Columns of a 16-bit operand in shared memory that tensor cores read as one row: 128 bytes, all banks once.
inline constexpr int64_t kOperandColumns = 64;

/// Rows of the left operand that a warpgroup multiplies at once.
inline constexpr int64_t kWarpgroupRows = 64;

/// Returns the type of shared memory for `tiles` tiles, one below the other. The elements of a row are in order, with
/// `padding` elements between rows.
MemRefType getSharedType(RankedTensorType tile, int64_t padding, int64_t tiles = 1);

/// Returns the stride between rows, in elements.
int64_t getRowStride(MemRefType memory);

/// Returns the bytes of shared memory, including the padding between rows.
int64_t getSharedBytes(MemRefType memory);

} // namespace mlir::tile
