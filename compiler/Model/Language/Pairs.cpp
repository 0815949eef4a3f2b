// The built-in functions of attention: pairs of queries and keys, masks, softmax, and weighted sums of values. In a
// scan, each step has one query per sequence.
#include "compiler/Model/Language/Builtins.h"
#include "compiler/Model/Language/Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// The key extent of unfused scores is rounded up to a multiple of this, so that rows divide into vectors and steps.
static constexpr int64_t kKeyUnit = 16;

/// The score of a key that a query does not have, among scores that cross entropy compares.
static constexpr float kNoKey = -1e30f;

/// The start and the number of query rows of each sequence. Nothing if `type` has no rows of queries.
std::optional<Elaborator::Queries> Elaborator::queriesOf(RankedTensorType type, LocationAttr where) {
  if (Side *side = scanState ? nullptr : findSide(type))
    return Queries{import(side->starts), import(side->lengths), side->longest};
  bool isOfSequences = !scanState && getSizeName(type, 0) == kSequences;
  if (!isOfStep(type) && !isOfSequences)
    return std::nullopt;
  return loneQueries(type, where);
}

/// Queries of which each is a sequence of its own.
Elaborator::Queries Elaborator::loneQueries(RankedTensorType type, LocationAttr where) {
  RankedTensorType column = getDimType(type, 0, builder.getI32Type());
  return {IotaOp::create(builder, place(where), column, 0),
          FillOp::create(builder, place(where), column, builder.getI32IntegerAttr(1)), ""};
}

/// The item as scores, with a number for each pair of a query and a key; null if it is something else.
const TensorItem *Elaborator::scoresOrNull(const Item &item) {
  const auto *scores = item.as<TensorItem>();
  return scores && scores->keys && typeOf(scores->value).getRank() == 3 ? scores : nullptr;
}

/// The neighbours that pairs() gets as `among`; null without that argument; nothing after an error.
std::optional<const Side *> Elaborator::neighboursOf(BuiltinCall &call) {
  if (!call.has(3))
    return nullptr;
  const Given &given = call.given[3];
  const auto *lists = given.item.as<TensorItem>();
  if (!lists || !lists->keys || !lists->keys->tokensOf) {
    fail(given.where) << "pairs(..., among = source.neighbours) takes the neighbours of an input's tokens, not "
                      << describe(given.item)
                      << "; an input has neighbours where the parameter 'neighbours' is above 0";
    return std::nullopt;
  }
  return lists->keys;
}

Elaborator::Keys Elaborator::keysOf(const Side &side, RankedTensorType queries, LocationAttr where) {
  if (!side.tokensOf)
    return {import(side.starts), import(side.lengths), Value(), {}, side.longest};
  if (!side.rows)
    return {import(side.starts), import(side.lengths), Value(), {}, side.longest};
  RankedTensorType column = getDimType(queries, 0, builder.getI32Type());
  Keys keys{FillOp::create(builder, place(where), column, builder.getI32IntegerAttr(0)),
            import(side.lengths),
            import(side.rows),
            {},
            side.longest};
  for (Value list : side.users)
    keys.users.push_back(import(list));
  return keys;
}

/// Computes each query's position and sequence, for masks. A mask may be fused into the kernel of its scores, so this
/// comes before the scores.
void Elaborator::locateQueries(RankedTensorType type, const Queries &queries, LocationAttr where) {
  Located &located = part->located[getSizeName(type, 0).str()];
  if (scanState) {
    located = {import(getScanSide()->positions), queries.starts};
    return;
  }
  if (queries.longest.empty()) {
    located = {FillOp::create(builder, place(where), queries.starts.getType(), builder.getI32IntegerAttr(0)),
               queries.starts};
    return;
  }
  RankedTensorType perQuery = getDimType(type, 0, builder.getI32Type());
  auto op =
      LocateOp::create(builder, place(where), perQuery, perQuery, queries.starts, queries.lengths, queries.longest);
  located = {op.getPosition(), op.getSequence()};
}

