// Operators of a model text. Constants are computed at once; tensors become ops of arith, math and the heddle dialect.
#include "compiler/Model/Language/Elaborator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

//===-- What items are called in errors -------------------------------------------------------------------------===//

static std::string show(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
  return text;
}

static std::string describeShape(ArrayRef<int64_t> shape) {
  if (shape.size() == 1)
    return "a row of " + std::to_string(shape[0]) + " numbers";
  std::string text = "a matrix of ";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? " x " : "") + std::to_string(extent);
  return text;
}

std::string Elaborator::describe(const Item &item) {
  if (const auto *number = item.as<NumberItem>())
    return show(number->value);
  if (const bool *flag = item.as<bool>())
    return *flag ? "true" : "false";
  if (const auto *text = item.as<std::string>())
    return "\"" + *text + "\"";
  if (item.as<WeightStart>())
    return "the start of a weight";
  if (const auto *weight = item.as<std::shared_ptr<WeightItem>>())
    return "the weight '" + (*weight)->name + "', " + describeShape((*weight)->shape);
  if (const auto *row = item.as<std::shared_ptr<RowItem>>())
    return "a row of " + std::to_string((*row)->values.size()) + " numbers";
  if (item.as<BlockItem>())
    return "a block";
  if (const auto *list = item.as<ListItem>())
    return list->empty() ? "nothing" : "a list of " + std::to_string(list->size()) + " values";
  const auto *tensor = item.as<TensorItem>();
  if (!tensor)
    return "a mistake";
  auto type = dyn_cast<RankedTensorType>(tensor->value.getType());
  if (!type)
    return tensor->value.getType().isInteger(1) ? "a condition on indices" : "an index";
  std::string rows = describeRows(type);
  if (rows.empty())
    return (tensor->isTransposed ? "the transpose of " : "") + describeShape(type.getShape());
  if (tensor->keys && typeOf(tensor->value).getRank() == 2)
    return "the neighbours" + rows;
  if (tensor->keys)
    return "a score of each head and each token of '" + tensor->keys->name + "'" + rows;
  if (type.getRank() == 1)
    return (type.getElementType().isInteger(32) ? "a whole number" : "a number") + rows;
  if (type.getRank() == 3)
    return std::to_string(type.getDimSize(1)) + " heads of " + std::to_string(type.getDimSize(2)) + " numbers" + rows;
  return "a row of " + std::to_string(type.getDimSize(1)) + " numbers" + rows;
}

//===-- Constants -----------------------------------------------------------------------------------------------===//

Item Elaborator::computeNumbers(StringRef symbol, const NumberItem &a, const NumberItem &b, LocationAttr where) {
  bool whole = a.isWhole && b.isWhole;
  double value = 0;
  if (symbol == "+")
    value = a.value + b.value;
  else if (symbol == "-")
    value = a.value - b.value;
  else if (symbol == "*")
    value = a.value * b.value;
  else if (symbol == "^")
    value = std::pow(a.value, b.value), whole &= b.value >= 0;
  else if (b.value == 0) {
    return fail(where) << show(a.value) << " is divided by zero";
  } else if (symbol == "/") {
    value = a.value / b.value;
    whole &= value == std::floor(value);
  } else if (symbol == "%") {
    value = a.value - b.value * std::floor(a.value / b.value);
  }
  if (!std::isfinite(value))
    return fail(where) << show(a.value) << " " << symbol << " " << show(b.value) << " is no number";
  return NumberItem{value, whole};
}

Item Elaborator::compareConstants(StringRef symbol, const Item &a, const Item &b, LocationAttr where) {
  if (symbol == "==" || symbol == "!=") {
    bool same = false;
    if (const auto *x = a.as<std::string>(), *y = b.as<std::string>(); x && y)
      same = *x == *y;
    else if (const auto *x = a.as<bool>(), *y = b.as<bool>(); x && y)
      same = *x == *y;
    else if (const auto *x = a.as<NumberItem>(), *y = b.as<NumberItem>(); x && y)
      same = x->value == y->value;
    else
      return fail(where) << describe(a) << " and " << describe(b) << " are of different kinds; '" << symbol
                         << "' compares two numbers, two strings or two flags";
    return same == (symbol == "==");
  }
  const auto *x = a.as<NumberItem>(), *y = b.as<NumberItem>();
  if (!x || !y)
    return fail(where) << "'" << symbol << "' compares two numbers, not " << describe(a) << " and " << describe(b);
  return llvm::StringSwitch<bool>(symbol)
      .Case("<", x->value < y->value)
      .Case("<=", x->value <= y->value)
      .Case(">", x->value > y->value)
      .Default(x->value >= y->value);
}

