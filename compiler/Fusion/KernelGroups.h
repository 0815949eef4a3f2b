// The ops of a block in groups, each of which becomes a kernel; and whether an op can be in one. FuseKernels.cpp
// decides which are.
#pragma once

#include "compiler/Kernels/KernelInterfaces.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {

/// Fails, after an error, unless kernels take all values of an entry.
LogicalResult verifyTensors(func::FuncOp entry);

/// Operands and results of a kernel are passed as addresses, of which targets take 16, sizes included: a kernel of
/// elementwise work, or of lone queries, takes the number of its rows.
inline constexpr size_t kMaxOperands = 13;
inline constexpr size_t kMaxOperandsOfRows = 15;
inline constexpr llvm::StringLiteral kTooManyOperands =
    "the kernel would have more operands and results than fit its addresses";

/// Ops of a block that become one kernel. At most one is an anchor, which decides a grid and loops.
struct KernelGroup {
  SmallVector<Operation *> ops; // in program order, without copied ones
  KernelOpInterface anchor;
  bool isChain = false;       // of anchors, of which the last decides
  SmallVector<int64_t> shape; // of the elementwise ops in it
  Attribute encoding;
};

/// Ops that could have been in one kernel and are not.
struct MissedFusion {
  Operation *op, *with; // the latter in the kernel that `op` would have joined
  StringRef role;       // that it would have had there
  StringRef reason;
};

class KernelGroups {
public:
  /// With `remarks`, what was not joined is kept with the reason.
  KernelGroups(Block &block, bool remarks) : block(&block), remarks(remarks) {}

  /// Copied ops whose value is needed in memory (written, returned, or an operand that is read as a matrix or number by
  /// number) get a copy of their own that is computed like any other op.
  void materialize();

  /// Whether every kernel that uses `op` has a copy of it.
  bool isInlined(Operation *op);

  /// The addresses that `op` needs for its operands, at most.
  size_t countOperands(Operation *op);

  /// What the anchor's group, or the anchor alone, takes from other ops.
  SetVector<Value> inputsOf(KernelOpInterface anchor);

  /// A new group of `op` alone.
  KernelGroup &start(Operation *op);

  /// `op` as the first of a group, whose matrix it decides.
  void initialise(KernelGroup &group, Operation *op);

  /// Where a group's kernel runs: all that it needs from elsewhere must be there by then.
  static Operation *placeOf(KernelGroup &group);

  static bool sameMatrix(Type a, Type b);

  /// Why `op` cannot join, if it cannot: all that it needs must be there where the kernel runs, or in the kernel.
  StringRef findObstacle(Operation *op, KernelGroup &group);

  /// Adds what `op` takes from outside of the group. The reason is returned where it cannot: an operand is not there
  /// yet where the group runs, or the group itself computes it and it is a vector, or a matrix read in other places
  /// too.
  StringRef collectOperands(Operation *op, KernelGroup &group, SetVector<Value> &outside);

  /// Whether a kernel's value is needed outside of it. A copied op is wherever its users are.
  bool isUsedOutside(Value value, KernelGroup &group);

  /// Whether its kernel would have more operands and results than fit its addresses.
  bool isCrowded(KernelGroup &group);

  /// Keeps for the remarks that `op` could not be what `role` says in the kernel of `with`, and the reason.
  void miss(Operation *op, Operation *with, StringRef role, StringRef reason);

  /// With `remarks`: for each kernel of several ops which those are, and which others could not be in it.
  void emitRemarks();

  /// Makes a heddle.kernel of each group; then the groups are gone.
  void outline();

protected:
  Block *block; // that is being cut: an entry's, or that of a repetition
  SmallVector<std::unique_ptr<KernelGroup>> groups;
  DenseMap<Operation *, KernelGroup *> groupOf;
  SmallVector<MissedFusion> missed;
  DenseSet<std::pair<Operation *, Operation *>> refused; // a group's place, and an op that would be too much for it

private:
  /// The matrix that `op` computes on in the group's kernel, or in one of its own. Joined columns that another kernel
  /// makes are a matrix like any other.
  RankedTensorType computedTypeIn(Operation *op, const KernelGroup *group);

  /// Whether a number for each of the rows, or of the parts of rows, that the kernel's workgroups own.
  static bool isColumnOfRows(RankedTensorType type, KernelGroup &group);

  /// Whether the kernel would read rows that it replaces: others of its workgroups may have replaced them before.
  bool readsWhatIsOverwritten(Operation *next, KernelGroup &group);

  /// What a kernel hands on at most, with `next` in it. Within a repetition, where a step is a few kernels of much
  /// arithmetic, it is counted: elementwise work on the same matrix will join.
  size_t countResults(const KernelGroup &group, Operation *next);

  /// Whether the kernel has the part of `operand`, which it computes, that goes with an element of `op`.
  static bool isThere(Value operand, Operation *op, KernelGroup &group);

  /// `op`, after the copied ops that it needs; what comes from elsewhere is an input.
  void gather(Operation *op, KernelGroup &group, SetVector<Operation *> &body, SetVector<Value> &inputs);

  void outline(KernelGroup &group);

  bool remarks;
  DenseSet<Operation *> materialized;
};

} // namespace mlir::heddle
