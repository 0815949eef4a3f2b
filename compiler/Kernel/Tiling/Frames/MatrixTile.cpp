#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"

#include "compiler/Analysis/Kernels/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

using namespace mlir;
using namespace mlir::heddle;

std::string Product::describe() const {
  return llvm::formatv("{0}{1} {2}x{3}x{4} by {5}", transposeLhs ? "t" : "n", transposeRhs ? "t" : "n", m, n, k,
                       vector);
}

namespace {

/// The result's extents: along the dimension that each lane has whole, and along the dimension that lanes share.
struct Extents {
  explicit Extents(const Product &product)
      : whole(product.transposeRhs ? product.n : product.m), distributed(product.transposeRhs ? product.m : product.n) {
  }
  int64_t whole, distributed;
};

/// Lanes along columns take whole vectors of them. Lanes along rows take single rows.
int64_t unitOf(const Product &product) { return product.transposeRhs ? 1 : product.vector; }

/// A thread's tile, with `vectors` registers of columns in each row.
struct ThreadTile {
  ThreadTile(const Product &product, MatrixTile tile)
      : rows(product.transposeRhs ? tile.distributed : tile.whole),
        columns(product.transposeRhs ? tile.whole : tile.distributed), vectors(columns / product.vector) {}
  int64_t rows, columns, vectors;
  /// Registers for the sums, a row of the right side, and a repeated element of the left side.
  int64_t registers() const { return rows * vectors + vectors + 1; }
};

/// Returns true if a lane can have the tile. The dimension that each lane has whole is also loaded in vectors.
bool isTile(const TargetProfile &profile, const Product &product, MatrixTile tile) {
  if (profile.registers > 0) {
    // For these tiles the right side's part, packed 256 rows at a time (PackedProduct.cpp), stays in the L1 cache. A
    // matmul with one row reads the right side in place: a wide tile reads more of each cache line and page at once.
    int64_t mostColumns = product.m == 1 ? 64 : 32;
    ThreadTile own(product, tile);
    bool crosses = product.panel > 0 && product.panel % own.columns != 0;
    return own.columns % product.vector == 0 && own.columns <= mostColumns && own.registers() <= profile.registers &&
           !crosses;
  }
  return tile.distributed % unitOf(product) == 0 &&
         (tile.whole <= product.vector || tile.whole % product.vector == 0) &&
         (tile.whole == 1 || tile.whole * tile.distributed <= profile.simt.accumulators);
}

} // namespace

/// The cost of a thread's tiles, in clocks. A step of depth one takes as long as its multiplications or its loads,
/// whichever is longer. Two of each run per clock.
static double costOfThreadTile(const Product &product, MatrixTile tile) {
  ThreadTile own(product, tile);
  constexpr double perClock = 2;
  // A sum takes one multiply-add after the other, with a latency of 4 clocks. The fifth is slack.
  constexpr double latency = 5;
  auto count = [](int64_t number) { return static_cast<double>(number); };
  double clocks =
      std::max({count(own.rows * own.vectors) / perClock, count(own.rows + own.vectors) / perClock, latency});
  // The right side's vectors are transposed in registers.
  if (product.transposeRhs)
    clocks += count(3 * own.vectors) / perClock;
  constexpr double store = 1, begin = 20; // per vector of the result; per tile
  return (clocks * count(product.k) + store * count(own.rows * own.vectors) + begin) *
         count(llvm::divideCeil(product.m, own.rows) * llvm::divideCeil(product.n, own.columns));
}

