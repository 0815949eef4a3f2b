// The part `update` of an optimizer's text: the step on one weight, as a function of the module. The text is evaluated
// for each shape and role of weights, so it may choose a rule by them.
#include "compiler/Model/Language/Parts.h"
#include "compiler/Model/Language/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

LogicalResult ModelText::elaborateUpdate(ModuleOp module, StringRef name, const UpdatedWeight &weight,
                                         const Settings &values) const {
  return Elaborator(*this, module, Limits()).runUpdate(name, weight, values);
}

/// Returns true for ops that kernels of an update are made of.
static bool isOfUpdate(Operation &op) {
  return isa<FillOp, BroadcastOp, SumOp, MatmulOp, GroupedMatmulOp, ReshapeOp, NumbersOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(&op);
}

LogicalResult Elaborator::runUpdate(StringRef function, const UpdatedWeight &weight, const Settings &values) {
  const Part &syntax = *model.findUpdate();
  for (const auto &entry : values)
    file.items[entry.getKey().str()] = toItem(entry.getValue());
  for (const std::shared_ptr<Text> &text : model.texts)
    for (const Statement &statement : text->statements)
      evaluateStatement(statement, file);
  if (failed)
    return failure();
  if (syntax.inputs.size() != 2)
    return fail(syntax.name.where)
           << "'update' takes a weight and its gradient; write `update(weight, gradient) { ... }`";
  parts.push_back(std::make_unique<PartState>());
  part = parts.back().get();
  part->syntax = &syntax;
  part->scope.outer = &file;
  updated = &weight;
  builder.setInsertionPointToEnd(module.getBody());
  part->function =
      func::FuncOp::create(builder, Location(syntax.name.where), function, builder.getFunctionType({}, {}));
  part->function.setPrivate();
  part->function->setAttr(kUpdateAttrName, builder.getUnitAttr());
  builder.setInsertionPointToStart(part->function.addEntryBlock());

  auto type = RankedTensorType::get(weight.shape, builder.getF32Type());
  auto scalar = RankedTensorType::get({1}, builder.getF32Type());
  for (auto [input, name] : llvm::zip_equal(syntax.inputs, ArrayRef<StringRef>{"weight", "gradient"}))
    part->scope.items[input.text] = make(addNamedPort(name, /*role=*/"", type, /*limit=*/0, input.where));
  std::map<std::string, Item, std::less<>> &items = file.items; // definitions see them, too
  items["role"] = weight.role.str();
  items["rank"] = wholeNumber(type.getRank());
  items["rows"] = wholeNumber(type.getRank() == 1 ? 1 : type.getDimSize(0));
  items["matrices"] = wholeNumber(weight.matrices);
  items["columns"] = wholeNumber(type.getShape().back());
  items["weight_decay"] = number(weight.weightDecay);
  std::vector<Name> states;
  if (!addStates(syntax, states))
    return failure();
  for (StringRef name : {StringRef("rate"), StringRef(kStep)})
    items[name.str()] = make(addNamedPort(name, /*role=*/"", scalar, /*limit=*/0, syntax.name.where));
  Item item = evaluateBlock(*syntax.body, part->scope);
  if (!item.isMistake())
    addNewStates(syntax, states, item);
  if (failed)
    return failure();
  for (Operation &op : part->function.getOps())
    if (!isOfUpdate(op))
      return fail(syntax.name.where) << "an update computes with the weight, its gradient, its states and numbers by "
                                     << "arithmetic, sums and products of matrices, not with '" << op.getName() << "'";
  finishParts();
  return success();
}

