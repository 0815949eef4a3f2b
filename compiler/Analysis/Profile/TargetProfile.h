// The numbers that passes know about a target. Passes read these numbers and never ask which target it is.
#pragma once

#include "compiler/Analysis/Profile/Precision.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>

namespace mlir::heddle {

/// The shape of a tensor-core instruction: `rows` x `depth` elements times `depth` x `columns`.
struct MatrixShape {
  int64_t rows = 0, columns = 0, depth = 0;
};

/// The head widths for which attention can round its operands: multiples of `step`, at most `widest`.
struct HeadWidths {
  int64_t step = 16, widest = 128;

  bool has(int64_t width) const { return width % step == 0 && width <= widest; }
};

struct TargetProfile {
  /// Such as "vulkan:software": the name of the backend (Target/Backend.h), a colon, and the target's name within the
  /// backend.
  StringLiteral name;
  StringLiteral summary;
  /// The backend's name for the architecture; empty if the code runs on every architecture.
  StringLiteral chip = "";
  /// Instruction sets that the chip has besides, as LLVM spells them: "+avx512vnni".
  StringLiteral features = "";
  /// The formats to which matmul operands can be rounded.
  ArrayRef<Precision> precisions;

  /// Lanes of a subgroup. They exchange values without shared memory or barriers.
  int64_t lanes;
  /// True if every subgroup of the device has exactly this many lanes.
  bool fixedLanes = false;
  /// Elements of the widest load, store and register.
  int64_t vector;

  /// True if f32 and i32 are read through texel buffers instead of from their address.
  bool texelLoads;

  /// Vector registers of a lane on a CPU, where a workgroup is one lane: a thread. Matmul tiles are then as large as
  /// the registers allow (MatrixTile.h). 0 on targets with many lanes, where `simt.accumulators` is the limit.
  int64_t registers = 0;
  /// True if the first elements of an f32 or i32 vector can be loaded and stored without touching the others. Matmuls
  /// then use whole vectors for all matrix widths.
  bool masksTails = false;
  /// Columns of a panel of packed weights (heddle.dequantize): a panel is contiguous, so that processors prefetch it.
  /// 0: rows are contiguous. An artifact has panels if all of its targets do.
  int64_t weightPanel = 0;
  /// Bits of the integers of which an instruction multiplies as many as fit into an i32, and adds up the products, in
  /// each element of a vector: 8 (unsigned times signed), 16 (signed), or 0: none. Matmuls with few rows then multiply
  /// packed integers without converting them to f32.
  int64_t dotBits = 0;
  /// What an instruction multiplies that takes bf16 operands from the matrix registers of a thread; none: all zeros.
  MatrixShape matrixRegisters = {};
  /// Multiprocessors (or cores) of the device, each of which runs workgroups of its own; 0: not known.
  int64_t processors = 0;

  /// Matmuls whose lanes load their own operands: inputs of the cost model that chooses their tiles (MatrixTile.h).
  struct Simt {
    /// f32 accumulators for which a lane has room.
    int64_t accumulators;
    /// The time to load a vector, and to broadcast one to all lanes. The unit is one f32 multiply-add in each lane.
    double loadCost;
    double shareCost;
    /// Workgroups that the device runs at once, roughly.
    int64_t parallelGroups;
    /// Vectors per row in one step of the K loop if the right operand is transposed. Both operands are then read along
    /// K, so each row of a step touches a cache line of its own.
    int64_t transposedVectors = 1;
  } simt;

  /// SIMT matmuls whose operands go through shared memory: the lanes of a workgroup (0: the target has no such
  /// matmuls), the lanes along each row of a tile (they exchange values), the maximum rows and columns of a lane's part
  /// of the tile, and the K extent of a step.
  struct Blocks {
    int64_t lanes = 0, rowLanes = 8, rows = 0, columns = 0, depth = 0;
  } blocks = {};

