#include "compiler/Model/Language/Builtins.h"
#include "compiler/Model/Language/Parts.h"

#include "dialects/Heddle/Lengths.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

ArrayRef<Elaborator::Builtin> Elaborator::getBuiltins() {
  using E = Elaborator;
  static const std::vector<Builtin> builtins = {
      {"cos", {"x"}, 1, &E::mathOf},
      {"exp", {"x"}, 1, &E::mathOf},
      {"log", {"x"}, 1, &E::mathOf},
      {"sqrt", {"x"}, 1, &E::mathOf},
      {"rsqrt", {"x"}, 1, &E::mathOf},
      {"tanh", {"x"}, 1, &E::mathOf},
      {"erf", {"x"}, 1, &E::mathOf},
      {"floor", {"x"}, 1, &E::mathOf},
      {"sign", {"x"}, 1, &E::signOf},
      {"outer", {"a", "b"}, 2, &E::outerProduct},
      {"max", {"a", "b"}, 2, &E::largerOrSmaller},
      {"min", {"a", "b"}, 2, &E::largerOrSmaller},
      {"columns", {"x"}, 1, &E::columnsOf},
      {"count", {"list"}, 1, &E::countOf},
      {"require", {"condition", "message"}, 2, &E::require},
      {"normal", {"deviation"}, 1, &E::weightStart},
      {"uniform", {"bound"}, 1, &E::weightStart},
      {"transpose", {"matrix"}, 1, &E::transpose},
      {"sum", {"x", "over"}, 1, &E::sumOf},
      {"split", {"x", "heads"}, 2, &E::split},
      {"flat", {"x"}, 1, &E::flat},
      {"first", {"x"}, 1, &E::endRows},
      {"last", {"x"}, 1, &E::endRows},
      {"average", {"x", "within"}, 1, &E::averageRows},
      {"largest", {"x"}, 1, &E::poolRows},
      {"smallest", {"x"}, 1, &E::poolRows},
      {"total", {"x"}, 1, &E::poolRows},
      {"sinusoid", {"positions", "width", "halves"}, 2, &E::sinusoid},
      {"row", {"count"}, 1, &E::rowOf, /*takesBlock=*/true},
      {"rotate", {"x", "positions", "frequencies", "neighbours", "heads"}, 3, &E::rotate},
      {"dropout", {"x", "rate"}, 2, &E::dropout},
      {"normalise", {"x", "gain", "bias", "epsilon"}, 3, &E::normalise},
      {"pairs", {"query", "key", "heads", "among"}, 2, &E::pairs, /*takesBlock=*/true},
      {"mask", {"scores"}, 1, &E::mask, /*takesBlock=*/true},
      {"softmax", {"scores", "sink"}, 1, &E::softmax},
      {"places", {"scores"}, 1, &E::placesOf},
      {"number", {"x"}, 1, &E::numberOf},
      {"spread", {"x", "tokens"}, 2, &E::spread},
      {"length", {"x"}, 1, &E::lengthOf},
      {"zeros", {"width"}, 1, &E::zerosOf},
      {"slice", {"x", "from", "width"}, 3, &E::slice},
      {"join", {"a", "b", "c", "d"}, 2, &E::join},
      {"sample", {"weights"}, 1, &E::sample},
      {"stop_gradient", {"x"}, 1, &E::stopGradient},
      {"moving_average", {"x", "keep"}, 2, &E::movingAverage},
      {"window", {"x", "from", "to"}, 3, &E::window},
      {"grid_columns", {"x"}, 1, &E::gridColumns},
      {"grid_width", {"x"}, 1, &E::gridWidth},
      {"subsample", {"x", "stride", "row", "column"}, 4, &E::subsample},
      {"top_k", {"x", "k"}, 2, &E::topOf},
      {"select", {"x", "columns"}, 2, &E::selectColumns},
      {"marks", {"columns", "width"}, 2, &E::marksOf},
      {"overall", {"x"}, 1, &E::overallOf},
      {"experts", {"x", "chosen", "weights", "count"}, 4, &E::expertsOf, /*takesBlock=*/true},
      {"of_expert", {"table"}, 1, &E::ofExpert},
      {"cross_entropy", {"logits", "targets", "smoothing"}, 2, &E::crossEntropy},
  };
  return builtins;
}