static bool isComparison(StringRef symbol) { return llvm::is_contained({"==", "!=", "<", "<=", ">", ">="}, symbol); }

Item Elaborator::negate(const Expression &expression, Scope &scope) {
  Item operand = evaluate(*expression.operands[0], scope);
  if (const auto *constant = operand.as<NumberItem>())
    return NumberItem{-constant->value, constant->isWhole};
  if (operand.isMistake())
    return mistake();
  return computeTensors("*", operand, number(-1), expression.where);
}

Item Elaborator::binary(const Expression &expression, const Item &a, Scope &scope) {
  StringRef symbol = expression.text;
  // Short-circuit `and` and `or`, as in `window > 0 and d_model % window == 0`.
  if (const bool *left = a.as<bool>(); left && (symbol == "and" || symbol == "or") && *left == (symbol == "or"))
    return *left;
  Item b = evaluate(*expression.operands[1], scope);
  if (a.isMistake() || b.isMistake())
    return mistake();
  if (isTensor(a) || isTensor(b))
    return symbol == "@" ? product(a, b, expression.where) : computeTensors(symbol, a, b, expression.where);
  if (symbol == "and" || symbol == "or") {
    std::optional<bool> left = flag({a, expression.operands[0]->where}, "what stands before '" + symbol + "'");
    std::optional<bool> right = flag({b, expression.operands[1]->where}, "what stands behind '" + symbol + "'");
    return left && right ? Item(*right) : mistake();
  }
  if (isComparison(symbol))
    return compareConstants(symbol, a, b, expression.where);
  const auto *x = a.as<NumberItem>(), *y = b.as<NumberItem>();
  if (x && y && symbol != "@")
    return computeNumbers(symbol, *x, *y, expression.where);
  // A string and a string or a number, as in "layers." + layer.
  const auto *before = a.as<std::string>(), *behind = b.as<std::string>();
  if (symbol == "+" && (before || behind) && (before || x) && (behind || y))
    return (before ? *before : show(x->value)) + (behind ? *behind : show(y->value));
  return fail(expression.where) << "'" << symbol << "' has no meaning for " << describe(a) << " and " << describe(b);
}

//===-- Tensors -------------------------------------------------------------------------------------------------===//

Value Elaborator::fill(RankedTensorType type, double value, LocationAttr where) {
  Type element = type.getElementType();
  if (isa<FloatType>(element) ? !fitsFloat(value, where) : std::abs(value) > INT32_MAX) {
    if (!isa<FloatType>(element))
      fail(where) << describe(number(value)) << " is beyond the whole numbers of 32 bits, which go to " << INT32_MAX;
    value = 0; // so that evaluation goes on
  }
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                           : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return FillOp::create(builder, place(where), type, attr);
}

Value Elaborator::widen(const Item &item, RankedTensorType like, LocationAttr where, bool areScores) {
  if (const auto *constant = item.as<NumberItem>()) {
    if (like.getElementType().isInteger(32) && constant->value != std::floor(constant->value))
      return {};
    return fill(like, constant->value, where);
  }
  Value value = tensorOrNull(item, where);
  if (!value || !isa<RankedTensorType>(value.getType()))
    return {};
  RankedTensorType type = typeOf(value);
  if (type == like)
    return value;
  bool hasHeads = like.getRank() == 3 && !areScores;
  bool isNumber = updated && type.getShape() == ArrayRef<int64_t>{1};
  bool isRow = type.getRank() == 1 && type.hasStaticShape() && (like.getRank() == 2 || hasHeads) &&
               type.getDimSize(0) == like.getShape().back();
  bool isOfHeads =
      type.getRank() == 2 && hasHeads && type == getTypeOfDims({{like, 0}, {like, 1}}, type.getElementType());
  bool isColumn = type.getRank() == 1 && !type.hasStaticShape() && like.getRank() > 1 &&
                  type == getDimType(like, 0, type.getElementType());
  if (isNumberOfMatrices(type) && like.getRank() == 2 && like.getDimSize(0) % updated->matrices == 0)
    return widenOverMatrices(value, like, where);
  if ((!isNumber && !isRow && !isColumn && !isOfHeads) || type.getElementType() != like.getElementType())
    return {};
  return BroadcastOp::create(builder, place(where), like, value);
}

