// What the passes know about a target. They read these numbers and never ask which target it is.
#ifndef HEDDLE_COMPILER_TARGET_TARGETPROFILE_H
#define HEDDLE_COMPILER_TARGET_TARGETPROFILE_H

#include "compiler/Target/Precision.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>

namespace mlir::heddle {

/// What one instruction of a tensor core multiplies: `rows` x `depth` elements by `depth` x `columns`.
struct MatrixShape {
  int64_t rows = 0, columns = 0, depth = 0;
};

/// The widths of heads whose attention has rounded operands: multiples of `step`, at most `widest`.
struct HeadWidths {
  int64_t step = 16, widest = 128;

  bool has(int64_t width) const { return width % step == 0 && width <= widest; }
};

struct TargetProfile {
  /// "vulkan:software": the name of the backend (Backend.h) that makes its code, a colon, and a name within that.
  StringLiteral name;
  StringLiteral summary;
  /// The architecture that the backend makes code for, as the backend calls it; empty where its code runs on any.
  StringLiteral chip = "";
  /// What the operands of products can be rounded to.
  ArrayRef<Precision> precisions;

  /// Lanes of a subgroup: they exchange values without shared memory or a barrier.
  int64_t lanes;
  /// Whether devices have subgroups of so many lanes and no others.
  bool fixedLanes = false;
  /// Elements of the widest load, store and register.
  int64_t vector;

  /// Whether four neighbouring f32 are read through texel buffers rather than from their address.
  bool texelLoads;

  /// What the tiles of a matrix product are chosen by (Tiling/MatrixTile.h). A lane has room for `accumulators` f32 of
  /// the result; loading a vector takes the time of `loadCost` multiply-adds of one f32 in each lane, and handing a
  /// vector from one lane to all others that of `shareCost`; the device runs about `parallelGroups` workgroups at once.
  int64_t accumulators;
  double loadCost;
  double shareCost;
  int64_t parallelGroups;
  /// Vectors of each row that a step takes where the right side is transposed: both operands are then read along the
  /// contracted dimension, and a step takes its part of as many cache lines as there are rows.
  int64_t transposedVectors = 1;

  /// Vector registers of a lane, where a workgroup is one lane: a processor's thread. 0: lanes are many, and
  /// `accumulators` says how much a lane holds. The tile of a product is then as large as registers allow
  /// (Tiling/MatrixTile.h).
  int64_t registers = 0;
  /// Whether a thread reads and writes the first elements of a vector of f32 or i32 without touching the others.
  /// Products then have whole vectors whatever the matrices' widths are.
  bool masksTails = false;

  /// Products of blocks, whose operands come through shared memory (0: there are none, and each lane loads its own):
  /// the lanes of a workgroup and how many of them stand along each row of a tile (those exchange values), the rows and
  /// columns of a lane's part of the tile at most, and how much of the contracted dimension a step takes.
  int64_t blockLanes = 0;
  int64_t blockRowLanes = 8;
  int64_t blockRows = 0;
  int64_t blockColumns = 0;
  int64_t blockDepth = 0;

  /// The device's processors, each of which runs workgroups by itself; 0: not known.
  int64_t processors = 0;

  /// Products of 16-bit operands on tensor cores (Tiling/MatrixTile.h): what an instruction multiplies; the subgroups
  /// of a workgroup (0: there are no tensor cores), the rows of each subgroup's part of the tile and its columns, at
  /// most; how much of the contracted dimension a step takes; how many steps' operands are at most in shared memory,
  /// where they are copied ahead of their use: fewer if they take more than its bytes for each lane of a workgroup.
  MatrixShape matrix;
  int64_t tensorSubgroups = 0;
  int64_t tensorRows = 0;
  int64_t tensorColumns = 0;
  int64_t tensorDepth = 0;
  int64_t tensorStages = 0;
  int64_t sharedBytesOfLane = 0;
  /// Subgroups of a warpgroup, whose tensor cores read operands from shared memory together, 64 rows of the left one at
  /// a time (wgmma); 0: each subgroup's read them from registers.
  int64_t warpgroup = 0;
  /// Shared memory of a workgroup in attention on cooperative matrices, at most.
  int64_t sharedBytes = 0;
  /// Whether tensor cores take cooperative matrices (VK_KHR_cooperative_matrix; `matrix` is then a cube), of f16 with
  /// sums of f32; otherwise they take fragments, which lanes hold as #tile.simt says.
  bool cooperative = false;
  /// Whether copies to shared memory run beside the arithmetic, without registers (tile.copy).
  bool copiesAhead = false;
  /// Rates per clock by which tiles are chosen: multiply-adds of a processor's tensor cores; bytes that a processor
  /// reads from its shared memory; bytes that one processor, and all together, get from the cache that they share.
  double tensorRate = 0;
  double warpgroupRate = 0; // like tensorRate, where warpgroups multiply
  double sharedRate = 0;
  double cacheRate = 0;
  double cacheRateOfAll = 0;

  /// Attention: query rows (or keys, for their gradient) that a lane owns, and the keys (or queries) of a step, at
  /// most: fewer where a step would be more than `attentionWork` multiplications of one lane, each of them code.
  int64_t attentionRows;
  int64_t attentionKeys;
  int64_t attentionWork;
  HeadWidths heads;
  /// The same on tensor cores: subgroups of a workgroup, rows of a subgroup's tile of scores and its columns, at most,
  /// and how many registers a lane has for scores, for results and for operands that it keeps.
  int64_t tensorAttentionSubgroups = 0;
  int64_t tensorAttentionRows = 0;
  int64_t tensorAttentionKeys = 0;
  int64_t tensorAttentionRegisters = 0;

  /// Whether the lanes share each row that is reduced, where they can take its columns in turn; otherwise each lane has
  /// rows of its own.
  bool sharesRows = false;

  /// Subgroups of a workgroup of an elementwise or row kernel, each with rows of its own: fewer where processors would
  /// be left without workgroups.
  int64_t rowSubgroups = 1;

  /// Subgroups that share a row which a kernel walks over many times, at most.
  int64_t subgroupsOfRow = 1;

  /// Elementwise kernels: rows and vectors that a lane owns.
  int64_t elementwiseRows;
  int64_t elementwiseRuns;

  /// Numbers of rows, ascending. For each of them a product in an entry with caches has another kernel, which serves
  /// calls with at most that many rows.
  ArrayRef<int64_t> fewRows = {};

  /// Bytes of device memory that are allocated at once, at most: a variable, or a block of an entry's arena. 0: any
  /// number.
  int64_t maxAllocation = 0;

  /// Limits of the device. `maxLoopTrips` is summed over all loops that one invocation runs; 0 says that there is none.
  int64_t maxBindings;
  int64_t maxWorkgroups; // along one axis of a launch
  int64_t maxLoopTrips;
};

/// Adds a target to those that can be compiled for. The profile lives as long as the program; its backend is there
/// before it. A program does this before it compiles. Shipped targets come by their backends.
void registerTarget(const TargetProfile &profile);

/// All targets, in the order in which they came.
ArrayRef<const TargetProfile *> getTargetProfiles();

/// The target that is compiled for when none is named.
inline constexpr StringLiteral kDefaultTarget = "vulkan:software";

/// The profile called `name`. Otherwise null, and `message` says why and what to write instead.
const TargetProfile *lookupTargetProfile(StringRef name, std::string &message);

/// For passes that a command line names a target for: looks it up unless `profile` is known, or says what is wrong.
LogicalResult resolveTarget(const TargetProfile *&profile, StringRef target);

} // namespace mlir::heddle

#endif