const Elaborator::Builtin *Elaborator::findBuiltin(StringRef name) {
  const auto *found = llvm::find_if(getBuiltins(), [&](const Builtin &builtin) { return builtin.name == name; });
  return found == getBuiltins().end() ? nullptr : found;
}

bool Elaborator::isBuiltin(StringRef name) { return findBuiltin(name); }

Item Elaborator::callBuiltin(const Expression &expression, Scope &scope) {
  const Builtin *builtin = findBuiltin(expression.text);
  if (auto found = outer ? outer->find(expression.text) : OuterFunctions::const_iterator();
      !builtin && outer && found != outer->end()) {
    const OuterFunction &function = found->getValue();
    auto isRequired = [&](size_t i) { return i < function.required; };
    std::optional<SmallVector<Given>> given = arrange(expression, function.parameters, isRequired, scope);
    if (!given || llvm::any_of(*given, [](const Given &one) { return one.where && one.item.isMistake(); }))
      return mistake();
    BuiltinCall call{expression, scope, std::move(*given)};
    return function.evaluate(call);
  }
  if (!builtin) {
    SmallVector<StringRef> known;
    if (maySuggest()) {
      known = llvm::to_vector(definitions.keys());
      for (const Builtin &other : getBuiltins())
        known.push_back(other.name);
    }
    llvm::sort(known); // so that ties are always resolved in the same way
    StringRef nearest = findNearest(expression.text, known);
    InFlightDiagnostic error = fail(expression.where) << "there is no function '" << expression.text << "'";
    if (!nearest.empty())
      error << "; the nearest is '" << nearest << "'";
    return mistake();
  }
  if (expression.block && !builtin->takesBlock)
    return fail(expression.block->where) << "'" << expression.text << "' takes no block";
  auto isRequired = [&](size_t i) { return i < builtin->required; };
  std::optional<SmallVector<Given>> given = arrange(expression, builtin->parameters, isRequired, scope);
  if (!given)
    return mistake();
  for (const Given &argument : *given)
    if (argument.where && argument.item.isMistake())
      return mistake();
  BuiltinCall call{expression, scope, std::move(*given)};
  return (this->*builtin->evaluate)(call);
}

//===-- Lists ---------------------------------------------------------------------------------------------------===//

Item Elaborator::countOf(BuiltinCall &call) {
  if (const auto *list = call.given[0].item.as<ListItem>())
    return wholeNumber(static_cast<int64_t>(list->size()));
  return fail(call.given[0].where) << "count() is of a list, not of " << describe(call.given[0].item);
}

//===-- Constants and elements ----------------------------------------------------------------------------------===//

template <typename Op> static Value createMath(OpBuilder &builder, Location at, Value x) {
  return Op::create(builder, at, x);
}

/// The functions of a number. `create` is null for those of constants only.
static constexpr struct {
  StringLiteral name;
  double (*of)(double);
  Value (*create)(OpBuilder &, Location, Value);
} kMathFunctions[] = {{"cos", std::cos, createMath<math::CosOp>},
                      {"exp", std::exp, createMath<math::ExpOp>},
                      {"log", std::log, createMath<math::LogOp>},
                      {"sqrt", std::sqrt, createMath<math::SqrtOp>},
                      {"rsqrt", [](double a) { return 1 / std::sqrt(a); }, createMath<math::RsqrtOp>},
                      {"tanh", std::tanh, createMath<math::TanhOp>},
                      {"erf", std::erf, createMath<math::ErfOp>},
                      {"floor", std::floor, nullptr}};

Item Elaborator::mathOf(BuiltinCall &call) {
  StringRef name = call.expression.text;
  const auto &function = *llvm::find_if(kMathFunctions, [&](const auto &known) { return known.name == name; });
  const Given &x = call.given[0];
  if (const auto *constant = x.item.as<NumberItem>()) {
    double value = function.of(constant->value);
    if (std::isfinite(value))
      return NumberItem{value, name == "floor"};
    return fail(call.where()) << name << " of " << describe(x.item) << " is no number";
  }
  Value value = tensor(x.item, x.where, "what '" + name + "' is of");
  if (!value)
    return mistake();
  if (!typeOf(value).getElementType().isF32() || !function.create)
    return fail(x.where) << "there is no '" << name << "' of " << describe(x.item);
  return make(function.create(builder, place(call.where()), value), x.item.keys());
}

