// The logits of a large vocabulary are the largest tensor of a model, but the cross entropy (5.4 of "Attention Is All
// You Need") needs only one row of them at a time. This pass takes the matmul that makes them, the cross entropy, its
// gradient and all other ops that read them, and computes all of this for one chunk of tokens after the other:
//
//   logits = x W^T                            for each chunk c of the tokens:
//   loss = cross_entropy(logits, targets)       logits = x[c] W^T                   one buffer, used by every chunk
//   dlogits = cross_entropy_grad(logits)   =>   loss[c] = ..., dlogits = ...        dlogits in the logits' memory
//   dx = dlogits W                              dx[c] = dlogits W
//   dW = dlogits^T x                            dW += dlogits^T x[c]
//
// Nothing is computed twice. Each chunk costs another read of W, another read and write of dW, and its launches, so
// small logits stay whole. A chunk has about twice as many rows as x has columns: its logits then take twice the memory
// of W, and are most of the traffic. If logits are in 16 bits (heddle-set-precision), a chunk has twice as many rows in
// the same memory. If the device's memory is known, a chunk has as many rows as fill a small part of it, which may be
// all rows. Otherwise there are at least two chunks. There are at most kMostChunks, so that an entry's length does not
// depend on the batch.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Kernel/Fusion/Remarks.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSECROSSENTROPYPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kPass = "fuse-cross-entropy";

/// No chunk of logits is smaller than this, and logits smaller than two such chunks stay whole.
constexpr int64_t kChunkBytes = 8 << 20;
constexpr int64_t kMostChunks = 64;
/// The part of the device's memory that a chunk's logits may take: 2.5 of 80 GiB.
constexpr int64_t kPartOfMemory = 32;
/// The limit if the option `rows` is given. An entry repeats the head's ops for each chunk.
constexpr int64_t kMostGivenChunks = 4096;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// How an op is computed if the rows of its operands come in chunks.
enum class Chunking {
  Rows, // its results come in the same chunks
  Sum,  // its result is the sum of the chunks' results
  None, // it needs all rows at once, or row numbers
};

Chunking getChunking(Operation *op, StringRef size) {
  auto hasRows = [&](Value value) { return getSizeName(typeOf(value), 0) == size; };
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (matmul.getTransposeLhs())
      return hasRows(matmul.getLhs()) ? Chunking::Sum : Chunking::None;
    return hasRows(matmul.getRhs()) ? Chunking::None : Chunking::Rows;
  }
  if (auto sum = dyn_cast<SumOp>(op))
    return sum.getColumns() ? Chunking::Rows : Chunking::Sum;
  if (isa<CrossEntropyOp, CrossEntropyGradOp, ArgmaxOp>(op))
    return Chunking::Rows;
  // An element of these depends on its row's number, or on other rows.
  if (isa<DropoutOp, RandomOp, IotaOp, UnfoldOp, FoldOp, SubsampleOp, UpsampleOp>(op))
    return Chunking::None;
  return isElementwise(op) ? Chunking::Rows : Chunking::None;
}

/// The ops around one cross entropy that use its logits or values of the same type.
class Head {
public:
  explicit Head(CrossEntropyOp entropy)
      : entropy(entropy), wide(typeOf(entropy.getLogits())), size(getSizeName(wide, 0)) {}

  /// Finds the ops. Returns why the logits of all tokens are needed at once, or an empty string.
  std::string find();
  /// The number of columns of the linear transformation's input.
  int64_t getInputWidth() const { return inputWidth; }
  /// Returns true if the logits take no more memory than the input.
  bool isNarrow() const { return wide.getDimSize(1) <= inputWidth; }
  int64_t getColumns() const { return wide.getDimSize(1); }
  /// Returns true if the logits are the linear transformation's result itself. They are then rounded to 16 bits.
  bool mayBeRounded() const { return CrossEntropyOp(entropy).getLogits().getDefiningOp<MatmulOp>() != nullptr; }
  StringRef getSize() const { return size; }
  /// Replaces the ops by copies for one chunk after the other.
  void split(ArrayRef<StringAttr> chunkSizes, int64_t rows);

private:
  bool add(Operation *op, SmallVectorImpl<Value> &worklist);
  bool hoistOperands();
  bool hoist(Operation *op);
  bool isOutside(Value value) const { return !ops.contains(value.getDefiningOp()); }
  RankedTensorType chunkType(RankedTensorType type, StringAttr chunk) const;