/// Rejects scores whose queries do not belong to the step of the scan.
Item Elaborator::refuseQueries(const TensorItem &scores, LocationAttr where) {
  return fail(where) << "within a scan each sequence has a query at a step, but here is " << describe(scores)
                     << "; attend with these outside of the scan";
}

/// pairs(query, key, heads, among): for each query, the scores of all keys of its sequence, for each head. A score is
/// the dot product of the two rows (3.2.1), or the sum of the row that the call's block computes from them.
Item Elaborator::pairs(BuiltinCall &call) {
  Value query = tensor(call.given[0].item, call.given[0].where, "what pairs() takes as queries");
  Value key = query ? tensor(call.given[1].item, call.given[1].where, "what pairs() takes as keys") : Value();
  std::optional<int64_t> heads = call.has(2) ? whole(call.given[2], "the number of heads") : std::optional<int64_t>(1);
  std::optional<const Side *> neighbours = neighboursOf(call);
  if (!key || !heads || !neighbours)
    return mistake();
  RankedTensorType queryType = typeOf(query), keyType = typeOf(key);
  bool areRows = queryType.getRank() == 2 && keyType.getRank() == 2;
  const Side *ofKey = findSide(keyType), *own = *neighbours; // own: keys that each query has for itself
  if (const Side *words = scanState ? nullptr : wordsOf(queryType); words && words->tokensOf == ofKey)
    own = words;
  if (*neighbours && (ofKey != (*neighbours)->tokensOf || findSide(queryType) != ofKey || scanState))
    return fail(call.where()) << "among neighbours queries and keys are rows for each token of '"
                              << (*neighbours)->tokensOf->name << "', outside of scans, but here are "
                              << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  if (scanState && areRows && isOfStep(keyType))
    return fail(call.where())
           << "within a scan attention looks at the tokens of another input, and these are the scan's own; attend "
           << "with the states that the scan gives";
  if (scanState && areRows && ofKey && !isOfStep(queryType))
    return fail(call.where())
           << "within a scan a query is each sequence's row at the step, such as a state, but here is "
           << describe(call.given[0].item);
  std::optional<Queries> queries = areRows && ofKey ? queriesOf(queryType, call.where()) : std::nullopt;
  if (!queries)
    return fail(call.where()) << "pairs(query, key) takes rows of the same width for tokens, but here are "
                              << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  if (queryType.getDimSize(1) % *heads != 0)
    return fail(call.where()) << "heads share the columns alike, but " << *heads << " heads do not divide "
                              << queryType.getDimSize(1) << " columns";
  int64_t width = queryType.getDimSize(1) / *heads, ofKeys = keyType.getDimSize(1) / width;
  bool sharesKeys = keyType.getDimSize(1) % width == 0 && ofKeys > 0 && *heads % ofKeys == 0;
  if (call.expression.block ? queryType.getDimSize(1) != keyType.getDimSize(1) : !sharesKeys) {
    auto error = fail(call.where());
    error << "pairs(query, key) takes rows of the same width for tokens, but here are " << describe(call.given[0].item)
          << " and " << describe(call.given[1].item);
    if (*heads > 1 && !call.expression.block)
      error << "; keys may have fewer heads of " << width << " columns, of a number that divides " << *heads;
    return mistake();
  }
  int64_t mostKeys = own && own->rows           ? typeOf(own->rows).getDimSize(1)
                     : wordsOf(keyType) && !own ? countOf("sentences")
                                                : ofKey->most;
  auto room = static_cast<int64_t>(llvm::alignTo(mostKeys, kKeyUnit));
  auto type =
      RankedTensorType::get({queryType.getDimSize(0), *heads, room}, builder.getF32Type(), queryType.getEncoding());
  if (own) {
    ofKey = own;
    queries = loneQueries(queryType, call.where());
  } else {
    locateQueries(queryType, *queries, call.where());
  }
  Keys keys = keysOf(*ofKey, queryType, call.where());
  Region combine;
  std::optional<SmallVector<Value>> parameters = SmallVector<Value>();
  if (call.expression.block)
    parameters = combinePairs(call, queryType.getDimSize(1), combine);
  if (!parameters)
    return mistake();
  auto scores =
      ScoresOp::create(builder, place(call.where()), type, query, key, keys.rows, *parameters, keys.users,
                       queries->starts, queries->lengths, keys.starts, keys.lengths, queries->longest, keys.longest);
  scores.getCombine().takeBody(combine);
  return make(scores, ofKey);
}