Item Elaborator::largerOrSmaller(BuiltinCall &call) {
  bool larger = call.expression.text == "max";
  Item a = call.given[0].item, b = call.given[1].item;
  const auto *x = a.as<NumberItem>(), *y = b.as<NumberItem>();
  if (x && y)
    return NumberItem{larger ? std::max(x->value, y->value) : std::min(x->value, y->value), x->isWhole && y->isWhole};
  if (x)
    std::swap(a, b);
  Value left = tensor(a, call.where(), "what '" + call.expression.text + "' compares");
  if (!left)
    return mistake();
  const Side *keys = a.keys();
  Value right = widen(b, typeOf(left), call.where(), /*areScores=*/keys);
  if (!right || !typeOf(left).getElementType().isF32())
    return fail(call.where()) << "'" << call.expression.text << "' has no meaning for " << describe(a) << " and "
                              << describe(b);
  Location at = place(call.where());
  if (larger)
    return make(arith::MaximumFOp::create(builder, at, left, right), keys);
  return make(arith::MinimumFOp::create(builder, at, left, right), keys);
}

Item Elaborator::columnsOf(BuiltinCall &call) {
  const Item &x = call.given[0].item;
  if (const auto *row = x.as<std::shared_ptr<RowItem>>())
    return wholeNumber(static_cast<int64_t>((*row)->values.size()));
  if (const auto *weight = x.as<std::shared_ptr<WeightItem>>())
    return wholeNumber((*weight)->shape.back());
  const auto *item = x.as<TensorItem>();
  auto type = item ? dyn_cast<RankedTensorType>(item->value.getType()) : RankedTensorType();
  if (!type || type.getRank() < 2 || item->keys)
    return fail(call.where()) << describe(x) << " has no columns";
  return wholeNumber(type.getShape().back());
}

Item Elaborator::require(BuiltinCall &call) {
  std::optional<bool> holds = flag(call.given[0], "what a model requires");
  const auto *message = call.given[1].item.as<std::string>();
  if (!message)
    fail(call.given[1].where) << "the message of require(condition, message) is a string, not "
                              << describe(call.given[1].item);
  else if (holds && !*holds)
    fail(call.where()) << *message;
  return ListItem();
}

Item Elaborator::weightStart(BuiltinCall &call) {
  std::optional<double> scale = real(call.given[0], "what " + call.expression.text + "() takes");
  if (!scale)
    return mistake();
  return WeightStart{call.expression.text == "normal" ? StartKind::Normal : StartKind::Uniform, *scale};
}

Item Elaborator::transpose(BuiltinCall &call) {
  Value matrix = tensor(call.given[0].item, call.given[0].where, "what is transposed");
  if (!matrix)
    return mistake();
  if (typeOf(matrix).getRank() != 2 || !typeOf(matrix).hasStaticShape())
    return fail(call.where()) << "a matrix of weights can be transposed, not " << describe(call.given[0].item);
  return TensorItem{matrix, nullptr, /*isTransposed=*/true};
}

//===-- Rows ----------------------------------------------------------------------------------------------------===//

/// table[indices]
Item Elaborator::gather(const Item &table, const Item &indices, LocationAttr where) {
  if (table.isMistake() || indices.isMistake())
    return mistake();
  Value rows = tensor(table, where, "what is indexed"), places = rows ? tensor(indices, where, "an index") : Value();
  if (!places)
    return mistake();
  RankedTensorType rowsType = typeOf(rows), placesType = typeOf(places);
  const Side *side = findSide(rowsType);
  bool isLabelled =
      side && side->labelled && getSizeName(placesType, 0) == side->labels && import(side->labelled) == places;
  const Side *pairs = sideNamed(kPair); // whose texts are sequences
  bool isOfPairs = pairs && placesType.getRank() == 1 && getSizeName(placesType, 0) == pairs->tokens &&
                   rowsType.isDynamicDim(0) && getSizeName(rowsType, 0) == kSequences;
  if (rowsType.getRank() != 2 || (!rowsType.hasStaticShape() && !isLabelled && !isOfPairs) ||
      placesType.getRank() != 1 || !placesType.getElementType().isInteger(32))
    return fail(where)
           << "table[indices] takes rows of a matrix of weights by whole numbers, such as the tokens of an input, but "
           << "here are " << describe(table) << " and " << describe(indices);
  RankedTensorType type = getTypeOfDims({{placesType, 0}, {rowsType, 1}}, builder.getF32Type());
  return make(EmbeddingOp::create(builder, place(where), type, places, rows));
}