double heddle::costOfTile(const TargetProfile &profile, const Product &product, MatrixTile tile) {
  if (profile.registers > 0)
    return costOfThreadTile(product, tile);
  Extents extents(product);
  auto steps = static_cast<double>(llvm::divideCeil(product.k, product.vector));
  auto shared = static_cast<double>(tile.whole);
  auto loads = static_cast<double>(tile.distributed + int64_t(llvm::divideCeil(tile.whole, profile.lanes)));
  auto elements = static_cast<double>(tile.whole * tile.distributed), vector = static_cast<double>(product.vector);
  // Writing a vector takes about as long as loading one.
  double time = steps * (loads * profile.simt.loadCost + shared * profile.simt.shareCost + elements * vector) +
                elements / vector * profile.simt.loadCost;
  auto tiles = static_cast<double>(llvm::divideCeil(extents.whole, tile.whole) *
                                   llvm::divideCeil(extents.distributed, profile.lanes * tile.distributed));
  return time * std::max(1.0, tiles / static_cast<double>(profile.simt.parallelGroups));
}

std::vector<MatrixTile> heddle::candidateTiles(const TargetProfile &profile, const Product &product, size_t count) {
  Extents extents(product);
  int64_t unit = unitOf(product);
  int64_t enough = llvm::alignTo(llvm::divideCeil(extents.distributed, profile.lanes), unit);
  int64_t most = profile.registers > 0 ? std::max(extents.whole, product.vector) : extents.whole;
  std::vector<std::pair<double, MatrixTile>> tiles;
  for (int64_t distributed = unit; distributed <= std::max(unit, std::min(enough, profile.simt.accumulators));
       distributed += unit)
    for (int64_t whole = 1; whole == 1 || (whole <= most && whole * distributed <= profile.simt.accumulators); ++whole)
      if (isTile(profile, product, {whole, distributed}))
        tiles.push_back({costOfTile(profile, product, {whole, distributed}), {whole, distributed}});
  // A call of a kernel for few rows often has fewer rows than the kernel is made for. If two tiles cost the same, the one
  // with fewer rows then computes fewer rows that the call does not have.
  bool hasFewRows = profile.registers > 0 && !profile.fewRows.empty() && product.m <= profile.fewRows.back();
  auto rowsOf = [&](MatrixTile tile) { return hasFewRows ? ThreadTile(product, tile).rows : 0; };
  llvm::stable_sort(tiles, [&](const auto &a, const auto &b) {
    return std::pair(a.first, rowsOf(a.second)) < std::pair(b.first, rowsOf(b.second));
  });
  tiles.resize(std::min(count, tiles.size()));
  std::vector<MatrixTile> best;
  for (const auto &[cost, tile] : tiles)
    best.push_back(tile);
  return best;
}

double heddle::costOfBlock(const TargetProfile &profile, const Product &product, BlockTile tile) {
  int64_t rows = profile.blocks.lanes / profile.blocks.rowLanes * tile.rows,
          columns = profile.blocks.rowLanes * tile.columns;
  auto vectors = [&](int64_t elements) { return static_cast<double>(elements) / static_cast<double>(product.vector); };
  double time = static_cast<double>(tile.rows * tile.columns) +
                vectors(tile.rows + tile.columns) * profile.simt.shareCost +
                vectors(rows + columns) / static_cast<double>(profile.blocks.lanes) * profile.simt.loadCost;
  auto groups = static_cast<double>(llvm::divideCeil(product.m, rows) * llvm::divideCeil(product.n, columns));
  auto atOnce =
      static_cast<double>(profile.simt.parallelGroups * profile.lanes) / static_cast<double>(profile.blocks.lanes);
  return time * static_cast<double>(product.k) * std::max(1.0, groups / atOnce);
}

std::optional<BlockTile> heddle::chooseBlock(const TargetProfile &profile, const Product &product) {
  constexpr int64_t fewest = 32; // rows and columns
  if (!profile.blocks.lanes || product.m < fewest || product.n < fewest)
    return std::nullopt;
  BlockTile best{};
  double least = 0;
  // Each lane copies at least a register of each operand to shared memory. With fewer than four rows of the result it
  // would do little else.
  constexpr int64_t fewestRows = 4;
  int64_t fewestColumns = std::max(product.vector, profile.blocks.lanes * product.vector /
                                                       (profile.blocks.rowLanes * profile.blocks.depth));
  int64_t mostColumns = std::max(fewestColumns, product.widens ? profile.blocks.columns / 2 : profile.blocks.columns);
  for (int64_t rows = fewestRows; rows <= profile.blocks.rows; rows *= 2)
    for (int64_t columns = fewestColumns; columns <= mostColumns; columns *= 2)
      if (double cost = costOfBlock(profile, product, {rows, columns}); !best.rows || cost < least)
        best = {rows, columns}, least = cost;
  return best;
}