static void eraseWithUsers(Operation *op) {
  while (!op->use_empty())
    eraseWithUsers(*op->user_begin());
  op->erase();
}

/// Evaluates the block of pairs() into the region of the scores op. The block computes with placeholders for the rows
/// of a query and a key. Returns the other rows that it uses; nothing after an error.
std::optional<SmallVector<Value>> Elaborator::combinePairs(BuiltinCall &call, int64_t width, Region &region) {
  Location at = place(call.where());
  auto row = RankedTensorType::get({width}, builder.getF32Type());
  Operation *rows[] = {EmptyOp::create(builder, at, row), EmptyOp::create(builder, at, row)};
  auto forget = llvm::make_scope_exit([&] { llvm::for_each(rows, eraseWithUsers); });
  BlockItem block{call.expression.block.get(), &call.scope, path};
  Item result = callBlock(block, {make(rows[0]->getResult(0)), make(rows[1]->getResult(0))}, call.where());
  if (result.isMistake())
    return std::nullopt;
  auto refuse = [&] {
    fail(call.expression.block->where) << "the block of pairs() makes a row of " << width
                                       << " numbers of a query's row and a key's, by arithmetic on "
                                       << "their elements, and the sum of these is the score; here is "
                                       << describe(result);
    return std::nullopt;
  };
  Value value = tensorOrNull(result, call.expression.block->where);
  if (!value || value.getType() != row)
    return refuse();
  // Ops that depend on the two rows move into the region.
  llvm::SetVector<Operation *> arithmetic;
  auto collect = [&](Value value, auto &collect) -> bool {
    Operation *op = value.getDefiningOp();
    if (!op || llvm::is_contained(rows, op) || arithmetic.contains(op))
      return op;
    bool depends = false;
    for (Value operand : op->getOperands())
      depends |= collect(operand, collect);
    if (depends)
      arithmetic.insert(op);
    return depends;
  };
  collect(value, collect);

  mlir::Block &body = region.emplaceBlock();
  OpBuilder inBody(builder.getContext());
  inBody.setInsertionPointToEnd(&body);
  IRMapping scalars;
  for (Operation *op : rows)
    scalars.map(op->getResult(0), body.addArgument(builder.getF32Type(), at));
  SmallVector<Value> parameters;
  auto makeScalar = [&](Value operand) {
    if (scalars.contains(operand))
      return true;
    if (auto fill = operand.getDefiningOp<FillOp>()) {
      scalars.map(operand, arith::ConstantOp::create(inBody, at, fill.getValue()).getResult());
    } else if (operand.getType() == row) {
      parameters.push_back(operand);
      scalars.map(operand, body.addArgument(builder.getF32Type(), at));
    }
    return scalars.contains(operand);
  };
  for (Operation *op : arithmetic) {
    if (isa<DropoutOp>(op)) {
      fail(call.expression.block->where) << "dropout has no place in the block of pairs(): drop out the queries, the "
                                            "keys, or the weights after softmax()";
      return std::nullopt;
    }
    if (!OpTrait::hasElementwiseMappableTraits(op) || !llvm::all_of(op->getOperands(), makeScalar))
      return refuse();
    Operation *clone = inBody.clone(*op, scalars);
    for (Value scalar : clone->getResults())
      scalar.setType(getElementTypeOrSelf(scalar));
  }
  if (!makeScalar(value))
    return refuse();
  YieldOp::create(inBody, at, scalars.lookup(value));
  return parameters;
}