/// first(x), last(x): the first or last row of each sequence.
Item Elaborator::endRows(BuiltinCall &call) {
  StringRef name = call.expression.text;
  Value x = tensor(call.given[0].item, call.given[0].where, "what the " + name + " rows are of");
  if (!x)
    return mistake();
  Side *side = findSide(typeOf(x));
  if (!side || typeOf(x).getRank() != 2)
    return fail(call.where()) << name << "() takes rows of tokens, whose sequences it knows, not "
                              << describe(call.given[0].item);
  Location at = place(call.where());
  Value rows = import(side->starts);
  if (name == "last") {
    Value ends = arith::AddIOp::create(builder, at, rows, import(side->lengths));
    Value one = FillOp::create(builder, at, ends.getType(), builder.getI32IntegerAttr(1));
    rows = arith::SubIOp::create(builder, at, ends, one);
  }
  RankedTensorType type = getTypeOfDims({{typeOf(rows), 0}, {typeOf(x), 1}}, builder.getF32Type());
  return make(EmbeddingOp::create(builder, at, type, rows, x));
}

/// average(x): the mean of each sequence's rows.
Item Elaborator::averageRows(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what the average is of");
  if (!x)
    return mistake();
  const Side *side = findSide(typeOf(x));
  if (!side || typeOf(x).getRank() != 2)
    return fail(call.where()) << "average() takes rows of tokens, whose sequences it knows, not "
                              << describe(call.given[0].item);
  if (call.has(1)) {
    Value sentences = tensor(call.given[1].item, call.given[1].where, "what the average is within");
    const Side *words = sentences ? wordsOf(typeOf(sentences)) : nullptr;
    if (sentences && (!words || words->tokensOf != side))
      fail(call.given[1].where) << "average(x, within = source.sentences) takes the words of each sentence, not "
                                << describe(call.given[0].item) << " and " << describe(call.given[1].item);
    if (!words || words->tokensOf != side)
      return mistake();
    side = words;
  }
  Location at = place(call.where());
  Value starts = import(side->starts), lengths = import(side->lengths);
  RankedTensorType perToken = getDimType(typeOf(x), 0, builder.getI32Type());
  auto located = LocateOp::create(builder, at, perToken, perToken, starts, lengths, side->longest);
  RankedTensorType type = getTypeOfDims({{typeOf(starts), 0}, {typeOf(x), 1}}, builder.getF32Type());
  Value zero = FillOp::create(builder, at, type, builder.getF32FloatAttr(0));
  Value sums = ScatterAddOp::create(builder, at, zero, located.getSequence(), x);
  Value counts = arith::SIToFPOp::create(builder, at, getDimType(type, 0, builder.getF32Type()), lengths);
  Value divisors = BroadcastOp::create(builder, at, type, counts);
  return make(arith::DivFOp::create(builder, at, sums, divisors));
}

Value Elaborator::pool(Pool kind, Value x, const Side &side, LocationAttr where) {
  Location at = place(where);
  RankedTensorType type = typeOf(x);
  Value starts = import(side.starts);
  bool areNumbers = type.getRank() == 1;
  x = asRows(x, where);
  SmallVector<DimOf> dims{{typeOf(starts), 0}, {typeOf(x), 1}};
  Type chosen = kind == Pool::Sum ? Type() : getTypeOfDims(dims, builder.getI32Type());
  Value pooled = SegmentOp::create(builder, at, getTypeOfDims(dims, builder.getF32Type()), chosen, kind, x, starts,
                                   import(side.lengths), side.longest)
                     .getResult();
  return areNumbers ? asNumbers(pooled, where) : pooled;
}