/// Adds the states of this weight as arguments, and appends their names. A state without an initial value, such as
/// `if rank == 2 { zeros(weight) }` for a vector, is left out.
bool Elaborator::addStates(const Part &syntax, std::vector<Name> &names) {
  for (const State &state : syntax.states) {
    Item start = evaluate(*state.start, part->scope);
    const auto *nothing = start.as<ListItem>();
    if (start.isMistake() || (nothing && nothing->empty()))
      continue;
    const auto *zeros = start.as<TensorItem>();
    auto fillOp = zeros ? zeros->value.getDefiningOp<FillOp>() : FillOp();
    if (!fillOp) {
      fail(state.start->where)
          << "a state of an update starts as zeros(weight), zeros(rows), zeros(columns) or zeros(1), "
          << "not as " << describe(start);
      continue;
    }
    if (llvm::any_of(names, [&](const Name &name) { return name.text == state.name.text; })) {
      fail(state.name.where) << "the update has a state '" << state.name.text << "' already; rename either";
      continue;
    }
    names.push_back(state.name);
    part->scope.items[state.name.text] =
        make(addNamedPort(state.name.text, /*role=*/"", fillOp.getType(), /*limit=*/0, state.name.where));
  }
  return !failed;
}

/// Takes the value of the part, the new weight and the new states, as the function's results.
void Elaborator::addNewStates(const Part &syntax, ArrayRef<Name> names, const Item &item) {
  LocationAttr where = syntax.body->statements.back().value->where;
  ListItem values = item.as<ListItem>() ? *item.as<ListItem>() : ListItem{item};
  std::string of = " (for the weight '" + updated->name + "')";
  if (values.size() != names.size() + 1) {
    std::string states;
    for (const Name &name : names)
      states += (states.empty() ? "" : ", ") + name.text;
    fail(where) << "the last line of 'update' is the new weight"
                << (names.empty() ? "" : " and the new states " + states + ", in this order,") << " but here is "
                << describe(item) << of;
    return;
  }
  Block &block = part->function.getBody().front();
  for (auto [i, value] : llvm::enumerate(values)) {
    // The first argument is the weight, the second the gradient.
    auto type = cast<RankedTensorType>(block.getArgument(i == 0 ? 0 : static_cast<unsigned>(i) + 1).getType());
    std::string name = i == 0 ? "weight" : names[i - 1].text;
    Value result = value.as<NumberItem>() ? widen(value, type, where) : tensorOrNull(value, where);
    if (!result || result.getType() != type) {
      if (!value.isMistake())
        fail(where) << "the new " << (i == 0 ? "weight" : "state '" + name + "'") << " should be "
                    << describe(make(block.getArgument(i == 0 ? 0 : static_cast<unsigned>(i) + 1)))
                    << ", as before, but is " << describe(value) << of;
      return;
    }
    part->results.push_back({"new_" + name, result});
  }
}

/// zeros(weight), or zeros(count) for a row of numbers: the initial value of a state of an update.
Item Elaborator::zerosOfState(BuiltinCall &call) {
  const Item &like = call.given[0].item;
  if (const auto *tensor = like.as<TensorItem>())
    return make(fill(typeOf(tensor->value), 0, call.where()));
  std::optional<int64_t> count = whole(call.given[0], "the count of zeros()");
  if (!count)
    return mistake();
  return make(fill(RankedTensorType::get({*count}, builder.getF32Type()), 0, call.where()));
}

bool Elaborator::isNumberOfUpdate(RankedTensorType type) const {
  return updated && (type.getShape() == ArrayRef<int64_t>{1} || isNumberOfMatrices(type));
}

bool Elaborator::isNumberOfMatrices(RankedTensorType type) const {
  return updated && updated->matrices > 1 && type.getShape() == ArrayRef<int64_t>{1, updated->matrices};
}

