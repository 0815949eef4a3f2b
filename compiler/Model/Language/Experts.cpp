// Built-in functions of mixtures of experts: the columns that a row chooses, and what the chosen experts compute.
#include "compiler/Model/Language/Builtins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// The rows of all choices, sorted by expert, while the block of experts() is elaborated.
struct Elaborator::Choices {
  std::string size; // the run-time size: the number of choices
  int64_t experts;
  Value starts, expertOf;
};

static bool areRowsOf(RankedTensorType type, Type element) {
  return type.getRank() == 2 && type.isDynamicDim(0) && type.getElementType() == element;
}

static bool haveSameRows(RankedTensorType a, RankedTensorType b) { return getSizeName(a, 0) == getSizeName(b, 0); }

/// top_k(x, k): the columns of the k largest numbers of each row, the largest first.
Item Elaborator::topOf(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what top_k() is of");
  std::optional<int64_t> count = x ? whole(call.given[1], "the number that top_k() takes") : std::nullopt;
  if (!count)
    return mistake();
  RankedTensorType type = typeOf(x);
  if (!areRowsOf(type, builder.getF32Type()))
    return fail(call.where()) << "top_k(x, k) takes rows of numbers, not " << describe(call.given[0].item);
  if (*count > type.getDimSize(1))
    return fail(call.given[1].where) << "top_k() takes " << *count << " of " << type.getDimSize(1) << " numbers";
  auto typeOfElements = [&](Type element) {
    return RankedTensorType::get({type.getDimSize(0), *count}, element, type.getEncoding());
  };
  RankedTensorType places = typeOfElements(builder.getI32Type());
  auto best = TopKOp::create(builder, place(call.where()), typeOfElements(builder.getF32Type()), places, places, x,
                             /*starts=*/Value(), /*lengths=*/Value(), "");
  return make(best.getColumns());
}

/// Returns whole numbers for each row, such as those of top_k(). Returns null after an error.
Value Elaborator::columnsOfRows(const Given &given, StringRef function) {
  Value columns = tensor(given.item, given.where, "the choice of " + function + "()");
  if (columns && !areRowsOf(typeOf(columns), builder.getI32Type())) {
    fail(given.where) << function << "() takes columns of top_k(x, k), not " << describe(given.item);
    return {};
  }
  return columns;
}

/// select(x, columns): each row's numbers in the columns that top_k() gave.
Item Elaborator::selectColumns(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what select() is of");
  Value columns = x ? columnsOfRows(call.given[1], "select") : Value();
  if (!columns)
    return mistake();
  if (!areRowsOf(typeOf(x), builder.getF32Type()) || !haveSameRows(typeOf(x), typeOf(columns)))
    return fail(call.where()) << "select(x, columns) takes rows of numbers and columns of the same rows, not "
                              << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  auto type = RankedTensorType::get(typeOf(columns).getShape(), builder.getF32Type(), typeOf(columns).getEncoding());
  return make(PickOp::create(builder, place(call.where()), type, x, columns));
}

/// marks(columns, width): rows with a 1 in each of the columns that top_k() gave, and 0 elsewhere.
Item Elaborator::marksOf(BuiltinCall &call) {
  Value columns = columnsOfRows(call.given[0], "marks");
  std::optional<int64_t> width = columns ? whole(call.given[1], "the width of marks()") : std::nullopt;
  if (!width)
    return mistake();
  RankedTensorType type = typeOf(columns);
  auto rowsOf = [&](int64_t count) {
    return RankedTensorType::get({type.getDimSize(0), count}, builder.getF32Type(), type.getEncoding());
  };
  Value ones = fill(rowsOf(type.getDimSize(1)), 1, call.where());
  return make(PlaceOp::create(builder, place(call.where()), rowsOf(*width), ones, columns));
}

