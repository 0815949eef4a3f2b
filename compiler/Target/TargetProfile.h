// What the passes know about a target. They read these numbers and never ask which target it is.
#ifndef HEDDLE_COMPILER_TARGET_TARGETPROFILE_H
#define HEDDLE_COMPILER_TARGET_TARGETPROFILE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mlir::heddle {

struct TargetProfile {
  StringLiteral name;
  StringLiteral summary;
  /// The NVIDIA architecture that kernels become PTX for; empty: they become SPIR-V.
  StringLiteral chip = "";

  /// Lanes of a subgroup: they exchange values without shared memory or a barrier. Workgroups are one subgroup, but for
  /// products on tensor cores.
  int64_t lanes;
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
  /// Vectors of each row that a step takes where the right side is transposed: both factors are then read along the
  /// contracted dimension, and a step takes its part of as many cache lines as there are rows.
  int64_t transposedVectors = 1;

  /// Products of blocks, whose factors come through shared memory (0: there are none, and each lane loads its own): the
  /// lanes of a workgroup and how many of them stand along each row of a tile (those exchange values), the rows and columns
  /// of a lane's part of the tile at most, and how much of the contracted dimension a step takes.
  int64_t blockLanes = 0;
  int64_t blockRowLanes = 8;
  int64_t blockRows = 0;
  int64_t blockColumns = 0;
  int64_t blockDepth = 0;

  /// Products of 16-bit factors on tensor cores (Tiling/MatrixTile.h): the device's processors (0: there are no tensor
  /// cores); the subgroups of a workgroup, the rows of each subgroup's part of the tile and its columns, at most; how
  /// much of the contracted dimension a step takes; how many steps' factors are at most in shared memory, where they
  /// are copied ahead of their use: fewer if they take more than its bytes for each lane of a workgroup.
  int64_t tensorProcessors = 0;
  int64_t tensorSubgroups = 0;
  int64_t tensorRows = 0;
  int64_t tensorColumns = 0;
  int64_t tensorDepth = 0;
  int64_t tensorStages = 0;
  int64_t sharedBytesOfLane = 0;
  /// Rows, columns and depth of a cooperative matrix (VK_KHR_cooperative_matrix), of f16 with sums of f32, by which
  /// tensor cores are reached through Vulkan; 0: by the instructions of a CUDA architecture.
  int64_t cooperativeSide = 0;
  /// What a tile is chosen by: multiply-adds that a processor's tensor cores do in a clock, bytes that it reads from
  /// its shared memory, and bytes that it, and all processors together, get from the cache that they share.
  double tensorRate = 0;
  double sharedRate = 0;
  double cacheRate = 0;
  double cacheRateOfAll = 0;

  /// Attention: query rows (or keys, for their gradient) that a lane owns, and the keys (or queries) of a step, at
  /// most: fewer where a step would be more than `attentionWork` multiplications of one lane, each of them code.
  int64_t attentionRows;
  int64_t attentionKeys;
  int64_t attentionWork;
  /// The same on tensor cores: subgroups of a workgroup, rows of a subgroup's tile of scores and its columns, at most,
  /// and how many registers a lane has for scores, for results and for factors that it keeps.
  int64_t tensorAttentionSubgroups = 0;
  int64_t tensorAttentionRows = 0;
  int64_t tensorAttentionKeys = 0;
  int64_t tensorAttentionRegisters = 0;

  /// Whether the lanes share each row that is reduced, where they can take its columns in turn; otherwise each lane has
  /// rows of its own.
  bool sharesRows = false;

  /// Elementwise kernels: rows and vectors that a lane owns.
  int64_t elementwiseRows;
  int64_t elementwiseRuns;

  /// Limits of the device. `maxLoopTrips` is summed over all loops that one invocation runs; 0 says that there is none.
  int64_t maxBindings;
  int64_t maxWorkgroups; // along one axis of a launch
  int64_t maxLoopTrips;
};

ArrayRef<TargetProfile> getTargetProfiles();

/// The target that is compiled for when none is named.
inline constexpr StringLiteral kDefaultTarget = "vulkan:software";

/// The profile called `name`. Otherwise null, and `message` says why and what to write instead.
const TargetProfile *lookupTargetProfile(StringRef name, std::string &message);

} // namespace mlir::heddle

#endif