bool heddle::usesWarpgroups(const TargetProfile &profile, const TensorProduct &product) {
  int64_t panelColumns = 16 * tile::SwizzledAttr::kPanelColumns / product.bits;
  return profile.tensor.warpgroup > 0 && product.k >= panelColumns;
}

double heddle::costOfTensorTile(const TargetProfile &profile, const TensorProduct &product, TensorTile tile) {
  bool warpgroups = usesWarpgroups(profile, product);
  int64_t tiles =
      llvm::divideCeil(product.m, tile.allRows()) * llvm::divideCeil(product.n, tile.columns) * product.parts;
  auto waves = static_cast<double>(llvm::divideCeil(tiles, profile.processors));
  auto bytes = [&](int64_t elements) { return static_cast<double>(elements * product.bits) / 8; };
  double multiply = static_cast<double>(tile.allRows() * tile.columns) * static_cast<double>(product.bits) / 16;
  double operands = bytes(tile.allRows() + tile.columns);
  int64_t readers = warpgroups ? llvm::divideCeil(tile.allRows(), tile::kWarpgroupRows) : tile.subgroups;
  double clocks = std::max({waves * multiply / (warpgroups ? profile.tensor.warpgroupRate : profile.tensor.rate),
                            waves * bytes(tile.allRows() + readers * tile.columns) / profile.tensor.sharedRate,
                            waves * operands / profile.tensor.cacheRate,
                            static_cast<double>(tiles) * operands / profile.tensor.cacheRateOfAll});
  return clocks / static_cast<double>(product.parts);
}

TensorTile heddle::chooseTensorTile(const TargetProfile &profile, const TensorProduct &product) {
  constexpr int64_t fewestSubgroups = 4, fewestRows = 16, fewestColumns = 32;
  // Wider operands leave room for fewer sums in a lane. Operands that stay in shared memory leave room for more.
  bool warpgroups = usesWarpgroups(profile, product);
  int64_t sums = profile.tensor.rows * profile.tensor.columns;
  if (!warpgroups)
    sums = sums * 16 / product.bits;
  int64_t columns = (warpgroups ? 2 : 1) * sums / profile.tensor.rows;
  auto fits = [&](TensorTile tile) {
    int64_t step = (tile.allRows() + tile.columns) * profile.tensor.depth * 2; // a depth of wider operands is shorter
    return !warpgroups ||
           kFewestWarpgroupStages * step <= profile.tensor.sharedBytesOfLane * profile.lanes * tile.subgroups;
  };
  std::optional<TensorTile> best;
  double least = 0;
  for (int64_t subgroups = fewestSubgroups; subgroups <= profile.tensor.subgroups; subgroups *= 2)
    for (int64_t rows = std::max(fewestRows, profile.tensor.matrix.rows); rows <= profile.tensor.rows; rows *= 2)
      for (int64_t wide = fewestColumns; wide <= columns && rows * wide <= sums; wide *= 2) {
        TensorTile tile{subgroups, rows, wide};
        double cost = costOfTensorTile(profile, product, tile);
        bool isTaller = product.sumsRows && cost == least && best && tile.allRows() > best->allRows();
        if (fits(tile) && (!best || cost < least || isTaller))
          best = tile, least = cost;
      }
  return *best;
}

