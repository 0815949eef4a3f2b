// Groups of a block's ops, each of which becomes a kernel, and the checks whether an op can join a group.
// FuseKernels.cpp decides which ops join.
#pragma once

#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {

/// Fails, after emitting an error, if the entry has a value of a type that kernels do not take.
LogicalResult verifyTensors(func::FuncOp entry);

/// A kernel gets the addresses of its operands and results. Targets take 16 arguments, run-time sizes included. A
/// kernel of elementwise ops, or of lone queries, takes only one size, the number of its rows.
inline constexpr size_t kMaxOperands = 13;
inline constexpr size_t kMaxOperandsOfRows = 15;
inline constexpr llvm::StringLiteral kTooManyOperands =
    "the kernel would have more operands and results than fit its addresses";

/// Ops of a block that become one kernel. At most one anchor decides the grid and the loops.
struct KernelGroup {
  SmallVector<Operation *> ops; // in program order, without copied ops
  KernelOpInterface anchor;
  bool isChain = false;       // several anchors: the last one decides
  SmallVector<int64_t> shape; // of the matrix that its elementwise ops compute on
  Attribute encoding;
};

/// Two ops that could have been in one kernel and are not.
struct MissedFusion {
  Operation *op, *with; // `with` is in the kernel that `op` could have joined
  StringRef role;       // of `op` in that kernel
  StringRef reason;
};

class KernelGroups {
public:
  /// With `remarks`, keeps each missed fusion with its reason for `emitRemarks`.
  KernelGroups(Block &block, bool remarks) : block(&block), remarks(remarks) {}

  /// If the value of a copied op is needed in memory (it is written, returned, or an operand that is read as a matrix
  /// or number by number), gives the user its own copy of the op, which is computed like any other op.
  void materialize();

  /// Returns true if every kernel that uses `op` gets a copy of it.
  bool isInlined(Operation *op);

  /// The number of addresses that `op` needs for its operands, at most.
  size_t countOperands(Operation *op);

  /// The values that the anchor's group takes from other ops; if it has no group, the anchor's operands.
  SetVector<Value> inputsOf(KernelOpInterface anchor);

  /// Starts a new group that contains only `op`.
  KernelGroup &start(Operation *op);

  /// Adds `op` as the group's first op, which decides the group's matrix.
  void initialise(KernelGroup &group, Operation *op);

  /// The op at whose place the group's kernel runs. The kernel's operands must be computed before it.
  static Operation *placeOf(KernelGroup &group);

  static bool sameMatrix(Type a, Type b);

  /// Returns why `op` cannot join the group, or an empty string if it can. Its operands must be computed before the
  /// kernel runs, or in the kernel.
  StringRef findObstacle(Operation *op, KernelGroup &group);

  /// Adds the operands that `op` takes from outside of the group to `outside`. Returns a reason if `op` cannot get an
  /// operand: it is computed only after the group's kernel runs, or the group computes it, but not the elements that
  /// `op` reads. Otherwise returns an empty string.
  StringRef collectOperands(Operation *op, KernelGroup &group, SetVector<Value> &outside);

  /// Returns true if the value is used outside of the group's kernel. A copied op counts as part of each of its users.
  bool isUsedOutside(Value value, KernelGroup &group);

  /// Returns true if the group's kernel would have more operands and results than fit its addresses.
  bool isCrowded(KernelGroup &group);

  /// Records for the remarks why `op` could not take the role `role` in the kernel of `with`.
  void miss(Operation *op, Operation *with, StringRef role, StringRef reason);

  /// With `remarks`, reports the ops of each kernel that has several, and the ops that could not join it.
  void emitRemarks();

  /// Makes a heddle.kernel of each group and clears the groups.
  void outline();

protected:
  Block *block; // the block that is being cut: an entry's, or a heddle.repeat's
  SmallVector<std::unique_ptr<KernelGroup>> groups;
  DenseMap<Operation *, KernelGroup *> groupOf;
  SmallVector<MissedFusion> missed;
  DenseSet<std::pair<Operation *, Operation *>> refused; // a group's place, and an op that would make it crowded

private:
  /// The type of the matrix that `op` computes on in the group's kernel or, if `group` is null, in a kernel of its own.
  /// For an insert_rows op whose rows another kernel computes, it is the type of all rows, even if they are joined
  /// columns.
  RankedTensorType computedTypeIn(Operation *op, const KernelGroup *group);

  /// Returns true if the type has one number for each row, or each part of a row, that the kernel's workgroups own.
  static bool isColumnOfRows(RankedTensorType type, KernelGroup &group);

  /// Returns true if the kernel would read rows that it replaces: another workgroup may have replaced them already.
  bool readsWhatIsOverwritten(Operation *next, KernelGroup &group);

  /// Returns the maximum number of the kernel's results once `next` has joined, without the result of `next`. In a
  /// repetition, where a step is a few kernels of much arithmetic, elementwise users on the same matrix will join the
  /// kernel, too, so values that only they need do not count.
  size_t countResults(const KernelGroup &group, Operation *next);

  /// Returns true if an element of `op` needs only elements of `operand` that the kernel, which computes `operand`, has
  /// at hand.
  static bool isThere(Value operand, Operation *op, KernelGroup &group);

  /// Adds the copied ops that `op` needs and then `op` to `body`. Operands from elsewhere become inputs.
  void gather(Operation *op, KernelGroup &group, SetVector<Operation *> &body, SetVector<Value> &inputs);

  void outline(KernelGroup &group);

  bool remarks;
  DenseSet<Operation *> materialized;
};

} // namespace mlir::heddle