/// overall(x): the mean of the rows of all tokens of a call, repeated for each of them.
Item Elaborator::overallOf(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what overall() is of");
  if (!x)
    return mistake();
  RankedTensorType type = typeOf(x);
  if (!areRowsOf(type, builder.getF32Type()) || scanState)
    return fail(call.where()) << "overall() takes rows of tokens, outside of scans, not "
                              << describe(call.given[0].item);
  Location at = place(call.where());
  auto row = RankedTensorType::get({type.getDimSize(1)}, builder.getF32Type());
  auto scalar = RankedTensorType::get({1}, builder.getF32Type());
  Value ones = fill(getDimType(type, 0, builder.getF32Type()), 1, call.where());
  Value count = SumOp::create(builder, at, scalar, ones, /*columns=*/false);
  Value sum = SumOp::create(builder, at, row, x, /*columns=*/false);
  Value counts = type.getDimSize(1) == 1 ? count : BroadcastOp::create(builder, at, row, count).getResult();
  return make(BroadcastOp::create(builder, at, type, arith::DivFOp::create(builder, at, sum, counts)));
}

/// experts(x, chosen, weights, count) { |rows| ... }: for each row, the weighted sum of its chosen experts' results.
Item Elaborator::expertsOf(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what experts() compute on");
  Value chosen = x ? columnsOfRows(call.given[1], "experts") : Value();
  Value weights = chosen ? tensor(call.given[2].item, call.given[2].where, "the weights of experts()") : Value();
  std::optional<int64_t> count = weights ? whole(call.given[3], "the number of experts") : std::nullopt;
  if (!count)
    return mistake();
  if (!call.expression.block)
    return fail(call.where())
           << "experts(x, chosen, weights, count) { |rows| ... } needs a block for what an expert is";
  if (scanState || choices)
    return fail(call.where()) << "experts() has no place within "
                              << (scanState ? "a scan" : "the block of another one");
  RankedTensorType type = typeOf(x), ofChosen = typeOf(chosen);
  bool fits =
      areRowsOf(type, builder.getF32Type()) && haveSameRows(type, ofChosen) &&
      typeOf(weights) == RankedTensorType::get(ofChosen.getShape(), builder.getF32Type(), ofChosen.getEncoding());
  if (!fits)
    return fail(call.where())
           << "experts(x, chosen, weights, count) takes rows, and as many chosen experts and weights "
              "for each of them, not "
           << describe(call.given[0].item) << ", " << describe(call.given[1].item) << " and "
           << describe(call.given[2].item);
  int64_t ofRow = ofChosen.getDimSize(1);
  if (auto top = chosen.getDefiningOp<TopKOp>(); top && typeOf(top.getInput()).getDimSize(1) != *count)
    return fail(call.given[3].where) << "there are " << *count << " experts, but the choice is among "
                                     << typeOf(top.getInput()).getDimSize(1);

  Location at = place(call.where());
  StringRef size = getSizeName(type, 0);
  std::string sizeOfChoices = getMultipleOfSize(size, ofRow);
  declareMultiple(module, sizeOfChoices);
  // Blocks that are counted side by side have about this many choices.
  constexpr int64_t ofBlock = 256, mostBlocks = 64;
  auto declared = module.lookupSymbol<SizeOp>(size);
  int64_t most = declared ? static_cast<int64_t>(declared.getMaximum()) * ofRow : 1;
  int64_t blocks = std::clamp<int64_t>(most / ofBlock, 1, mostBlocks);
  Type i32 = builder.getI32Type();
  auto rowsOf = [&](int64_t columns, Type element) {
    return RankedTensorType::get({ShapedType::kDynamic, columns}, element,
                                 DimsAttr::get(builder.getContext(), {builder.getStringAttr(sizeOfChoices)}));
  };
  RankedTensorType column = rowsOf(1, i32);
  Value counts = CountChoicesOp::create(builder, at, RankedTensorType::get({blocks, *count}, i32), chosen);
  auto dispatch = DispatchOp::create(builder, at, ofChosen, column, getDimType(column, 0, i32),
                                     RankedTensorType::get({*count + 1}, i32), chosen, counts);
  Value tokens = dispatch.getOrder(), places = dispatch.getPlaces();
  if (ofRow > 1) {
    Value number = FillOp::create(builder, at, column, builder.getI32IntegerAttr(static_cast<int32_t>(ofRow)));
    tokens = arith::DivUIOp::create(builder, at, tokens, number);
  }
  Value rows = GatherOp::create(builder, at, rowsOf(type.getDimSize(1), builder.getF32Type()), x, tokens, places);
  Choices own{sizeOfChoices, *count, dispatch.getStarts(), dispatch.getExperts()};
  Item made;
  {
    llvm::SaveAndRestore<const Choices *> restore(choices, &own);
    made = callBlock({call.expression.block.get(), &call.scope, path}, {make(rows)}, call.where());
  }
  if (made.isMistake())
    return mistake();
  Value y = tensorOrNull(made, call.where());
  if (!y || !isa<RankedTensorType>(y.getType()) || !areRowsOf(typeOf(y), builder.getF32Type()) ||
      getSizeName(typeOf(y), 0) != sizeOfChoices)
    return fail(call.expression.block->where)
           << "the block of experts() makes a row of each of its rows, not " << describe(made);
  // The weights in the order of the rows.
  RankedTensorType ofWeights = rowsOf(1, builder.getF32Type());
  Value flat = ReshapeOp::create(builder, at, ofWeights, weights);
  Value flatPlaces = ReshapeOp::create(builder, at, column, places);
  Value sorted = GatherOp::create(builder, at, ofWeights, flat, dispatch.getOrder(), flatPlaces);
  Value wide = BroadcastOp::create(builder, at, y.getType(), asNumbers(sorted, call.where()));
  Value weighted = arith::MulFOp::create(builder, at, y, wide);
  return make(GatherOp::create(builder, at, getTypeOfDims({{type, 0}, {typeOf(y), 1}}, builder.getF32Type()), weighted,
                               places, tokens));
}