  CrossEntropyOp entropy;
  RankedTensorType wide;
  StringRef size;
  int64_t inputWidth = 0;
  llvm::SetVector<Operation *> ops;
  Operation *first = nullptr;
};

bool Head::add(Operation *op, SmallVectorImpl<Value> &worklist) {
  if (op->getBlock() != entropy->getBlock() || op->getNumRegions() != 0 ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) || getChunking(op, size) == Chunking::None)
    return false;
  if (!ops.insert(op))
    return true;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
    if (value.getType() == wide)
      worklist.push_back(value);
  return true;
}

std::string Head::find() {
  if (size.empty())
    return "the number of tokens is not one of the entry's sizes";
  SmallVector<Value> worklist{entropy.getLogits()};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return "the logits, or what is as large, are given";
    Operation *whole = nullptr; // needs all rows at once
    if (!add(producer, worklist))
      whole = producer;
    for (Operation *user : value.getUsers())
      if (!whole && !add(user, worklist))
        whole = user;
    if (whole)
      return ("'" + whole->getName().getStringRef() +
              "' needs the logits, or what is as large, of all tokens at once or by their numbers")
          .str();
  }
  // The first op must make the logits. A sum over chunks is complete only after the last one.
  for (Operation *op : ops) {
    if (!first || op->isBeforeInBlock(first))
      first = op;
    for (Value operand : op->getOperands())
      if (!isOutside(operand) && getChunking(operand.getDefiningOp(), size) == Chunking::Sum)
        return "an op reads a sum over all tokens that another one of the head makes";
  }
  auto linear = dyn_cast<MatmulOp>(first);
  if (!linear)
    return "the logits are not made by a linear transformation";
  inputWidth = typeOf(linear.getLhs()).getDimSize(1);
  return hoistOperands() ? "" : "an operand is not there yet where the logits are made";
}

/// Moves the ops that compute operands of the head in front of its first op. Returns false if one cannot move.
bool Head::hoistOperands() {
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isOutside(operand) || !operand.getDefiningOp() || hoist(operand.getDefiningOp());
    });
  });
}

bool Head::hoist(Operation *op) {
  if (op->isBeforeInBlock(first))
    return true;
  bool isRead = isa<ReadOp>(op) && llvm::none_of(entropy->getBlock()->getOps<WriteOp>(),
                                                 [&](WriteOp write) { return write->isBeforeInBlock(op); });
  if (ops.contains(op) || (!isMemoryEffectFree(op) && !isRead))
    return false;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && !hoist(producer))
      return false;
  op->moveBefore(first);
  return true;
}

RankedTensorType Head::chunkType(RankedTensorType type, StringAttr chunk) const {
  if (getSizeName(type, 0) != size)
    return type;
  SmallVector<StringAttr> names(cast<DimsAttr>(type.getEncoding()).getNames());
  names[0] = chunk;
  return RankedTensorType::get(type.getShape(), type.getElementType(), DimsAttr::get(type.getContext(), names));
}

void Head::split(ArrayRef<StringAttr> chunkSizes, int64_t rows) {
  SmallVector<Operation *> inOrder(ops.begin(), ops.end());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(first);
  DenseMap<Value, SmallVector<Value>> results; // one per chunk, or the sum so far
  for (auto [number, chunk] : llvm::enumerate(chunkSizes)) {
    IRMapping mapping;
    for (Operation *op : inOrder)
      for (Value operand : op->getOperands()) {
        RankedTensorType type = chunkType(typeOf(operand), chunk);
        if (isOutside(operand) && !mapping.contains(operand) && type != operand.getType())
          mapping.map(operand, SliceOp::create(builder, op->getLoc(), type, operand, number * rows));
      }
    for (Operation *op : inOrder) {
      Operation *copy = builder.clone(*op, mapping);
      bool isSum = getChunking(op, size) == Chunking::Sum;
      for (auto [result, part] : llvm::zip(op->getResults(), copy->getResults())) {
        SmallVector<Value> &known = results[result];
        if (!isSum)
          part.setType(chunkType(typeOf(part), chunk));
        if (isSum && !known.empty())
          known[0] = arith::AddFOp::create(builder, op->getLoc(), known[0], part);
        else
          known.push_back(part);
      }
    }
  }
  for (Operation *op : inOrder)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
        continue;
      Value whole = getChunking(op, size) == Chunking::Sum
                        ? results[result].front()
                        : ConcatOp::create(builder, op->getLoc(), result.getType(), results[result]).getResult();
      result.replaceUsesWithIf(whole, [&](OpOperand &use) { return !ops.contains(use.getOwner()); });
    }
  for (Operation *op : llvm::reverse(inOrder))
    op->erase();
}

