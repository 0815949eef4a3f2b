#include "compiler/Graph/Derive/StepBuilder.h"

#include "dialects/Heddle/Lengths.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::heddle;

static int64_t getMaximum(ModuleOp module, StringRef size) {
  auto op = module.lookupSymbol<SizeOp>(size);
  return op ? static_cast<int64_t>(op.getMaximum()) : 0;
}

/// Returns true if an operand is the keys or the values of attention.
static bool areKeysOrValues(OpOperand &operand) {
  return isa<ScoresOp, ContextOp>(operand.getOwner()) && operand.getOperandNumber() == 1;
}

/// Returns the ops of the function on which a value depends. The function may have other ops, for terms of the loss.
static llvm::DenseSet<Operation *> opsBehind(Value value) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Operation *> next{value.getDefiningOp()};
  while (!next.empty()) {
    Operation *op = next.pop_back_val();
    if (op && ops.insert(op).second)
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          next.push_back(operand.getDefiningOp());
      });
  }
  return ops;
}

FailureOr<DecodingPlan> DecodingPlan::make(const ModelFunctions &functions) {
  DecodingPlan plan(functions);
  func::FuncOp logits = plan.functions.logits;
  auto module = logits->getParentOfType<ModuleOp>();
  auto end = cast<func::ReturnOp>(logits.getBody().front().getTerminator());
  // `logits` may have further results, which `loss` takes.
  for (auto [i, value] : llvm::enumerate(end.getOperands()))
    if (end.getNumOperands() == 1 || getPortName(logits.getResultAttrDict(i)) == "logits")
      plan.logits = value;
  auto type = plan.logits ? dyn_cast<RankedTensorType>(plan.logits.getType()) : RankedTensorType();
  if (!type || type.getRank() != 2 || type.hasStaticShape())
    return logits.emitError() << "decoding needs a function 'logits' with a result 'logits', a row for each token";
  plan.sourceTokens = "source_tokens";
  plan.targetTokens = "target_tokens";
  plan.maxTokens = getMaximum(module, plan.targetTokens);
  plan.maxSequences = getMaximum(module, kSequences);
  plan.maxLength = getMaximum(module, "target_length");
  plan.cacheRows = plan.functions.task.getCacheRows().value_or(plan.maxTokens);
  if (plan.maxTokens == 0 || plan.maxSequences == 0 || plan.maxLength == 0)
    return logits.emitError() << "decoding needs the sizes target_tokens, sequences and target_length";

  // The memory's ports and results are the same for all tokens to come. The function's other inputs depend on the
  // tokens.
  llvm::StringSet<> ofMemory;
  if (func::FuncOp memory = plan.functions.memory) {
    for (BlockArgument argument : memory.getArguments())
      ofMemory.insert(getPortName(memory.getArgAttrDict(argument.getArgNumber())));
    for (unsigned i = 0; i < memory.getNumResults(); ++i)
      ofMemory.insert(getPortName(memory.getResultAttrDict(i)));
  }
  for (BlockArgument argument : logits.getArguments()) {
    StringRef name = getPortName(logits.getArgAttrDict(argument.getArgNumber()));
    if (name != "source_starts" && name != "source_lengths") // every entry has these
      (ofMemory.contains(name) ? plan.ofMemory : plan.ofTokens).insert(argument);
  }
  llvm::DenseSet<Operation *> needed = opsBehind(plan.logits);
  for (Operation &op : logits.getBody().front().without_terminator()) {
    if (!needed.contains(&op))
      continue;
    bool needsTokens = false, needsMemory = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        needsTokens |= plan.ofTokens.contains(operand);
        needsMemory |= plan.ofMemory.contains(operand);
      }
    });
    // A value with a row for each token belongs to the steps, even if it depends on no token, such as zeros.
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && tensor.getRank() > 0 && tensor.getDimSize(0) == ShapedType::kDynamic) {
        StringRef size = getFactorOfSize(getSizeName(tensor, 0)).first;
        needsTokens |= size == plan.targetTokens;
        needsMemory |= size == plan.sourceTokens;
      }
    if (!needsTokens && !needsMemory)
      continue; // depends only on weights and constants: inlined wherever it is needed
    llvm::DenseSet<Value> &values = needsTokens ? plan.ofTokens : plan.ofMemory;
    values.insert(op.getResults().begin(), op.getResults().end());
    (needsTokens ? plan.stepOps : plan.memoryOps).push_back(&op);
  }

  // Keep keys and values, and everything else that steps read from the memory.
  for (Operation *op : plan.stepOps) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      if (failed(plan.addStates(scan)))
        return failure();
      continue;
    }
    if (auto unfold = dyn_cast<UnfoldOp>(op)) {
      if (failed(plan.addWindow(unfold)))
        return failure();
      continue;
    }
    bool spreads = isSpread(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      bool isKept = areKeysOrValues(operand);
      auto type = dyn_cast<RankedTensorType>(value.getType());
      bool hasRows = type && type.getRank() == 2 && type.getDimSize(0) == ShapedType::kDynamic;
      if (plan.ofTokens.contains(value) && isKept)
        plan.addCache(value, /*ofMemory=*/false);
      else if (plan.ofMemory.contains(value) && isKept)
        plan.addCache(value, /*ofMemory=*/true);
      else if (spreads && operand.getOperandNumber() == 1 && plan.ofTokens.contains(value) &&
               !isLength(value.getDefiningOp()))
        return op->emitError() << "what is spread here depends on tokens that decoding does not know yet";
      else if (spreads && plan.ofMemory.contains(value) && !hasRows)
        return op->emitError()
               << "decoding keeps rows of the memory, and what is spread here is a single number for each sequence "
               << "of it; spread the row that it is made of";
      else if (spreads && plan.ofMemory.contains(value))
        plan.addCache(value, /*ofMemory=*/true);
      else if (isKept)
        return op->emitError() << "attention looks at rows of tokens, and these are no tokens' of source or target";
      else if (plan.ofMemory.contains(value) && hasRows)
        return op->emitError()
               << "decoding reads the memory through attention alone, a token at a time, and this op takes "
               << "its rows directly";
    }
  }
  return plan;
}