  /// Tensor-core matmuls (MatrixTile.h), for 16-bit operands.
  struct Tensor {
    /// The shape of an instruction.
    MatrixShape matrix = {};
    /// The maximum subgroups of a workgroup (0: the target has no tensor cores), rows and columns of a subgroup's part
    /// of the tile; the K extent of a step; the maximum number of pipeline stages. A stage holds the operands of one
    /// step in shared memory. Kernels use fewer stages if they need more than `sharedBytesOfLane` for each lane of the
    /// workgroup.
    int64_t subgroups = 0, rows = 0, columns = 0, depth = 0, stages = 0, sharedBytesOfLane = 0;
    /// Subgroups of a warpgroup. A warpgroup reads its operands from shared memory, 64 rows of the left operand at a
    /// time (wgmma). 0: the target has no warpgroups, and each subgroup reads its operands from registers.
    int64_t warpgroup = 0;
    /// Further subgroups of a workgroup that only copy operands to shared memory, in matmuls of two warpgroups that
    /// compute several tiles one after the other (heddle-specialize-warps). The ring of operands has as many tiles. 0:
    /// no workgroup computes several tiles.
    int64_t producers = 0;
    /// True if tensor cores take cooperative matrices (VK_KHR_cooperative_matrix): cubes, with f16 operands and f32
    /// accumulators. Otherwise they take fragments (#tile.fragment).
    bool cooperative = false;
    /// True if copies to shared memory run asynchronously, without registers (tile.copy).
    bool copiesAhead = false;
    /// Rates per clock for the cost model: multiply-adds of a processor's tensor cores (with `warpgroupRate` for
    /// wgmma); bytes that a processor reads from shared memory; bytes that one processor, and all processors together,
    /// read from the cache that they share.
    double rate = 0, warpgroupRate = 0, sharedRate = 0, cacheRate = 0, cacheRateOfAll = 0;
  } tensor = {};

  struct Attention {
    /// On SIMT lanes: the maximum query rows that a lane owns and the maximum keys of a step (the gradient of the keys
    /// swaps the two). Both shrink until a step has at most `work` multiplications per lane, because steps are unrolled.
    int64_t rows, keys, work;
    HeadWidths heads = {};
    /// On tensor cores: the maximum subgroups of a workgroup, rows and columns of a subgroup's tile of scores, and a
    /// lane's registers for scores, results and the operands that it keeps. `sharedBytes` is the maximum shared memory
    /// of a workgroup on cooperative matrices.
    struct Tensor {
      int64_t subgroups = 0, rows = 0, keys = 0, registers = 0, sharedBytes = 0;
    } tensor = {};
  } attention;

  struct Rows {
    /// True if the lanes of a subgroup reduce a row together when its columns divide among them. Otherwise each lane
    /// reduces rows of its own.
    bool shared = false;
    /// The maximum subgroups of a workgroup in elementwise and row kernels. Each subgroup has rows of its own. Kernels
    /// use fewer subgroups if processors would be left without workgroups.
    int64_t subgroups = 1;
    /// The maximum subgroups that share a row in kernels that walk over a row many times.
    int64_t subgroupsOfRow = 1;
  } rows = {};

  /// Elementwise kernels: rows, and vectors per row, that a lane owns.
  struct Elementwise {
    int64_t rows, runs;
  } elementwise;

  /// Row counts, ascending. In an entry with caches, a matmul has one more kernel for each of these counts. The kernel
  /// serves calls with at most that many rows.
  ArrayRef<int64_t> fewRows = {};

  struct Limits {
    /// Bytes of device memory of the GPU that the target is named for; 0: not known. Recomputation (`--recompute=auto`)
    /// and chunks of logits (heddle-fuse-cross-entropy) read this number.
    int64_t memory = 0;
    /// The maximum bytes of one allocation of device memory: a variable, or a block of an entry's arena. 0: no limit.
    int64_t allocation = 0;
    int64_t bindings;
    int64_t workgroups; // along one axis of a launch
    /// The maximum iterations of one invocation, summed over all its loops. 0: no limit.
    int64_t loopTrips = 0;
  } limits;
};

/// Adds a profile to those that passes find by name; it must live as long as the program. Programs call registerTarget
/// (Target/Backend.h), which checks that the target has a backend.
void addTargetProfile(const TargetProfile &profile);

/// All targets, in order of registration.
ArrayRef<const TargetProfile *> getTargetProfiles();

/// The target if a command line names none.
inline constexpr StringLiteral kDefaultTarget = "vulkan:software";

/// Returns the profile called `name`. If there is none, returns null and sets `message` to the problem and its remedy.
const TargetProfile *lookupTargetProfile(StringRef name, std::string &message);

/// For passes with a target option: looks up `target` unless `profile` is set. Fails with a message if there is no such
/// target.
LogicalResult resolveTarget(const TargetProfile *&profile, StringRef target);

} // namespace mlir::heddle