class FuseCrossEntropyPass : public mlir::heddle::impl::FuseCrossEntropyPassBase<FuseCrossEntropyPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<CrossEntropyOp> entropies;
    getOperation().walk([&](CrossEntropyOp op) { entropies.push_back(op); });
    for (CrossEntropyOp entropy : entropies) {
      auto miss = [&](StringRef reason) { remarkMissed(kPass, entropy, "logits and cross_entropy", reason); };
      Head head(entropy);
      std::string obstacle = head.find();
      auto size = obstacle.empty() ? symbols.lookup<SizeOp>(head.getSize()) : SizeOp();
      if (obstacle.empty() && (!size || size.getOfAttr()))
        obstacle = "the number of tokens is part of another size";
      if (!obstacle.empty()) {
        miss(obstacle);
        continue;
      }
      int64_t maximum = size.getMaximum();
      int64_t rows = chunkRows > 0 ? int64_t(chunkRows) : chooseRows(head, maximum);
      if (rows >= maximum) {
        miss(head.isNarrow() ? "logits are no wider than what they are made of: chunks save no memory"
                             : "all logits are small: they would be a chunk or two, or take little memory");
        continue;
      }
      if (auto count = static_cast<int64_t>(llvm::divideCeil(maximum, rows)); count > kMostGivenChunks) {
        entropy.emitError() << kPass << ": rows = " << rows << " cuts the " << maximum << " tokens of '"
                            << head.getSize() << "' into " << count << " chunks, and there are at most "
                            << kMostGivenChunks << "; give more rows";
        return signalPassFailure();
      }
      SmallVector<StringAttr> chunks = declareChunks(size, rows, symbols);
      remarkFused(kPass, entropy, "logits and cross_entropy",
                  Twine(chunks.size()) + " chunks of at most " + Twine(rows) + " tokens");
      head.split(chunks, rows);
    }
  }

private:
  /// Returns the rows of a chunk, or `maximum` if the logits are small.
  int64_t chooseRows(const Head &head, int64_t maximum) const {
    constexpr int64_t bytesOfF32 = 4;
    int64_t bytes = head.mayBeRounded() ? int64_t(logitBytes) : bytesOfF32;
    int64_t bytesOfRow = head.getColumns() * bytes;
    int64_t smallest = llvm::divideCeil(kChunkBytes, bytesOfRow), cheap = memory / kPartOfMemory / bytesOfRow;
    if (maximum < 2 * smallest || maximum <= cheap || head.isNarrow())
      return maximum;
    auto bound = static_cast<int64_t>(llvm::divideCeil(maximum, kMostChunks));
    int64_t rows = std::max({2 * head.getInputWidth() * bytesOfF32 / bytes, smallest, bound, cheap});
    // Multiples of 32 keep chunks aligned to cache lines and tiles whole.
    return llvm::alignTo(std::min<int64_t>(rows, llvm::divideCeil(maximum, 2)), 32);
  }

  /// Declares the sizes of the chunks of `size`. Heads that split it alike share them.
  static SmallVector<StringAttr> declareChunks(SizeOp size, int64_t rows, SymbolTable &symbols) {
    SmallVector<StringAttr> chunks;
    OpBuilder builder(size.getContext());
    builder.setInsertionPointAfter(size);
    for (int64_t from = 0, maximum = size.getMaximum(); from < maximum; from += rows) {
      std::string name = (size.getSymName() + "_" + Twine(rows) + "_at_" + Twine(from)).str();
      if (!symbols.lookup(name)) {
        auto chunk = SizeOp::create(builder, size.getLoc(), name, std::min(rows, maximum - from), StringAttr(),
                                    /*fixed=*/false, FlatSymbolRefAttr::get(size.getSymNameAttr()), from);
        symbols.insert(chunk, builder.getInsertionPoint());
      }
      chunks.push_back(builder.getStringAttr(name));
    }
    return chunks;
  }
};

} // namespace