bool heddle::isPersistent(const TargetProfile &profile, const TensorProduct &product, TensorTile tile) {
  int64_t down = llvm::divideCeil(product.m, tile.allRows()), across = llvm::divideCeil(product.n, tile.columns);
  // Producers copy, and cannot round f32 operands to tf32.
  return profile.tensor.producers > 0 && product.parts == 1 && product.bits == 16 && usesWarpgroups(profile, product) &&
         tile.subgroups == 2 * profile.tensor.warpgroup && down > 1 && across > 1 &&
         down * across > profile.processors && down * across <= profile.limits.workgroups;
}

/// The clocks that a further launch takes: about 3 us.
static constexpr double kClocksOfLaunch = 5000;

/// The time to write `count` results in f32 and to read them again.
static double costOfResults(const TargetProfile &profile, const TensorProduct &product, int64_t count) {
  return static_cast<double>(2 * 4 * count * product.m * product.n) / profile.tensor.cacheRateOfAll;
}

static double costOfTile(const TargetProfile &profile, const TensorProduct &product, TensorTile tile) {
  return costOfTensorTile(profile, product, tile) * static_cast<double>(product.k);
}

/// Returns the best number of parts of the K dimension, and the time for the matmul.
static std::pair<int64_t, double> chooseSplit(const TargetProfile &profile, TensorProduct product) {
  // A part of only a few steps does little but fill its shared memory.
  constexpr int64_t fewestSteps = 8, most = 8;
  constexpr double worthIt = 0.8;
  int64_t best = 1;
  double whole = 0, least = 0;
  for (product.parts = 1; product.parts <= most; product.parts *= 2) {
    if (product.parts > 1 && product.k / product.parts < fewestSteps * profile.tensor.depth)
      break;
    double cost = costOfTile(profile, product, chooseTensorTile(profile, product));
    if (product.parts == 1) {
      whole = least = cost;
      continue;
    }
    cost += kClocksOfLaunch + costOfResults(profile, product, product.parts);
    if (cost < least)
      best = product.parts, least = cost;
  }
  return least <= worthIt * whole ? std::pair(best, least) : std::pair(int64_t(1), whole);
}

int64_t heddle::choosePartsOfDepth(const TargetProfile &profile, const TensorProduct &product) {
  return chooseSplit(profile, product).first;
}

/// Returns the time for each of `count` matmuls that share a launch; nothing if a tile would have columns of two.
static std::optional<double> costOfShare(const TargetProfile &profile, const TensorProduct &product, int64_t count) {
  TensorProduct all = product;
  all.n *= count;
  TensorTile tile = chooseTensorTile(profile, all);
  if (product.n % tile.columns != 0)
    return std::nullopt;
  return costOfTile(profile, all, tile) / static_cast<double>(count);
}

bool heddle::mayShareLaunch(const TargetProfile &profile, const TensorProduct &product, int64_t count) {
  constexpr double rounding = 1.001;
  auto [parts, cost] = chooseSplit(profile, product);
  std::optional<double> share = costOfShare(profile, product, count);
  return parts == 1 && share && *share <= cost * rounding;
}

int64_t heddle::chooseProductsOfLaunch(const TargetProfile &profile, const TensorProduct &product, int64_t most) {
  constexpr double worthIt = 0.95;
  int64_t best = 1;
  double least = worthIt * chooseSplit(profile, product).second;
  for (int64_t count = 2; count <= most; ++count)
    if (std::optional<double> share = costOfShare(profile, product, count)) {
      double cost = *share + kClocksOfLaunch / static_cast<double>(count) + costOfResults(profile, product, 1);
      if (cost < least)
        best = count, least = cost;
    }
  return best;
}

MatrixTile heddle::chooseTile(const TargetProfile &profile, const Product &product, TileChoices *choices) {
  if (choices) {
    std::string name = (profile.name + " " + product.describe()).str();
    choices->asked.insert({name, product});
    auto found = choices->measured.find(name);
    if (found != choices->measured.end() && isTile(profile, product, found->second))
      return found->second;
  }
  return candidateTiles(profile, product, 1).front();
}
