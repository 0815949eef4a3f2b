#include "compiler/Graph/Derive/StepBuilder.h"

#include "compiler/Analysis/Kernels/MaskBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::heddle;

Value heddle::updateCache(EntryBuilder &entry, const DecodingPlan::Cache &cache, Value indices, Value rows) {
  Location where = cache.value.getLoc();
  Value old = entry.read(cache.name, cache.type, where);
  Value updated = ScatterRowsOp::create(entry.builder, where, cache.type, old, indices, rows);
  WriteOp::create(entry.builder, where, cache.name, updated);
  return updated;
}

/// Returns `type` with a row for each new token instead of each row of the size `of`.
Type StepBuilder::stepType(Type type, StringRef of) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto dims = tensor ? dyn_cast_or_null<DimsAttr>(tensor.getEncoding()) : DimsAttr();
  if (!dims)
    return type;
  SmallVector<StringAttr> names(dims.getNames());
  for (StringAttr &name : names)
    if (auto [size, factor] = getFactorOfSize(name); size == of) {
      std::string multiple = getMultipleOfSize(inputs.size, factor);
      declareMultiple(plan.functions.logits->getParentOfType<ModuleOp>(), multiple);
      name = entry.builder.getStringAttr(multiple);
    }
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               DimsAttr::get(entry.builder.getContext(), names));
}

FailureOr<Value> StepBuilder::build() {
  func::FuncOp function = plan.functions.logits;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = getPortName(function.getArgAttrDict(argument.getArgNumber()));
    if (name == "target_in")
      entry.mapping.map(argument, inputs.token);
    else if (name == "target_positions")
      entry.mapping.map(argument, inputs.position);
    else if (name == "target_starts")
      entry.mapping.map(argument, inputs.starts);
    else if (name == "target_lengths")
      entry.mapping.map(argument, inputs.lengths);
    else if (name == "source_starts")
      entry.mapping.map(argument, sourceStarts());
    else if (name == "source_lengths")
      entry.mapping.map(argument, sourceLengths());
  }
  for (Operation *op : plan.stepOps)
    if (failed(buildOp(*op)))
      return failure();
  if (places && !windows.empty())
    return places->emitError()
           << "decoding a token at a time does not know the keys' places where a mask leaves out tokens that "
           << "are too far";
  return entry.mapping.lookup(plan.logits);
}

Value StepBuilder::sourceStarts() {
  return entry.port("source_starts", cast<RankedTensorType>(inputs.starts.getType()), {}, "source.starts");
}
Value StepBuilder::sourceLengths() {
  return entry.port("source_lengths", cast<RankedTensorType>(inputs.starts.getType()), {}, "source.lengths");
}

/// Returns true if a decoding step uses the operand. A step has no dropout, and computes the starts and lengths of
/// queries and keys itself.
static bool takes(Operation &op, Value operand) {
  if (auto dropout = dyn_cast<DropoutOp>(op))
    return operand == dropout.getInput();
  auto type = cast<RankedTensorType>(operand.getType());
  bool isOfSequences = type.getRank() == 1 && type.getElementType().isInteger(32);
  return !isOfSequences || !isa<LocateOp, ScoresOp, ContextOp, ScanOp>(op);
}