/// asRows reshapes a column of numbers into rows of one number; asNumbers is the inverse.
Value Elaborator::asRows(Value x, LocationAttr where) {
  RankedTensorType type = typeOf(x);
  if (type.getRank() != 1)
    return x;
  auto rows = RankedTensorType::get({type.getDimSize(0), 1}, type.getElementType(), type.getEncoding());
  return ReshapeOp::create(builder, place(where), rows, x);
}
Value Elaborator::asNumbers(Value x, LocationAttr where) {
  return ReshapeOp::create(builder, place(where), getDimType(typeOf(x), 0, builder.getF32Type()), x);
}

/// largest(x), smallest(x), total(x): the maximum, minimum or sum over each sequence's rows, column by column, or over
/// its tokens' numbers.
Item Elaborator::poolRows(BuiltinCall &call) {
  StringRef name = call.expression.text;
  Value x = tensor(call.given[0].item, call.given[0].where, "what " + name + "() is of");
  if (!x)
    return mistake();
  Side *side = findSide(typeOf(x));
  if (!side || typeOf(x).getRank() > 2 || !typeOf(x).getElementType().isF32())
    return fail(call.where()) << name << "() takes rows or numbers of tokens, whose sequences it knows, not "
                              << describe(call.given[0].item);
  Pool kind = llvm::StringSwitch<Pool>(name).Case("largest", Pool::Max).Case("smallest", Pool::Min).Default(Pool::Sum);
  return make(pool(kind, x, *side, call.where()));
}

/// number(x): converts integers to floats.
Item Elaborator::numberOf(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what number() is of");
  if (!x)
    return mistake();
  if (!typeOf(x).getElementType().isInteger(32))
    return fail(call.where()) << "number() takes whole numbers, such as source.lengths, not "
                              << describe(call.given[0].item);
  auto type = RankedTensorType::get(typeOf(x).getShape(), builder.getF32Type(), typeOf(x).getEncoding());
  return make(arith::SIToFPOp::create(builder, place(call.where()), type, x));
}

/// spread(x, tokens): repeats each sequence's row for each of its tokens.
Item Elaborator::spread(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what is spread");
  Value tokens = x ? tensor(call.given[1].item, call.given[1].where, "what it is spread over") : Value();
  if (!tokens)
    return mistake();
  Side *side = findSide(typeOf(tokens));
  bool isOfSequences = typeOf(x).getRank() > 0 && getSizeName(typeOf(x), 0) == kSequences;
  if (!side || !isOfSequences || scanState)
    return fail(call.where()) << "spread(x, tokens) gives each token its sequence's row, "
                              << (scanState ? "and within a scan each sequence has it already"
                                            : "but here are " + describe(call.given[0].item) + " and " +
                                                  describe(call.given[1].item));
  return make(repeatForTokens(x, typeOf(tokens), *side, place(call.where())));
}

/// Gives each token its sequence's row or number. `tokens` is any type with a row for each token.
Value Elaborator::repeatForTokens(Value x, RankedTensorType tokens, Side &side, Location at) {
  RankedTensorType perToken = getDimType(tokens, 0, builder.getI32Type());
  auto located =
      LocateOp::create(builder, at, perToken, perToken, import(side.starts), import(side.lengths), side.longest);
  SmallVector<DimOf> dims{{perToken, 0}};
  if (typeOf(x).getRank() == 2)
    dims.push_back({typeOf(x), 1});
  return EmbeddingOp::create(builder, at, getTypeOfDims(dims, typeOf(x).getElementType()), located.getSequence(), x);
}

/// length(x): how many tokens each token's sequence has.
Item Elaborator::lengthOf(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what length() is of");
  if (!x)
    return mistake();
  Side *side = findSide(typeOf(x));
  if (!side || scanState)
    return fail(call.where()) << "length() is of rows, numbers or positions of tokens, "
                              << (scanState ? "outside of scans" : "not of " + describe(call.given[0].item));
  Value lengths = import(side->lengths);
  auto type = RankedTensorType::get(typeOf(lengths).getShape(), builder.getF32Type(), typeOf(lengths).getEncoding());
  Location at = place(call.where());
  auto asNumbers = arith::SIToFPOp::create(builder, at, type, lengths);
  asNumbers->setAttr(kOrLongestAttrName, builder.getUnitAttr());
  return make(repeatForTokens(asNumbers, typeOf(x), *side, at));
}