template <typename T> struct Of {
  using Op = T;
};

static std::optional<arith::CmpIPredicate> wholePredicate(StringRef symbol) {
  return llvm::StringSwitch<std::optional<arith::CmpIPredicate>>(symbol)
      .Case("==", arith::CmpIPredicate::eq)
      .Case("!=", arith::CmpIPredicate::ne)
      .Case("<", arith::CmpIPredicate::slt)
      .Case("<=", arith::CmpIPredicate::sle)
      .Case(">", arith::CmpIPredicate::sgt)
      .Case(">=", arith::CmpIPredicate::sge)
      .Default(std::nullopt);
}

Item Elaborator::computeTensors(StringRef symbol, const Item &a, const Item &b, LocationAttr where) {
  auto refuse = [&](const Twine &advice) {
    return fail(where) << "'" << symbol << "' has no meaning for " << describe(a) << " and " << describe(b) << advice;
  };
  for (const Item *item : {&a, &b})
    if (const auto *tensor = item->as<TensorItem>(); tensor && tensor->isTransposed)
      return refuse("; a transposed matrix is the right side of a product, x @ transpose(m)");
  auto constant = [](const Item &item) { return item.as<NumberItem>(); };
  Value left = constant(a) ? Value() : tensorOrNull(a, where);
  Value right = constant(b) ? Value() : tensorOrNull(b, where);
  if ((!left && !constant(a)) || (!right && !constant(b)))
    return refuse("");
  Type someType = (left ? left : right).getType();
  if (!isa<RankedTensorType>(someType)) { // indices in a region
    auto scalar = [&](const Item &item, Value value) -> Value {
      const NumberItem *number = constant(item);
      if (!number)
        return value;
      if (!someType.isInteger(32) || number->value != std::floor(number->value) || std::abs(number->value) > INT32_MAX)
        return {};
      return arith::ConstantOp::create(builder, place(where),
                                       builder.getI32IntegerAttr(static_cast<int32_t>(number->value)));
    };
    left = scalar(a, left), right = scalar(b, right);
    if (!left || !right || left.getType() != right.getType())
      return refuse("");
    return computeScalars(symbol, left, right, where);
  }
  if ((left && !isa<RankedTensorType>(left.getType())) || (right && !isa<RankedTensorType>(right.getType())))
    return refuse("");

  // The operand of higher rank determines the shape.
  RankedTensorType leftType = left ? typeOf(left) : RankedTensorType(), rightType = right ? typeOf(right) : leftType;
  if (!leftType)
    leftType = rightType;
  bool leftIsNumber = isNumberOfUpdate(leftType) && !(isNumberOfMatrices(leftType) && isNumberOfUpdate(rightType));
  bool leftIsLarger = leftType.getRank() >= rightType.getRank() && !leftIsNumber;
  RankedTensorType type = leftIsLarger ? leftType : rightType;
  if (symbol == "^") {
    const NumberItem *exponent = constant(b);
    if (!left || !exponent || exponent->value != 2)
      return refuse("; of a tensor, '^ 2' alone is there");
    right = left;
  }
  const Side *keys = a.keys() ? a.keys() : b.keys();
  if (!left || leftType != type)
    left = widen(a, type, where, /*areScores=*/keys);
  if (!right || rightType != type)
    right = widen(b, type, where, /*areScores=*/keys);
  if (!left || !right) {
    if (leftType.getRank() == 3 && rightType.getRank() == 3 && leftType.getDimSize(1) != rightType.getDimSize(1))
      return refuse("; they are of " + Twine(leftType.getDimSize(1)) + " and of " + Twine(rightType.getDimSize(1)) +
                    " heads");
    Side *ofLeft = findSide(leftType), *ofRight = findSide(rightType);
    return refuse(ofLeft && ofRight && ofLeft != ofRight
                      ? "; attention brings what one text says to the tokens of the other"
                      : "");
  }
  if (a.keys() && b.keys() && a.keys() != b.keys())
    return refuse("");

  Location at = place(where);
  bool isFloat = isa<FloatType>(type.getElementType());
  // Creates the op for floats or the op for integers.
  auto both = [&](auto ofFloats, auto ofIntegers) -> Item {
    using OfFloats = typename decltype(ofFloats)::Op;
    using OfIntegers = typename decltype(ofIntegers)::Op;
    if (isFloat)
      return make(OfFloats::create(builder, at, left, right), keys);
    return make(OfIntegers::create(builder, at, left, right), keys);
  };
  // A constant factor is always the second operand, because passes expect it there.
  if (symbol == "*" && constant(a))
    std::swap(left, right);
  if (symbol == "+")
    return both(Of<arith::AddFOp>(), Of<arith::AddIOp>());
  if (symbol == "-")
    return both(Of<arith::SubFOp>(), Of<arith::SubIOp>());
  if (symbol == "*" || symbol == "^")
    return both(Of<arith::MulFOp>(), Of<arith::MulIOp>());
  if (symbol == "/" && isFloat) {
    // Multiplying by the reciprocal of a constant is faster than dividing by the constant.
    if (const NumberItem *divisor = constant(b);
        divisor && std::abs(divisor->value) < 1 / static_cast<double>(std::numeric_limits<float>::max()))
      return refuse("; the divisor is too small for numbers of 32 bits");
    else if (divisor)
      return make(arith::MulFOp::create(builder, at, left, fill(type, 1 / divisor->value, where)), keys);
    return make(arith::DivFOp::create(builder, at, left, right), keys);
  }
  return refuse("");
}