LogicalResult StepBuilder::buildOp(Operation &op) {
  plan.inlineConstants(entry, op);
  for (Value operand : op.getOperands())
    if (!entry.mapping.contains(operand) && !plan.findCache(operand) && takes(op, operand))
      return op.emitError() << "decoding a token at a time keeps rows of the memory, and this op takes a "
                            << operand.getType() << " that is made of it and has none";
  if (isLength(&op)) {
    OpBuilder &b = entry.builder;
    Type type = stepType(op.getResult(0).getType(), kSequences);
    auto longest = b.getF32FloatAttr(static_cast<float>(plan.maxLength));
    entry.mapping.map(op.getResult(0), FillOp::create(b, op.getLoc(), type, longest).getResult());
    return success();
  }
  if (auto locate = dyn_cast<LocateOp>(op))
    return buildLocate(locate);
  if (auto scores = dyn_cast<ScoresOp>(op))
    return buildScores(scores);
  if (auto mask = dyn_cast<MaskOp>(op))
    return buildMask(mask);
  if (auto context = dyn_cast<ContextOp>(op))
    return buildContext(context);
  if (auto scan = dyn_cast<ScanOp>(op))
    return buildScan(scan);
  if (auto unfold = dyn_cast<UnfoldOp>(op)) {
    buildWindow(unfold);
    return success();
  }
  if (isSpread(&op)) {
    entry.mapping.map(op.getResult(0), beginOf(cast<EmbeddingOp>(op).getTable()));
    return success();
  }
  return buildRowwise(op);
}

/// Returns true if results of `ofPairs` become attention weights of the target's own tokens, and not only of the
/// memory.
bool StepBuilder::weighsOwnTokens(Operation &ofPairs) const {
  llvm::SetVector<Operation *> users;
  auto add = [&](Operation *op) { users.insert(op->user_begin(), op->user_end()); };
  add(&ofPairs);
  for (size_t i = 0; i < users.size(); ++i) {
    if (auto context = dyn_cast<ContextOp>(users[i])) {
      if (!plan.findCache(context.getValue())->ofMemory)
        return true;
    } else {
      add(users[i]);
    }
  }
  return false;
}

LogicalResult StepBuilder::buildRowwise(Operation &op) {
  auto isOfRows = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && !type.hasStaticShape();
  };
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  bool works = rowwise ? rowwise.isRowwise(isOfRows) : isElementwise(&op);
  if (!works)
    return op.emitError() << op.getName().getStringRef() << " cannot be computed a token at a time, as decoding does; "
                          << "of a sequence's tokens, attention alone looks at several";
  if (auto iota = dyn_cast<IotaOp>(op); iota && iota.getDim() == 2 && weighsOwnTokens(op))
    places = &op;
  if (isa<DropoutOp>(op)) {
    entry.inlineOp(op);
    return success();
  }
  Operation *clone = entry.builder.clone(op, entry.mapping);
  for (Value result : clone->getResults())
    result.setType(stepType(result.getType()));
  return success();
}

/// Each query is the only one of its sequence in this call. The caller says where in the sequence it is.
LogicalResult StepBuilder::buildLocate(LocateOp op) {
  auto isKnown = [](Operation *user) { return isa<MaskOp>(user) || isSpread(user); };
  if (!llvm::all_of(op->getUsers(), isKnown))
    return op.emitError()
           << "decoding a token at a time does not know arithmetic with the tokens' places, but in masks";
  Type type = stepType(op.getPosition().getType());
  auto located = LocateOp::create(entry.builder, op.getLoc(), type, type, inputs.starts, inputs.lengths, "");
  entry.mapping.map(op.getPosition(), located.getPosition());
  entry.mapping.map(op.getSequence(), located.getSequence());
  return success();
}

/// Returns the cache of `value`, with the newest tokens in it.
Value StepBuilder::keysOf(Value value) {
  const DecodingPlan::Cache *cache = plan.findCache(value);
  if (cache->ofMemory)
    return entry.read(cache->name, cache->type, value.getLoc());
  Value &updated = written[value];
  if (!updated)
    updated = updateCache(entry, *cache, inputs.rows, entry.mapping.lookup(value));
  return updated;
}

StepBuilder::Past StepBuilder::lastOf(int64_t count, Location where) {
  Past &past = windows[count];
  if (past.starts)
    return past;
  OpBuilder &b = entry.builder;
  Type type = inputs.pastLengths.getType();
  Value most = FillOp::create(b, where, type, b.getI32IntegerAttr(static_cast<int32_t>(count)));
  Value lengths = arith::MinSIOp::create(b, where, inputs.pastLengths, most);
  Value hidden = arith::SubIOp::create(b, where, inputs.pastLengths, lengths);
  return past = {arith::AddIOp::create(b, where, inputs.pastStarts, hidden), lengths};
}