/// of_expert(table): the row of each row's expert, such as a bias.
Item Elaborator::ofExpert(BuiltinCall &call) {
  Value table = tensor(call.given[0].item, call.given[0].where, "what of_expert() is of");
  if (!table)
    return mistake();
  RankedTensorType type = typeOf(table);
  if (!choices || type.getRank() != 2 || !type.hasStaticShape() || type.getDimSize(0) != choices->experts)
    return fail(call.where())
           << "of_expert() takes a weight with a row for each expert, within the block of experts(), "
              "not "
           << describe(call.given[0].item);
  RankedTensorType result = getTypeOfDims({{typeOf(choices->expertOf), 0}, {type, 1}}, builder.getF32Type());
  return make(EmbeddingOp::create(builder, place(call.where()), result, choices->expertOf, table));
}

/// rows @ weight, for a weight with a matrix for each expert.
Item Elaborator::productOfExperts(const Item &a, const WeightItem &weight, LocationAttr where) {
  Value rows = tensorOrNull(a, where);
  auto type = rows ? dyn_cast<RankedTensorType>(rows.getType()) : RankedTensorType();
  const std::vector<int64_t> shape(weight.shape.begin(), weight.shape.end());
  if (!type || !choices || !areRowsOf(type, builder.getF32Type()) || getSizeName(type, 0) != choices->size)
    return fail(where) << "the weight '" << weight.name
                       << "' has a matrix for each expert: it multiplies the rows of a "
                       << "block of experts(), not " << describe(a);
  if (shape[0] != choices->experts || shape[1] != type.getDimSize(1))
    return fail(where) << "the weight '" << weight.name << "' has " << shape[0] << " matrices with " << shape[1]
                       << " rows; here are " << choices->experts << " experts and rows of " << type.getDimSize(1)
                       << " numbers";
  Value matrices = readWeight(weight, where);
  auto result = RankedTensorType::get({type.getDimSize(0), shape[2]}, builder.getF32Type(), type.getEncoding());
  return make(GroupedMatmulOp::create(builder, place(where), result, rows, matrices, choices->starts,
                                      /*transpose_lhs=*/false, /*transpose_rhs=*/false));
}