Item Elaborator::computeScalars(StringRef symbol, Value a, Value b, LocationAttr where) {
  Location at = place(where);
  if (a.getType().isInteger(1)) {
    if (symbol == "and")
      return make(arith::AndIOp::create(builder, at, a, b));
    if (symbol == "or")
      return make(arith::OrIOp::create(builder, at, a, b));
  } else if (a.getType().isInteger(32)) {
    if (symbol == "+")
      return make(arith::AddIOp::create(builder, at, a, b));
    if (symbol == "-")
      return make(arith::SubIOp::create(builder, at, a, b));
    if (symbol == "*")
      return make(arith::MulIOp::create(builder, at, a, b));
    if (std::optional<arith::CmpIPredicate> predicate = wholePredicate(symbol))
      return make(arith::CmpIOp::create(builder, at, *predicate, a, b));
  }
  return fail(where) << "'" << symbol << "' has no meaning for " << describe(make(a)) << " and " << describe(make(b));
}

/// rows @ matrix, or attention's weights @ values.
Item Elaborator::product(const Item &a, const Item &b, LocationAttr where) {
  if (const auto *weight = b.as<std::shared_ptr<WeightItem>>(); weight && (*weight)->shape.size() == 3)
    return productOfExperts(a, **weight, where);
  Value left = tensorOrNull(a, where), right = tensorOrNull(b, where);
  auto refuse = [&](const Twine &advice) {
    return fail(where) << "'@' multiplies rows by a matrix, or weights of pairs by a row for each key, but here are "
                       << describe(a) << " and " << describe(b) << advice;
  };
  const auto *leftItem = a.as<TensorItem>(), *rightItem = b.as<TensorItem>();
  if (!left || !right || !isa<RankedTensorType>(left.getType()) || !isa<RankedTensorType>(right.getType()))
    return refuse("");
  RankedTensorType leftType = typeOf(left), rightType = typeOf(right);
  bool isTransposed = rightItem && rightItem->isTransposed;
  bool leftIsTransposed = leftItem && leftItem->isTransposed;
  if (leftIsTransposed && !updated)
    return refuse("; transpose() is for the right side");
  if (scoresOrNull(a))
    return isTransposed ? refuse("") : contextOf(*leftItem, b, where);
  if (leftType.getRank() != 2 || rightType.getRank() != 2 || !rightType.hasStaticShape())
    return refuse("");
  if (updated && updated->matrices > 1) {
    Value products = productOfMatrices(left, leftIsTransposed, right, isTransposed, where);
    return products ? make(products) : refuse("; each expert's matrices are multiplied by themselves");
  }
  int64_t inner = rightType.getDimSize(isTransposed ? 1 : 0), columns = leftType.getDimSize(leftIsTransposed ? 0 : 1);
  if (columns != inner)
    return refuse("; " + std::to_string(columns) + " columns do not meet " + std::to_string(inner) + " rows");
  RankedTensorType type =
      getTypeOfDims({{leftType, leftIsTransposed ? 1 : 0}, {rightType, isTransposed ? 0 : 1}}, builder.getF32Type());
  return make(MatmulOp::create(builder, place(where), type, left, right, leftIsTransposed, isTransposed));
}