/// Returns the mask between scores and softmax, or null.
static MaskOp findMask(ScoresOp scores) {
  SmallVector<Operation *> next(scores->getUsers());
  while (!next.empty()) {
    Operation *op = next.pop_back_val();
    if (auto mask = dyn_cast<MaskOp>(op))
      return mask;
    if (isElementwise(op))
      next.append(op->getUsers().begin(), op->getUsers().end());
  }
  return {};
}

/// Returns the cached tokens that the newest token sees: all of them, or the last few. Later tokens do not exist yet,
/// so its mask has to hide them.
FailureOr<StepBuilder::Past> StepBuilder::findPast(ScoresOp scores) {
  MaskOp mask = findMask(scores);
  bool isCausal = false, exact = false;
  std::optional<int64_t> radius;
  if (mask && !mask.getMask().empty()) {
    bool isWindow = true;
    for (const MaskBound &bound : getMaskBounds(mask.getMask(), &exact)) {
      if (bound.query == 1 && bound.key == -1) // key <= query + constant
        isCausal |= bound.constant <= 0, isWindow &= bound.constant == 0;
      else if (bound.query == -1 && bound.key == 1) // query - key <= constant
        radius = std::min(radius.value_or(bound.constant), bound.constant);
      else
        isWindow = false;
    }
    exact &= isWindow && radius.value_or(0) >= 0;
  }
  if (!isCausal)
    return scores.emitError() << "a token sees tokens after it here, which decoding does not know yet; "
                              << "mask the scores with key <= query";
  if (!exact)
    return mask.emitError() << "decoding a token at a time takes masks that are key <= query, or that and a distance, "
                            << "query - key <= number";
  return radius ? lastOf(*radius + 1, mask.getLoc()) : Past{inputs.pastStarts, inputs.pastLengths};
}

LogicalResult StepBuilder::buildScores(ScoresOp op) {
  Value query = entry.mapping.lookupOrNull(op.getQuery()), keys = keysOf(op.getKey());
  Type type = stepType(op.getType());
  OpBuilder &b = entry.builder;
  SmallVector<Value> parameters;
  for (Value parameter : op.getParameters())
    parameters.push_back(entry.mapping.lookup(parameter));
  if (plan.findCache(op.getKey())->ofMemory) {
    auto scores =
        ScoresOp::create(b, op.getLoc(), type, query, keys, /*key_rows=*/Value(), parameters, /*users=*/ValueRange(),
                         inputs.starts, inputs.lengths, sourceStarts(), sourceLengths(), "", op.getKeySize());
    op.getCombine().cloneInto(&scores.getCombine(), entry.mapping);
    entry.mapping.map(op.getResult(), scores);
    return success();
  }
  FailureOr<Past> past = findPast(op);
  if (failed(past))
    return failure();
  pastOfMask[findMask(op)] = *past;
  auto scores = ScoresOp::create(b, op.getLoc(), type, query, keys, inputs.history, parameters, /*users=*/ValueRange(),
                                 inputs.starts, inputs.lengths, past->starts, past->lengths, "", kCacheLength);
  op.getCombine().cloneInto(&scores.getCombine(), entry.mapping);
  entry.mapping.map(op.getResult(), scores);
  return success();
}

