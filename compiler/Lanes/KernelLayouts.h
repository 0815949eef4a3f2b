// The layouts that the tiles of a kernel get: one place for all lane mappings.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "dialects/Tile/Tile.h"

#include <functional>

namespace mlir::heddle {

/// The layouts of a matmul's tiles.
struct ProductLayouts {
  Attribute sum, left, right;
};

struct KernelLayouts {
  /// Returns the layouts for a kernel's mapping on a target, or nothing if the mapping needs tensor cores that the target
  /// lacks.
  static std::optional<KernelLayouts> of(tile::FuncOp kernel, const TargetProfile &profile);

  /// Fails, after emitting an error, if the mapping cannot multiply operands that are transposed like those of `dot`.
  LogicalResult checkSides(tile::DotOp dot) const;

  /// The layouts of a matmul's tiles.
  std::function<ProductLayouts(tile::DotOp)> ofProduct;
  /// Whether a matmul's left and right operand must be transposed or must not be. None: either will do.
  std::optional<bool> turnsLeft = {}, turnsRight = {};
  /// The layout of tiles that no matmul decides.
  Attribute others = {};
  /// The layout of the results of reductions to a row for each subgroup. Null if the mapping has no such reductions.
  Attribute ofSubgroups = {};
  /// The layouts of f32 tiles that lanes load along rows or, if transposed, along columns, and store to panels of
  /// shared memory. Null if the mapping has no such stores.
  Attribute toPanels = {}, turnedToPanels = {};
  /// The number of neighbouring lanes that exchange values. None: all lanes of the workgroup do.
  std::optional<int64_t> subgroup = {};
  /// True if matmuls multiply cooperative matrices.
  bool hasMatrices = false;
  /// True if operands of matmuls come through shared memory. Tiles that no matmul decides are then loaded or stored, and
  /// get layouts in which neighbouring lanes have neighbouring columns; `others` is for tiles with one column.
  bool throughMemory = false;
  /// True if tiles with one number per row may be distributed otherwise than the rows that they are computed from or
  /// repeated along: all lanes along a row hold its number in any case.
  bool hasFreeColumns = false;
};

} // namespace mlir::heddle