/// sum(x): the sum of each row's elements, or of each head's. For scores, the sum over the keys or over the queries.
Item Elaborator::sumOf(BuiltinCall &call) {
  if (updated)
    return sumOfWeight(call);
  const TensorItem *scores = scoresOrNull(call.given[0].item);
  if (call.has(1)) {
    const auto *over = call.given[1].item.as<std::string>();
    if (scores && over && *over == "queries")
      return sumOverQueries(*scores, call.where());
    return fail(call.where()) << "sum(scores, over = \"queries\") takes scores of pairs(query, key); without 'over' "
                                 "sum() is of keys, or of "
                              << "the columns of rows";
  }
  if (scores)
    return sumOfScores(*scores, call.where());
  Value x = tensor(call.given[0].item, call.given[0].where, "what is summed");
  if (!x)
    return mistake();
  bool hasHeads = typeOf(x).getRank() == 3 && call.given[0].item.as<TensorItem>() && !call.given[0].item.keys();
  if ((typeOf(x).getRank() != 2 && !hasHeads) || !typeOf(x).getElementType().isF32())
    return fail(call.where()) << "sum() adds up the numbers of each row, and " << describe(call.given[0].item)
                              << " has no rows";
  if (!hasHeads && typeOf(x).getDimSize(1) == 1 && typeOf(x).isDynamicDim(0))
    return make(asNumbers(x, call.where()));
  SmallVector<DimOf> dims{{typeOf(x), 0}};
  if (hasHeads)
    dims.push_back({typeOf(x), 1});
  Type type = getTypeOfDims(dims, builder.getF32Type());
  return make(SumOp::create(builder, place(call.where()), type, x, /*columns=*/true));
}

Item Elaborator::sinusoid(BuiltinCall &call) {
  Value positions = tensor(call.given[0].item, call.given[0].where, "what sinusoid() is of");
  std::optional<int64_t> width = whole(call.given[1], "the width of sinusoid()");
  std::optional<bool> halves = call.has(2) ? flag(call.given[2], "'halves'") : std::optional(false);
  if (!positions || !width || !halves)
    return mistake();
  if (*width % 2 != 0)
    return fail(call.given[1].where) << "sinusoidal positions come in pairs of a sine and a cosine, but the width is "
                                     << *width;
  RankedTensorType perToken = typeOf(positions);
  if (perToken.getRank() != 1 || !perToken.getElementType().isInteger(32))
    return fail(call.given[0].where) << "sinusoid() takes positions, such as source.positions, not "
                                     << describe(call.given[0].item);
  auto type = RankedTensorType::get({perToken.getDimSize(0), *width}, builder.getF32Type(), perToken.getEncoding());
  return make(SinusoidOp::create(builder, place(call.where()), type, positions, *halves));
}

/// row(count) { |i| ... }: a constant row. The block computes each number from its index.
Item Elaborator::rowOf(BuiltinCall &call) {
  constexpr int64_t most = 4096;
  std::optional<int64_t> count = whole(call.given[0], "the count of row()");
  if (!count)
    return mistake();
  if (*count < 1 || *count > most || !call.expression.block)
    return fail(call.where()) << "row(count) { |i| ... } makes a row of 1 to " << most << " numbers, each by the block";
  BlockItem block{call.expression.block.get(), &call.scope, path};
  SmallVector<float> values;
  for (int64_t i = 0; i < *count; ++i) {
    Item value = callBlock(block, {wholeNumber(i)}, call.where());
    if (value.isMistake())
      return mistake();
    const auto *number = value.as<NumberItem>();
    if (!number)
      return fail(block.block->where)
             << "the block of row() makes a number of each place, known when the model is compiled; here is "
             << describe(value);
    values.push_back(static_cast<float>(number->value));
  }
  return std::make_shared<RowItem>(RowItem{std::move(values), call.where()});
}