bool heddle::isLength(Operation *op) { return isa_and_nonnull<arith::SIToFPOp>(op) && op->hasAttr(kOrLongestAttrName); }

bool heddle::isSpread(Operation *op) {
  auto rows = dyn_cast<EmbeddingOp>(op);
  auto located = rows ? rows.getIndices().getDefiningOp<LocateOp>() : LocateOp();
  return located && rows.getIndices() == located.getSequence();
}

SmallVector<size_t> heddle::getChangingStates(ScanOp scan) {
  auto yield = cast<YieldOp>(scan.getBody().front().getTerminator());
  SmallVector<size_t> changing;
  for (auto [i, argument] : llvm::enumerate(scan.getStateArguments()))
    if (yield.getOperand(i) != argument)
      changing.push_back(i);
  return changing;
}

/// Keeps a scan's states for each token, and its initial states if they depend on the memory.
LogicalResult DecodingPlan::addStates(ScanOp scan) {
  if (getSizeName(cast<RankedTensorType>(scan.getRows().front().getType()), 0) != targetTokens)
    return scan.emitError()
           << "decoding goes through the tokens of the target; what goes through others belongs to 'memory'";
  if (scan.getReverse())
    return scan.emitError() << "a scan that goes backwards sees tokens that decoding does not know yet";
  for (Value last : scan.getLast())
    if (!last.use_empty())
      return scan.emitError() << "the last state of a scan depends on tokens that decoding does not know yet";
  for (size_t state : getChangingStates(scan))
    addCache(scan.getLast()[state], /*ofMemory=*/false);
  for (Value value : scan.getStates())
    if (ofMemory.contains(value) && cast<RankedTensorType>(value.getType()).getRank() == 2)
      addCache(value, /*ofMemory=*/true);
    else if (ofMemory.contains(value))
      return scan.emitError()
             << "decoding keeps rows of the memory, and a scan takes a single number for each sequence of it "
             << "here; make it in the scan";
    else if (ofTokens.contains(value))
      return scan.emitError() << "a state begins with what depends on tokens that decoding does not know yet";
  for (auto [value, argument] : llvm::zip_equal(scan.getConstants(), scan.getConstantArguments())) {
    if (ofTokens.contains(value) || (ofMemory.contains(value) && !llvm::all_of(argument.getUses(), areKeysOrValues)))
      return scan.emitError()
             << "decoding takes the memory into a scan as what a state begins with, a row for each sequence, "
             << "and as keys and values of attention";
    if (ofMemory.contains(value))
      addCache(value, /*ofMemory=*/true);
  }
  return success();
}

