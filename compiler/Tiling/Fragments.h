// Products of 16-bit factors on tensor cores.
#ifndef HEDDLE_COMPILER_TILING_FRAGMENTS_H
#define HEDDLE_COMPILER_TILING_FRAGMENTS_H

#include "dialects/Tile/Tile.h"

namespace mlir::heddle {

/// What one instruction multiplies: 16 rows by `kFragmentDepth` times that by 8 columns.
inline constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8, kFragmentDepth = 16;

/// 16-bit elements that one lane copies to shared memory at once, and that stay neighbours there: 16 bytes.
inline constexpr int64_t kCopyElements = 8;

/// Whether values of this type are factors for tensor cores.
inline bool isTensorFactor(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

} // namespace mlir::heddle

#endif