/// Replaces each score without a pair of a query and a key by `filler`. Returns null after an error.
MaskOp Elaborator::maskScores(const TensorItem &scores, float filler, LocationAttr where) {
  Location at = place(where);
  Value value = import(scores.value);
  RankedTensorType type = typeOf(value);
  FloatAttr fillerAttr = builder.getF32FloatAttr(filler);
  if (scores.keys->tokensOf) {
    RankedTensorType column = getDimType(type, 0, builder.getI32Type());
    Value first = FillOp::create(builder, at, column, builder.getI32IntegerAttr(0));
    Value sequence = IotaOp::create(builder, at, column, 0);
    return MaskOp::create(builder, at, type, value, first, sequence, import(scores.keys->lengths), fillerAttr);
  }
  // Queries of scores from another part, or from outside the scan, have no positions here yet.
  if (!part->located.count(getSizeName(type, 0).str())) {
    std::optional<Queries> queries = queriesOf(type, where);
    if (!queries)
      return refuseQueries(scores, where), MaskOp();
    locateQueries(type, *queries, where);
  }
  const Located &located = part->located[getSizeName(type, 0).str()];
  return MaskOp::create(builder, at, type, value, located.position, located.sequence, import(scores.keys->lengths),
                        fillerAttr);
}

/// The scores of one head as rows: a column for each key. Columns beyond a query's keys have the score kNoKey, which is
/// finite because cross entropy multiplies it by 0. Null after an error.
Value Elaborator::rowsOfScores(const TensorItem &scores, LocationAttr where) {
  RankedTensorType type = typeOf(scores.value);
  if (type.getDimSize(1) != 1) {
    fail(where) << "the choice of a key is made by scores of one head, not by " << describe(scores);
    return {};
  }
  MaskOp masked = maskScores(scores, kNoKey, where);
  if (!masked)
    return {};
  RankedTensorType rows = getTypeOfDims({{type, 0}, {type, 2}}, builder.getF32Type());
  return ReshapeOp::create(builder, place(where), rows, masked);
}

/// mask(scores) { |query, key| ... }: masks keys beyond the sequence, and pairs for which the block is false.
Item Elaborator::mask(BuiltinCall &call) {
  const TensorItem *scores = scoresOrNull(call.given[0].item);
  if (!scores)
    return fail(call.where()) << "mask() takes scores of pairs(query, key), not " << describe(call.given[0].item);
  if (scores->keys->tokensOf && call.expression.block)
    return fail(call.expression.block->where)
           << (scores->keys->rows ? "neighbours have no places by which a mask could tell them apart"
                                  : "a sentence sees all of its words, without a mask's block");
  Location at = place(call.where());
  MaskOp op = maskScores(*scores, -std::numeric_limits<float>::infinity(), call.where());
  if (!op)
    return mistake();
  if (!call.expression.block)
    return make(op, scores->keys);
  OpBuilder::InsertionGuard guard(builder);
  Type index = builder.getI32Type();
  mlir::Block *body = builder.createBlock(&op.getMask(), {}, {index, index}, {at, at});
  BlockItem block{call.expression.block.get(), &call.scope, path};
  Item counts = callBlock(block, {make(body->getArgument(0)), make(body->getArgument(1))}, call.where());
  if (counts.isMistake()) {
    body->erase();
    return mistake();
  }
  Value pairCounts;
  if (const bool *always = counts.as<bool>())
    pairCounts = arith::ConstantOp::create(builder, at, builder.getBoolAttr(*always));
  else if (const auto *item = counts.as<TensorItem>())
    pairCounts = item->value;
  if (!pairCounts || !pairCounts.getType().isInteger(1) || pairCounts.getParentBlock() != body) {
    fail(call.expression.block->where)
        << "a mask's block says of a query's and a key's index whether the pair counts, as in "
        << "{ |query, key| key <= query }, and not " << describe(counts);
    body->erase();
    return mistake();
  }
  YieldOp::create(builder, at, ValueRange{pairCounts});
  return make(op, scores->keys);
}