/// A mask of cached tokens loses its region, because the cache holds only the tokens that the newest token sees. In
/// attention to the memory the mask keeps its region, and the query's index is its position.
LogicalResult StepBuilder::buildMask(MaskOp op) {
  OpBuilder &b = entry.builder;
  Value scores = entry.mapping.lookup(op.getScores());
  auto past = pastOfMask.find(op);
  bool isOfMemory = past == pastOfMask.end();
  Value position = entry.mapping.lookup(op.getPosition());
  if (isOfMemory && !op.getMask().empty())
    position = inputs.position;
  auto mask = MaskOp::create(b, op.getLoc(), scores.getType(), scores, position, entry.mapping.lookup(op.getSequence()),
                             isOfMemory ? sourceLengths() : past->second.lengths, op.getValueAttr());
  if (isOfMemory && !op.getMask().empty())
    op.getMask().cloneInto(&mask.getMask(), entry.mapping);
  entry.mapping.map(op.getResult(), mask);
  return success();
}

/// Returns the cached tokens over which a context sums, as the mask before the softmax says. Only scales and dropout
/// may follow the softmax: in whole sequences, later tokens have the weight 0, which must stay 0.
FailureOr<StepBuilder::Past> StepBuilder::pastOfWeights(ContextOp op) const {
  Operation *source = op.getWeights().getDefiningOp();
  while (true) {
    if (auto dropout = dyn_cast_or_null<DropoutOp>(source)) {
      source = dropout.getInput().getDefiningOp();
    } else if (auto product = dyn_cast_or_null<arith::MulFOp>(source);
               product && isa_and_nonnull<FillOp, BroadcastOp>(product.getRhs().getDefiningOp())) {
      source = product.getLhs().getDefiningOp();
    } else {
      break;
    }
  }
  auto softmax = dyn_cast_or_null<SoftmaxOp>(source);
  auto past = softmax ? pastOfMask.find(softmax.getInput().getDefiningOp()) : pastOfMask.end();
  if (past == pastOfMask.end())
    return op.emitError()
           << "decoding a token at a time takes weights that a softmax makes of masked scores, scaled or with "
           << "dropout; other arithmetic on them could reach tokens that come later";
  return past->second;
}

LogicalResult StepBuilder::buildContext(ContextOp op) {
  Value weights = entry.mapping.lookup(op.getWeights()), values = keysOf(op.getValue());
  Type type = stepType(op.getType());
  OpBuilder &b = entry.builder;
  if (plan.findCache(op.getValue())->ofMemory) {
    auto context = ContextOp::create(b, op.getLoc(), type, weights, values, Value(), inputs.starts, inputs.lengths,
                                     sourceStarts(), sourceLengths(), "", op.getKeySize());
    entry.mapping.map(op.getResult(), context);
    return success();
  }
  FailureOr<Past> past = pastOfWeights(op);
  if (failed(past))
    return failure();
  auto context = ContextOp::create(b, op.getLoc(), type, weights, values, inputs.history, inputs.starts, inputs.lengths,
                                   past->starts, past->lengths, "", kCacheLength);
  entry.mapping.map(op.getResult(), context);
  return success();
}

/// Returns a value with a row for each sequence. It is computed from weights and constants, or `encode` has kept it at
/// every token of the sequence's memory.
Value StepBuilder::beginOf(Value ofSequences) {
  const DecodingPlan::Cache *cache = plan.findCache(ofSequences);
  Location where = ofSequences.getLoc();
  if (!cache)
    return entry.mapping.lookup(ofSequences);
  Value kept = entry.read(cache->name, cache->type, where);
  return EmbeddingOp::create(entry.builder, where, stepType(ofSequences.getType()), sourceStarts(), kept);
}

/// Returns the state after the token before, or the initial state for a first token.
Value StepBuilder::stateBefore(const DecodingPlan::Cache &cache, Value begin, Location where) {
  OpBuilder &b = entry.builder;
  Value states = entry.read(cache.name, cache.type, where), before;
  Value row = inputs.before.front();
  if (cast<RankedTensorType>(row.getType()).getRank() == 1)
    before = EmbeddingOp::create(b, where, begin.getType(), row, states);
  else
    before = DensifyOp::create(b, where, begin.getType(), row, states);
  auto type = cast<RankedTensorType>(begin.getType());
  auto places = RankedTensorType::get(type.getShape(), b.getI32Type(), type.getEncoding());
  Value position = BroadcastOp::create(b, where, places, inputs.position);
  Value zero = FillOp::create(b, where, places, b.getI32IntegerAttr(0));
  Value isFirst = arith::CmpIOp::create(b, where, arith::CmpIPredicate::eq, position, zero);
  return arith::SelectOp::create(b, where, isFirst, begin, before);
}

