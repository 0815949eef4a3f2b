// arith and math, on tensors and on single numbers.
#include "compiler/Reference/Registry.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

/// Rounds a number to the nearest f16 or bf16. A number of type f32 stays an f64.
static double round(double number, Type type) {
  if (!type.isF16() && !type.isBF16())
    return number;
  APFloat value(number);
  bool losesInfo;
  value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

/// Wraps an integer to the bits of its type. One bit gives 0 or 1, more bits are signed.
static double wrap(int64_t number, Type type) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (bits == 1)
    return static_cast<double>(number & 1);
  return static_cast<double>(bits < 64 ? llvm::SignExtend64(static_cast<uint64_t>(number), bits) : number);
}

/// The same bits as an unsigned number.
static uint64_t unsignedOf(double number, Type type) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto value = static_cast<uint64_t>(static_cast<int64_t>(number));
  return bits < 64 ? value & ((uint64_t(1) << bits) - 1) : value;
}

/// The same bits as a signed number. One bit gives 0 or -1.
static int64_t signedOf(double number, Type type) {
  auto value = static_cast<int64_t>(number);
  return type.isInteger(1) ? -value : value;
}

/// Applies `compute` to the operands' numbers at each index. A single number is repeated, even for operands without
/// numbers.
template <typename Compute> static void forEach(Operation *op, Frame &frame, Compute compute) {
  SmallVector<const Array *> operands;
  const Array *largest = nullptr;
  for (Value operand : op->getOperands()) {
    const Array *array = operands.emplace_back(&frame.get(operand));
    bool isLarger = !largest || array->size() > largest->size() || array->shape.size() > largest->shape.size();
    if (array->size() == 0 || (isLarger && !(largest && largest->size() == 0)))
      largest = array;
  }
  Array result(largest->shape);
  SmallVector<double> numbers(operands.size());
  for (int64_t i = 0; i < result.size(); ++i) {
    for (auto [number, operand] : llvm::zip(numbers, operands))
      number = (*operand)(operand->size() == 1 ? 0 : i);
    result(i) = compute(ArrayRef<double>(numbers));
  }
  frame.set(op->getResult(0), std::move(result));
}

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

template <typename Op> static void addFloat(Registry &registry, double (*compute)(double)) {
  registry.add<Op>([compute](Operation *op, Frame &frame) {
    forEach(op, frame, [&](ArrayRef<double> x) { return round(compute(x[0]), elementOf(op->getResult(0))); });
    return success();
  });
}

template <typename Op> static void addFloat(Registry &registry, double (*compute)(double, double)) {
  registry.add<Op>([compute](Operation *op, Frame &frame) {
    forEach(op, frame, [&](ArrayRef<double> x) { return round(compute(x[0], x[1]), elementOf(op->getResult(0))); });
    return success();
  });
}

/// Adds an op on two integers, taken as signed.
template <typename Op> static void addSigned(Registry &registry, int64_t (*compute)(int64_t, int64_t)) {
  registry.add<Op>([compute](Operation *op, Frame &frame) {
    Type type = elementOf(op->getResult(0));
    forEach(op, frame,
            [&](ArrayRef<double> x) { return wrap(compute(signedOf(x[0], type), signedOf(x[1], type)), type); });
    return success();
  });
}

template <typename Op> static void addUnsigned(Registry &registry, uint64_t (*compute)(uint64_t, uint64_t)) {
  registry.add<Op>([compute](Operation *op, Frame &frame) {
    Type type = elementOf(op->getResult(0));
    forEach(op, frame, [&](ArrayRef<double> x) {
      return wrap(static_cast<int64_t>(compute(unsignedOf(x[0], type), unsignedOf(x[1], type))), type);
    });
    return success();
  });
}

/// Adds a division, which fails if a divisor is zero.
template <typename Op> static void addDivision(Registry &registry, bool isSigned, bool isRemainder) {
  registry.add<Op>([=](Operation *op, Frame &frame) -> LogicalResult {
    Type type = elementOf(op->getResult(0));
    for (double divisor : frame.get(op->getOperand(1)).numbers)
      if (divisor == 0)
        return op->emitError() << "'" << op->getName() << "' divides by zero";
    forEach(op, frame, [&](ArrayRef<double> x) {
      if (isSigned) {
        int64_t a = signedOf(x[0], type), b = signedOf(x[1], type);
        return wrap(b == -1 ? (isRemainder ? 0 : -a) : isRemainder ? a % b : a / b, type);
      }
      uint64_t a = unsignedOf(x[0], type), b = unsignedOf(x[1], type);
      return wrap(static_cast<int64_t>(isRemainder ? a % b : a / b), type);
    });
    return success();
  });
}

static double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
static double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