/// softmax(x, sink): over the keys of each query, with a sink's number as one more score of each head; for a number for
/// each token, over the tokens of each sequence.
Item Elaborator::softmax(BuiltinCall &call) {
  const TensorItem *scores = scoresOrNull(call.given[0].item);
  Value sink = call.has(1) ? tensor(call.given[1].item, call.given[1].where, "a sink") : Value();
  if (call.has(1) && !sink)
    return mistake();
  if (sink && (!scores || typeOf(sink).getShape() != typeOf(scores->value).getShape().slice(1, 1)))
    return fail(call.where())
           << "softmax(scores, sink) takes scores of pairs(query, key, heads) and a number for each head, not "
           << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  const auto *numbers = call.given[0].item.as<TensorItem>();
  auto type = numbers ? dyn_cast<RankedTensorType>(numbers->value.getType()) : RankedTensorType();
  if (const Side *side = type && !scanState ? findSide(type) : nullptr;
      side && type.getRank() == 1 && type.getElementType().isF32()) {
    Location at = place(call.where());
    Value x = asRows(import(numbers->value), call.where());
    RankedTensorType whole = getDimType(type, 0, builder.getI32Type());
    Value sequence =
        LocateOp::create(builder, at, whole, whole, import(side->starts), import(side->lengths), side->longest)
            .getSequence();
    auto spread = [&](Value ofSequences) {
      return EmbeddingOp::create(builder, at, x.getType(), sequence, ofSequences);
    };
    Value largest = spread(pool(Pool::Max, x, *side, call.where()));
    Value shares = math::ExpOp::create(builder, at, arith::SubFOp::create(builder, at, x, largest));
    Value sums = spread(pool(Pool::Sum, shares, *side, call.where()));
    return make(asNumbers(arith::DivFOp::create(builder, at, shares, sums), call.where()));
  }
  if (type && !scores && type.getRank() == 2 && type.isDynamicDim(0) && type.getElementType().isF32()) {
    Location at = place(call.where());
    auto whole =
        RankedTensorType::get({type.getDimSize(0), 1, type.getDimSize(1)}, type.getElementType(), type.getEncoding());
    Value rows = ReshapeOp::create(builder, at, whole, import(numbers->value));
    return make(ReshapeOp::create(builder, at, type, SoftmaxOp::create(builder, at, rows)));
  }
  if (!scores)
    return fail(call.where())
           << "softmax() takes scores of pairs(query, key), rows, or outside of scans a number for each token, not "
           << describe(call.given[0].item);
  Value value = import(scores->value);
  return make(SoftmaxOp::create(builder, place(call.where()), value.getType(), value, sink), scores->keys);
}

/// places(scores): for each pair, the key's position in its sequence.
Item Elaborator::placesOf(BuiltinCall &call) {
  const TensorItem *scores = scoresOrNull(call.given[0].item);
  if (!scores || scores->keys->rows)
    return fail(call.where()) << "places() takes scores of pairs(query, key), not " << describe(call.given[0].item);
  RankedTensorType type = typeOf(import(scores->value));
  auto whole = RankedTensorType::get(type.getShape(), builder.getI32Type(), type.getEncoding());
  Location at = place(call.where());
  return make(arith::SIToFPOp::create(builder, at, type, IotaOp::create(builder, at, whole, 2)), scores->keys);
}

/// The number of key heads in the scores from which `weights` are computed.
static int64_t headsOfKeys(Value weights) {
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  for (Operation *op = weights.getDefiningOp(); op;) {
    if (auto scores = dyn_cast<ScoresOp>(op)) {
      int64_t width = typeOf(scores.getQuery()).getDimSize(1) / scores.getType().getDimSize(1);
      return typeOf(scores.getKey()).getDimSize(1) / width;
    }
    auto ofPairs = llvm::find_if(op->getOperands(), [&](Value operand) { return typeOf(operand).getRank() == 3; });
    op = ofPairs == op->operand_end() ? nullptr : (*ofPairs).getDefiningOp();
  }
  return typeOf(weights).getDimSize(1);
}