/// Keeps the rows of a window for each token.
LogicalResult DecodingPlan::addWindow(UnfoldOp unfold) {
  if (getSizeName(unfold.getInput().getType(), 0) != targetTokens)
    return unfold.emitError() << "decoding makes windows of the target's rows; those of others belong to 'memory'";
  if (static_cast<int64_t>(unfold.getLast()) > 0)
    return unfold.emitError()
           << "a window reaches tokens that decoding does not know yet; let it end at the token itself, as "
           << "window(x, -2, 0) does";
  addCache(unfold.getInput(), /*ofMemory=*/false);
  return success();
}

int64_t DecodingPlan::getReach() const {
  int64_t reach = 0;
  for (Operation *op : stepOps)
    if (auto unfold = dyn_cast<UnfoldOp>(op))
      reach = std::max(reach, -static_cast<int64_t>(unfold.getFirst()));
    else if (isa<ScanOp>(op))
      reach = std::max<int64_t>(reach, 1);
  return reach;
}

void DecodingPlan::addCache(Value value, bool ofMemory) {
  if (findCache(value))
    return;
  auto type = cast<RankedTensorType>(value.getType());
  StringRef path = getPath(value.getLoc());
  if (auto argument = dyn_cast<BlockArgument>(value))
    path = getPortName(functions.logits.getArgAttrDict(argument.getArgNumber()));
  std::string name = ("cache." + (path.empty() ? StringRef("rows") : path)).str();
  auto isTaken = [&](const std::string &name) {
    return llvm::any_of(caches, [&](const Cache &cache) { return cache.name == name; });
  };
  for (int i = 2; isTaken(name); ++i)
    name = ("cache." + path + "_" + Twine(i)).str();
  caches.push_back(
      {value, name,
       RankedTensorType::get({ofMemory ? maxTokens : cacheRows, type.getDimSize(1)}, type.getElementType()), ofMemory});
}

const DecodingPlan::Cache *DecodingPlan::findCache(Value value) const {
  auto found = llvm::find_if(caches, [&](const Cache &cache) { return cache.value == value; });
  return found == caches.end() ? nullptr : &*found;
}

void DecodingPlan::mapMemory(EntryBuilder &entry) const {
  func::FuncOp function = functions.logits;
  for (BlockArgument argument : function.getArguments()) {
    if (ofTokens.contains(argument))
      continue;
    unsigned index = argument.getArgNumber();
    Value value = entry.result(getPortName(function.getArgAttrDict(index)));
    if (!value)
      value = entry.port(function, index);
    entry.mapping.map(argument, value);
  }
}

void DecodingPlan::inlineConstants(EntryBuilder &entry, Operation &user) const {
  for (Value operand : user.getOperands()) {
    Operation *op = operand.getDefiningOp();
    if (!op || entry.mapping.contains(operand) || ofTokens.contains(operand) || ofMemory.contains(operand))
      continue;
    inlineConstants(entry, *op);
    entry.inlineOp(*op);
  }
}