/// dropout(x, rate): the mask depends on the counters `seed` and `step`. Entries other than training leave it out.
Item Elaborator::dropout(BuiltinCall &call) {
  std::optional<double> rate = real(call.given[1], "the rate of dropout");
  Value x = tensor(call.given[0].item, call.given[0].where, "what dropout() is of");
  if (!rate || !x)
    return mistake();
  if (*rate < 0 || *rate >= 1)
    return fail(call.given[1].where) << "the rate of dropout is from 0 to below 1, not "
                                     << describe(call.given[1].item);
  const Side *keys = call.given[0].item.keys();
  if (*rate == 0)
    return make(x, keys);
  if (isInScan(x.getParentBlock()))
    return fail(call.where())
           << "dropout has no place within a scan: drop out what the scan goes through, or what it gives";
  Location at = place(call.where());
  Value seed = ReadOp::create(builder, at, RankedTensorType::get({2}, builder.getI32Type()),
                              getVariableName(VariableRole::Seed));
  Value step = ReadOp::create(builder, at, RankedTensorType::get({1}, builder.getI32Type()),
                              getVariableName(VariableRole::Steps));
  return make(DropoutOp::create(builder, at, x.getType(), x, seed, step, builder.getF32FloatAttr(*rate),
                                builder.getI32IntegerAttr(streams++)),
              keys);
}

Item Elaborator::normalise(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what is normalised");
  Value gain = x ? tensor(call.given[1].item, call.given[1].where, "the gain") : Value();
  Value bias = gain ? tensor(call.given[2].item, call.given[2].where, "the bias") : Value();
  std::optional<double> epsilon = call.has(3) ? real(call.given[3], "epsilon") : std::optional(1e-5);
  if (!bias || !epsilon)
    return mistake();
  auto isRow = [&](Value value) {
    return typeOf(value).getRank() == 1 && typeOf(value).hasStaticShape() && typeOf(x).getRank() == 2 &&
           typeOf(value).getDimSize(0) == typeOf(x).getDimSize(1);
  };
  if (!isRow(gain) || !isRow(bias))
    return fail(call.where()) << "normalise() takes rows, and a gain and a bias of their width, but here are "
                              << describe(call.given[0].item) << ", " << describe(call.given[1].item) << " and "
                              << describe(call.given[2].item);
  RankedTensorType perRow = getDimType(typeOf(x), 0, builder.getF32Type());
  auto op = LayerNormOp::create(builder, place(call.where()), TypeRange{x.getType(), perRow, perRow}, x, gain, bias,
                                builder.getF32FloatAttr(*epsilon));
  return make(op.getResult());
}

Item Elaborator::crossEntropy(BuiltinCall &call) {
  const TensorItem *scores = scoresOrNull(call.given[0].item);
  Value logits = scores ? rowsOfScores(*scores, call.where())
                        : tensor(call.given[0].item, call.given[0].where, "what cross entropy is of");
  Value targets = logits ? tensor(call.given[1].item, call.given[1].where, "the targets of cross entropy") : Value();
  std::optional<double> smoothing = call.has(2) ? real(call.given[2], "the smoothing of labels") : std::optional(0.0);
  if (!targets || !smoothing)
    return mistake();
  if (*smoothing < 0 || *smoothing >= 1)
    return fail(call.given[2].where) << "the smoothing of labels is from 0 to below 1, not "
                                     << describe(call.given[2].item);
  if (scores && *smoothing > 0)
    return fail(call.given[2].where) << "a choice among the keys of each query has no smoothing of labels";
  // If there are logits for all tokens but targets only for labelled tokens, take the logits of labelled tokens.
  if (Side *side = findSide(typeOf(logits));
      side && side->labelled && typeOf(logits).getRank() == 2 && getSizeName(typeOf(targets), 0) == side->labels) {
    Value labelled = import(side->labelled);
    RankedTensorType type = getTypeOfDims({{typeOf(labelled), 0}, {typeOf(logits), 1}}, builder.getF32Type());
    logits = EmbeddingOp::create(builder, place(call.where()), type, labelled, logits);
  }
  if (typeOf(logits).getRank() != 2 || typeOf(targets) != getDimType(typeOf(logits), 0, builder.getI32Type()))
    return fail(call.where())
           << "cross_entropy(logits, targets) takes a row and a whole number for each of the same tokens, but "
           << "here are " << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  Type perToken = getDimType(typeOf(logits), 0, builder.getF32Type());
  auto op = CrossEntropyOp::create(builder, place(call.where()), perToken, perToken, logits, targets,
                                   builder.getF32FloatAttr(*smoothing));
  return make(op.getLoss());
}