/// Builds one step of the scan, from the states after the token before.
LogicalResult StepBuilder::buildScan(ScanOp op) {
  IRMapping step;
  for (auto [argument, rows] : llvm::zip_equal(op.getRowArguments(), op.getRows()))
    step.map(argument, entry.mapping.lookup(rows));
  for (auto [argument, value] : llvm::zip_equal(op.getConstantArguments(), op.getConstants()))
    step.map(argument, plan.findCache(value) ? keysOf(value) : entry.mapping.lookup(value));
  SmallVector<size_t> changing = getChangingStates(op);
  for (auto [i, argument] : llvm::enumerate(op.getStateArguments())) {
    Value begin = beginOf(op.getStates()[i]);
    if (llvm::is_contained(changing, i))
      begin = stateBefore(*plan.findCache(op.getLast()[i]), begin, op.getLoc());
    step.map(argument, begin);
  }
  OpBuilder &b = entry.builder;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    Operation *clone = b.clone(inner, step);
    for (Value result : clone->getResults())
      if (auto type = cast<RankedTensorType>(result.getType()); getSizeName(type, 0) == op.getStep()) {
        auto column = columnOf(b.getContext(), inputs.size, type.getElementType());
        result.setType(RankedTensorType::get(type.getShape(), type.getElementType(), column.getEncoding()));
      }
  }
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  for (size_t i : changing)
    updateCache(entry, *plan.findCache(op.getLast()[i]), inputs.rows, step.lookup(yield.getOperand(i)));
  for (auto [output, value] : llvm::zip_equal(op.getOutputs(), yield.getOperands().drop_front(op.getStates().size())))
    entry.mapping.map(output, step.lookup(value));
  return success();
}

/// Joins the newest token's row and the cached rows of the tokens before it, or zeros before the sequence begins.
void StepBuilder::buildWindow(UnfoldOp op) {
  OpBuilder &b = entry.builder;
  Location where = op.getLoc();
  Value newest = entry.mapping.lookup(op.getInput()), kept = keysOf(op.getInput());
  RankedTensorType ofSequences = cast<RankedTensorType>(inputs.rows.getType());
  auto column = RankedTensorType::get({ShapedType::kDynamic, 1}, b.getI32Type(), ofSequences.getEncoding());
  auto wide = [&](Value number) {
    bool isWide = number.getType() == column;
    return isWide ? number : BroadcastOp::create(b, where, column, number).getResult();
  };
  auto fill = [&](int64_t number) -> Value {
    return FillOp::create(b, where, column, b.getI32IntegerAttr(static_cast<int32_t>(number)));
  };
  SmallVector<Value> parts; // nearest first: the contract derives from it which rows the others may be
  for (int64_t distance = -static_cast<int64_t>(op.getLast()); distance <= -static_cast<int64_t>(op.getFirst());
       ++distance) {
    if (distance == 0) {
      parts.push_back(newest);
      continue;
    }
    Value isThere = arith::CmpIOp::create(b, where, arith::CmpIPredicate::sge, wide(inputs.position), fill(distance));
    Value row = arith::SelectOp::create(b, where, isThere, wide(inputs.before[distance - 1]), fill(-1));
    parts.push_back(DensifyOp::create(b, where, newest.getType(), row, kept));
  }
  std::reverse(parts.begin(), parts.end());
  entry.mapping.map(op.getResult(), JoinOp::create(b, where, stepType(op.getType()), parts).getResult());
}