/// The sum of all numbers of a matrix. If there is a matrix for each expert, a row with the sum of each matrix.
Item Elaborator::sumOfMatrix(Value x, LocationAttr where) {
  Location at = place(where);
  int64_t matrices = updated->matrices, rows = typeOf(x).getDimSize(0) / matrices;
  auto shape = [&](int64_t m, int64_t n) { return RankedTensorType::get({m, n}, builder.getF32Type()); };
  auto sums = [&](Value x) -> Value { // of rows, as a row
    Value ones = fill(shape(1, typeOf(x).getDimSize(1)), 1, where);
    return MatmulOp::create(builder, at, shape(1, typeOf(x).getDimSize(0)), ones, x, /*transpose_lhs=*/false,
                            /*transpose_rhs=*/true);
  };
  Value ofRows = sums(x);
  if (matrices > 1)
    return make(sums(ReshapeOp::create(builder, at, shape(matrices, rows), ofRows)));
  Value row = ReshapeOp::create(builder, at, RankedTensorType::get({rows}, builder.getF32Type()), ofRows);
  return make(SumOp::create(builder, at, RankedTensorType::get({1}, builder.getF32Type()), row, /*columns=*/true));
}

/// Repeats the number of each expert's matrix in the expert's part of `like`.
Value Elaborator::widenOverMatrices(Value numbers, RankedTensorType like, LocationAttr where) {
  Location at = place(where);
  int64_t matrices = updated->matrices, ofMatrix = like.getNumElements() / matrices;
  auto shape = [&](int64_t m, int64_t n) { return RankedTensorType::get({m, n}, builder.getF32Type()); };
  Value column = ReshapeOp::create(builder, at, shape(matrices, 1), numbers);
  Value wide = MatmulOp::create(builder, at, shape(matrices, ofMatrix), column, fill(shape(1, ofMatrix), 1, where),
                                /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  return ReshapeOp::create(builder, at, like, wide);
}

/// The matmul of each expert's matrices. Returns null if the shapes do not fit.
Value Elaborator::productOfMatrices(Value left, bool transposeLeft, Value right, bool transposeRight,
                                    LocationAttr where) {
  RankedTensorType leftType = typeOf(left), rightType = typeOf(right);
  int64_t matrices = updated->matrices, rowsOfLeft = leftType.getDimSize(0) / matrices,
          rowsOfRight = rightType.getDimSize(0) / matrices;
  bool areWhole = leftType.getDimSize(0) % matrices == 0 && rightType.getDimSize(0) % matrices == 0;
  int64_t inner = transposeLeft ? rowsOfLeft : leftType.getDimSize(1);
  if (!areWhole || (transposeLeft && transposeRight) ||
      inner != (transposeRight ? rightType.getDimSize(1) : rowsOfRight))
    return {};
  Location at = place(where);
  SmallVector<float> starts;
  for (int64_t i = 0; i <= matrices; ++i)
    starts.push_back(static_cast<float>(i * rowsOfLeft));
  auto count = static_cast<int64_t>(starts.size());
  Value numbers = NumbersOp::create(builder, at, RankedTensorType::get({count}, builder.getF32Type()), starts);
  Value begins = arith::FPToSIOp::create(builder, at, RankedTensorType::get({count}, builder.getI32Type()), numbers);
  auto type = RankedTensorType::get({(transposeLeft ? leftType.getDimSize(1) : rowsOfLeft) * matrices,
                                     transposeRight ? rowsOfRight : rightType.getDimSize(1)},
                                    builder.getF32Type());
  return GroupedMatmulOp::create(builder, at, type, left, right, begins, transposeLeft, transposeRight);
}

/// sum(x): the sum of each row of a matrix, or of all numbers of a row. sum(x, over = "rows"): of each column.
/// sum(x, over = "all"): of the matrix.
Item Elaborator::sumOfWeight(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what is summed");
  if (!x)
    return mistake();
  RankedTensorType type = typeOf(x);
  Location at = place(call.where());
  const auto *over = call.has(1) ? call.given[1].item.as<std::string>() : nullptr;
  if (type.getRank() == 3) { // several matrices, whose rows stand below each other
    auto rows =
        RankedTensorType::get({type.getDimSize(0) * type.getDimSize(1), type.getDimSize(2)}, builder.getF32Type());
    x = ReshapeOp::create(builder, at, rows, x);
    type = rows;
  }
  bool isKnown = over && (*over == "rows" || *over == "all") && type.getRank() == 2;
  if (type.getRank() > 2 || (call.has(1) && !isKnown))
    return fail(call.where()) << "in an update sum(x) is of the numbers of a row or of each row of a matrix, "
                              << "sum(x, over = \"rows\") of each column of a matrix, and sum(x, over = \"all\") of "
                              << "all numbers of a matrix, not of " << describe(call.given[0].item);
  if (over && *over == "all")
    return sumOfMatrix(x, call.where());
  auto row = [&](int64_t count) { return RankedTensorType::get({count}, builder.getF32Type()); };
  if (type.getRank() == 1)
    return make(SumOp::create(builder, at, row(1), x, /*columns=*/true));
  if (over)
    return make(SumOp::create(builder, at, row(type.getDimSize(1)), x, /*columns=*/false));
  // Kernels treat a vector of static extent as a row, so a matmul with a row of ones makes the sums as a row.
  Value ones = fill(RankedTensorType::get({1, type.getDimSize(1)}, builder.getF32Type()), 1, call.where());
  auto sums = RankedTensorType::get({1, type.getDimSize(0)}, builder.getF32Type());
  Value product = MatmulOp::create(builder, at, sums, ones, x, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  return make(ReshapeOp::create(builder, at, row(type.getDimSize(0)), product));
}

/// outer(a, b): the matrix of the products of each number of `a` and each number of `b`.
Item Elaborator::outerProduct(BuiltinCall &call) {
  auto rowOf = [&](size_t i) -> Value {
    Value x = updated ? tensor(call.given[i].item, call.given[i].where, "what outer() takes") : Value();
    return x && typeOf(x).getRank() == 1 && typeOf(x).hasStaticShape() ? x : Value();
  };
  Value a = rowOf(0), b = a ? rowOf(1) : Value();
  if (!b)
    return failed ? Item()
                  : fail(call.where()) << "outer(a, b) makes a matrix of two rows of numbers in an update, not of "
                                       << describe(call.given[0].item) << " and " << describe(call.given[1].item);
  int64_t rows = typeOf(a).getDimSize(0), columns = typeOf(b).getDimSize(0);
  Location at = place(call.where());
  auto shape = [&](int64_t m, int64_t n) { return RankedTensorType::get({m, n}, builder.getF32Type()); };
  Value left = ReshapeOp::create(builder, at, shape(rows, 1), a);
  Value right = ReshapeOp::create(builder, at, shape(1, columns), b);
  return make(MatmulOp::create(builder, at, shape(rows, columns), left, right, /*transpose_lhs=*/false,
                               /*transpose_rhs=*/false));
}

/// sign(x): 1 for positive numbers, -1 for negative ones, else 0.
Item Elaborator::signOf(BuiltinCall &call) {
  const Given &x = call.given[0];
  if (const auto *constant = x.item.as<NumberItem>())
    return wholeNumber(constant->value > 0 ? 1 : constant->value < 0 ? -1 : 0);
  Value value = tensor(x.item, x.where, "what 'sign' is of");
  if (!value)
    return mistake();
  if (!typeOf(value).getElementType().isF32())
    return fail(x.where) << "there is no 'sign' of " << describe(x.item);
  Location at = place(call.where());
  Value zero = fill(typeOf(value), 0, call.where());
  auto where = [&](arith::CmpFPredicate predicate, double then, Value otherwise) -> Value {
    Value holds = arith::CmpFOp::create(builder, at, predicate, value, zero);
    return arith::SelectOp::create(builder, at, holds, fill(typeOf(value), then, call.where()), otherwise);
  };
  Value negative = where(arith::CmpFPredicate::OLT, -1, zero);
  return make(where(arith::CmpFPredicate::OGT, 1, negative), x.item.keys());
}