/// weights @ values: for each query, the sum of its keys' values times their weights.
Item Elaborator::contextOf(const TensorItem &weights, const Item &values, LocationAttr where) {
  Value value = tensorOrNull(values, where), weight = import(weights.value);
  RankedTensorType type = typeOf(weight), valueType = typeOf(value);
  const Side *ofKey = weights.keys;
  int64_t heads = headsOfKeys(weight);
  if (findSide(valueType) != (ofKey->tokensOf ? ofKey->tokensOf : ofKey) || valueType.getRank() != 2 ||
      valueType.getDimSize(1) % heads != 0)
    return fail(where) << "the weights of pairs are " << describe(weights) << ", but the values are "
                       << describe(values) << "; there is a value for each key, and heads share its columns";
  int64_t columns = valueType.getDimSize(1) / heads * type.getDimSize(1);
  auto result = RankedTensorType::get({type.getDimSize(0), columns}, builder.getF32Type(), type.getEncoding());
  std::optional<Queries> queries = ofKey->tokensOf ? loneQueries(type, where) : queriesOf(type, where);
  if (!queries)
    return refuseQueries(weights, where);
  Keys keys = keysOf(*ofKey, type, where);
  return make(ContextOp::create(builder, place(where), result, weight, value, keys.rows, keys.users, queries->starts,
                                queries->lengths, keys.starts, keys.lengths, queries->longest, keys.longest));
}

/// The sum of each query's scores, for each head: a multiplication by values of one.
Item Elaborator::sumOfScores(const TensorItem &scores, LocationAttr where) {
  if (scanState)
    return fail(where) << "within a scan scores are not summed; attend with the states that the scan gives";
  const Side &ofKeys = scores.keys->tokensOf ? *scores.keys->tokensOf : *scores.keys;
  RankedTensorType column = columnOf(ofKeys.tokens);
  auto ones = RankedTensorType::get({column.getDimSize(0), headsOfKeys(import(scores.value))}, builder.getF32Type(),
                                    column.getEncoding());
  Item sums = contextOf(scores, make(fill(ones, 1, where)), where);
  const auto *result = sums.as<TensorItem>();
  if (!result || typeOf(result->value).getDimSize(1) > 1)
    return sums;
  return make(asNumbers(result->value, where));
}

/// For each key and head, the sum of its scores over the queries of its sequence: the transposed scores times ones.
Item Elaborator::sumOverQueries(const TensorItem &scores, LocationAttr where) {
  Value value = import(scores.value);
  RankedTensorType type = typeOf(value);
  std::optional<Queries> queries = scanState || scores.keys->tokensOf ? std::nullopt : queriesOf(type, where);
  if (!queries)
    return fail(where)
           << "sum(scores, over = \"queries\") is of a whole sequence's queries, outside of scans, and of keys "
              "that all of these "
           << "have; here is " << describe(scores);
  Keys keys = keysOf(*scores.keys, type, where);
  auto ones = RankedTensorType::get({type.getDimSize(0), type.getDimSize(1)}, builder.getF32Type(), type.getEncoding());
  RankedTensorType column = columnOf(scores.keys->tokens);
  auto perKey =
      RankedTensorType::get({column.getDimSize(0), type.getDimSize(1)}, builder.getF32Type(), column.getEncoding());
  Value sums = TransposedContextOp::create(builder, place(where), perKey, value, fill(ones, 1, where),
                                           /*users=*/ValueRange(), queries->starts, queries->lengths, keys.starts,
                                           keys.lengths, queries->longest, keys.longest);
  return make(type.getDimSize(1) == 1 ? asNumbers(sums, where) : sums);
}