static void compareFloats(arith::CmpFOp op, Frame &frame) {
  forEach(op, frame, [&](ArrayRef<double> x) -> double {
    return arith::applyCmpPredicate(op.getPredicate(), APFloat(x[0]), APFloat(x[1]));
  });
}

static void compareWholes(arith::CmpIOp op, Frame &frame) {
  Type type = elementOf(op.getLhs());
  // Extended by their signs, numbers keep their order as signed and as unsigned numbers.
  auto extended = [&](double x) { return APInt(64, static_cast<uint64_t>(signedOf(x, type)), /*isSigned=*/true); };
  forEach(op, frame, [&](ArrayRef<double> x) -> double {
    return arith::applyCmpPredicate(op.getPredicate(), extended(x[0]), extended(x[1]));
  });
}

static void choose(arith::SelectOp op, Frame &frame) {
  forEach(op, frame, [](ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; });
}

static void multiplyAdd(math::FmaOp op, Frame &frame) {
  forEach(op, frame, [](ArrayRef<double> x) { return x[0] * x[1] + x[2]; });
}

static LogicalResult constant(arith::ConstantOp op, Frame &frame) {
  auto numberOf = [](Attribute value) {
    if (auto number = dyn_cast<FloatAttr>(value))
      return number.getValueAsDouble();
    auto whole = cast<IntegerAttr>(value);
    return wrap(whole.getValue().getSExtValue(), whole.getType());
  };
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements && !isa<FloatAttr, IntegerAttr>(op.getValue()))
    return op.emitError() << "is a constant of the reference interpreter only where its numbers are written out, got "
                          << op.getValue();
  Array &result = frame.make(op.getResult());
  if (!elements)
    result(0) = numberOf(op.getValue());
  else
    for (auto [i, value] : llvm::enumerate(elements.getValues<Attribute>()))
      result(static_cast<int64_t>(i)) = numberOf(value);
  return success();
}

//===-- Conversions ---------------------------------------------------------------------------------------------===//

/// Adds an op that converts a number from one type to another.
template <typename Op> static void addConversion(Registry &registry, double (*convert)(double, Type, Type)) {
  registry.add<Op>([convert](Operation *op, Frame &frame) {
    Type from = elementOf(op->getOperand(0)), to = elementOf(op->getResult(0));
    forEach(op, frame, [&](ArrayRef<double> x) { return convert(x[0], from, to); });
    return success();
  });
}

/// Takes the same 32 bits as a number of the other kind. An f64 becomes an f32 first.
static LogicalResult bitcast(arith::BitcastOp op, Frame &frame) {
  Type from = elementOf(op.getIn()), to = elementOf(op.getOut());
  bool toWhole = from.isF32() && to.isInteger(32);
  if (!toWhole && !(from.isInteger(32) && to.isF32()))
    return op.emitError() << "has a meaning in the reference interpreter between f32 and i32 only, got " << from
                          << " and " << to;
  forEach(op, frame, [&](ArrayRef<double> x) -> double {
    if (toWhole)
      return llvm::bit_cast<int32_t>(static_cast<float>(x[0]));
    return llvm::bit_cast<float>(static_cast<int32_t>(x[0]));
  });
  return success();
}

static double towardsZero(double number) { return std::isfinite(number) ? std::trunc(number) : 0; }

