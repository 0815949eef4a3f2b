#include "compiler/Tiling/MatrixTile.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::heddle;

double heddle::costOfTile(const TargetProfile &profile, int64_t vector, MatrixTile tile, int64_t depth) {
  double steps = static_cast<double>(llvm::divideCeil(depth, vector));
  double shared = static_cast<double>(tile.whole);
  double loads = static_cast<double>(tile.dealt + int64_t(llvm::divideCeil(tile.whole, profile.lanes)));
  double multiplies = static_cast<double>(tile.whole * tile.dealt * vector);
  // Writing an element takes about as long as loading one.
  double stores = static_cast<double>(tile.whole * tile.dealt) / static_cast<double>(vector) * profile.loadCost;
  return steps * (loads * profile.loadCost + shared * profile.shareCost + multiplies) + stores;
}

MatrixTile heddle::chooseMatrixTile(const TargetProfile &profile, int64_t vector, int64_t unit, int64_t wholeExtent,
                                    int64_t dealtExtent, int64_t depth) {
  MatrixTile best{1, unit};
  double bestCost = 0;
  int64_t enough = llvm::alignTo(llvm::divideCeil(dealtExtent, profile.lanes), unit);
  for (int64_t dealt = unit; dealt <= std::min(enough, profile.accumulators); dealt += unit)
    for (int64_t whole = 1; whole <= wholeExtent && whole * dealt <= profile.accumulators; ++whole) {
      if (whole > vector && whole % vector != 0) // vectors along it
        continue;
      MatrixTile tile{whole, dealt};
      auto tiles = static_cast<double>(llvm::divideCeil(wholeExtent, whole) *
                                       llvm::divideCeil(dealtExtent, profile.lanes * dealt));
      double waves = std::max(1.0, tiles / static_cast<double>(profile.parallelGroups));
      double cost = waves * costOfTile(profile, vector, tile, depth);
      if (bestCost == 0 || cost < bestCost) {
        best = tile;
        bestCost = cost;
      }
    }
  return best;
}