void reference::addArithmetic(Registry &registry) {
  addFloat<arith::AddFOp>(registry, [](double a, double b) { return a + b; });
  addFloat<arith::SubFOp>(registry, [](double a, double b) { return a - b; });
  addFloat<arith::MulFOp>(registry, [](double a, double b) { return a * b; });
  addFloat<arith::DivFOp>(registry, [](double a, double b) { return a / b; });
  addFloat<arith::RemFOp>(registry, [](double a, double b) { return std::fmod(a, b); });
  addFloat<arith::NegFOp>(registry, [](double a) { return -a; });
  addFloat<arith::MaximumFOp>(registry, maximum);
  addFloat<arith::MinimumFOp>(registry, minimum);
  addFloat<arith::MaxNumFOp>(registry, [](double a, double b) { return std::fmax(a, b); });
  addFloat<arith::MinNumFOp>(registry, [](double a, double b) { return std::fmin(a, b); });

  addSigned<arith::AddIOp>(registry, [](int64_t a, int64_t b) { return a + b; });
  addSigned<arith::SubIOp>(registry, [](int64_t a, int64_t b) { return a - b; });
  addSigned<arith::MulIOp>(registry, [](int64_t a, int64_t b) { return a * b; });
  addSigned<arith::AndIOp>(registry, [](int64_t a, int64_t b) { return a & b; });
  addSigned<arith::OrIOp>(registry, [](int64_t a, int64_t b) { return a | b; });
  addSigned<arith::XOrIOp>(registry, [](int64_t a, int64_t b) { return a ^ b; });
  addSigned<arith::MaxSIOp>(registry, [](int64_t a, int64_t b) { return std::max(a, b); });
  addSigned<arith::MinSIOp>(registry, [](int64_t a, int64_t b) { return std::min(a, b); });
  addSigned<arith::ShRSIOp>(registry, [](int64_t a, int64_t b) { return a >> std::clamp<int64_t>(b, 0, 63); });
  addUnsigned<arith::MaxUIOp>(registry, [](uint64_t a, uint64_t b) { return std::max(a, b); });
  addUnsigned<arith::MinUIOp>(registry, [](uint64_t a, uint64_t b) { return std::min(a, b); });
  addUnsigned<arith::ShRUIOp>(registry, [](uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; });
  addUnsigned<arith::ShLIOp>(registry, [](uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; });
  addDivision<arith::DivSIOp>(registry, /*isSigned=*/true, /*isRemainder=*/false);
  addDivision<arith::RemSIOp>(registry, /*isSigned=*/true, /*isRemainder=*/true);
  addDivision<arith::DivUIOp>(registry, /*isSigned=*/false, /*isRemainder=*/false);
  addDivision<arith::RemUIOp>(registry, /*isSigned=*/false, /*isRemainder=*/true);

  registry.add<compareFloats, compareWholes, choose, constant, bitcast>();
  addConversion<arith::ExtFOp>(registry, [](double x, Type, Type) { return x; });
  addConversion<arith::TruncFOp>(registry, [](double x, Type, Type to) { return round(x, to); });
  addConversion<arith::SIToFPOp>(
      registry, [](double x, Type from, Type to) { return round(static_cast<double>(signedOf(x, from)), to); });
  addConversion<arith::UIToFPOp>(
      registry, [](double x, Type from, Type to) { return round(static_cast<double>(unsignedOf(x, from)), to); });
  addConversion<arith::FPToSIOp>(registry, [](double x, Type, Type to) {
    return wrap(static_cast<int64_t>(std::clamp(towardsZero(x), -0x1p62, 0x1p62)), to);
  });
  addConversion<arith::FPToUIOp>(registry, [](double x, Type, Type to) {
    return wrap(static_cast<int64_t>(std::clamp(towardsZero(x), 0.0, 0x1p62)), to);
  });
  addConversion<arith::ExtSIOp>(registry,
                                [](double x, Type from, Type) { return static_cast<double>(signedOf(x, from)); });
  addConversion<arith::ExtUIOp>(
      registry, [](double x, Type from, Type to) { return wrap(static_cast<int64_t>(unsignedOf(x, from)), to); });
  addConversion<arith::TruncIOp>(registry, [](double x, Type, Type to) { return wrap(static_cast<int64_t>(x), to); });

  registry.add<multiplyAdd>();
  addConversion<math::AbsIOp>(registry,
                              [](double x, Type from, Type to) { return wrap(std::abs(signedOf(x, from)), to); });
  addFloat<math::AbsFOp>(registry, [](double x) { return std::fabs(x); });
  addFloat<math::CeilOp>(registry, [](double x) { return std::ceil(x); });
  addFloat<math::CosOp>(registry, [](double x) { return std::cos(x); });
  addFloat<math::ErfOp>(registry, [](double x) { return std::erf(x); });
  addFloat<math::ExpOp>(registry, [](double x) { return std::exp(x); });
  addFloat<math::Exp2Op>(registry, [](double x) { return std::exp2(x); });
  addFloat<math::ExpM1Op>(registry, [](double x) { return std::expm1(x); });
  addFloat<math::FloorOp>(registry, [](double x) { return std::floor(x); });
  addFloat<math::LogOp>(registry, [](double x) { return std::log(x); });
  addFloat<math::Log2Op>(registry, [](double x) { return std::log2(x); });
  addFloat<math::Log1pOp>(registry, [](double x) { return std::log1p(x); });
  addFloat<math::PowFOp>(registry, [](double a, double b) { return std::pow(a, b); });
  addFloat<math::RoundEvenOp>(registry, [](double x) { return std::nearbyint(x); });
  addFloat<math::RsqrtOp>(registry, [](double x) { return 1 / std::sqrt(x); });
  addFloat<math::SinOp>(registry, [](double x) { return std::sin(x); });
  addFloat<math::SqrtOp>(registry, [](double x) { return std::sqrt(x); });
  addFloat<math::TanhOp>(registry, [](double x) { return std::tanh(x); });
  addFloat<math::TruncOp>(registry, [](double x) { return std::trunc(x); });
}
