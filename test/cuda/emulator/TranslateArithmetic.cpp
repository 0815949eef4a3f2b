#include "test/cuda/emulator/Numbers.h"
#include "test/cuda/emulator/Translate.h"

#include <llvm/IR/Intrinsics.h>

namespace heddle::emulator {

using llvm::ConstantFP;
using llvm::ConstantInt;
namespace Intrinsic = llvm::Intrinsic;

void Translator::addArithmetic(std::map<std::string, Entry> &table) {
  const char *floats = "rn rz rm rp ftz sat approx full";
  table.insert({
      {"add", {&Translator::addSubtract, "rn rz rm rp ftz sat cc"}},
      {"sub", {&Translator::addSubtract, "rn rz rm rp ftz sat cc"}},
      {"addc", {&Translator::addSubtractCarry, "cc"}},
      {"subc", {&Translator::addSubtractCarry, "cc"}},
      {"mul", {&Translator::multiply, "lo hi wide rn rz rm rp ftz sat"}},
      {"mul24", {&Translator::multiply, "lo"}},
      {"mad", {&Translator::multiplyAdd, "lo hi wide cc sat rn rz rm rp ftz"}},
      {"madc", {&Translator::multiplyAdd, "lo hi cc"}},
      {"mad24", {&Translator::multiplyAdd, "lo"}},
      {"div", {&Translator::divide, floats}},
      {"rem", {&Translator::remainder, ""}},
      {"min", {&Translator::minMax, "ftz NaN relu"}},
      {"max", {&Translator::minMax, "ftz NaN relu"}},
      {"abs", {&Translator::absolute, "ftz"}},
      {"neg", {&Translator::negate, "ftz"}},
      {"fma", {&Translator::fma, "rn rz rm rp ftz sat relu"}},
      {"rcp", {&Translator::unaryFloat, floats}},
      {"sqrt", {&Translator::unaryFloat, floats}},
      {"rsqrt", {&Translator::unaryFloat, floats}},
      {"ex2", {&Translator::unaryFloat, floats}},
      {"lg2", {&Translator::unaryFloat, floats}},
      {"sin", {&Translator::unaryFloat, floats}},
      {"cos", {&Translator::unaryFloat, floats}},
      {"tanh", {&Translator::unaryFloat, floats}},
      {"copysign", {&Translator::copySign, ""}},
      {"and", {&Translator::logic, ""}},
      {"or", {&Translator::logic, ""}},
      {"xor", {&Translator::logic, ""}},
      {"not", {&Translator::logicNot, ""}},
      {"cnot", {&Translator::conditionalNot, ""}},
      {"shl", {&Translator::shift, ""}},
      {"shr", {&Translator::shift, ""}},
      {"shf", {&Translator::funnelShift, "l r wrap clamp"}},
      {"bfe", {&Translator::bitField, ""}},
      {"bfi", {&Translator::bitFieldInsert, ""}},
      {"prmt", {&Translator::permute, "f4e b4e rc8 ecl ecr rc16"}},
      {"popc", {&Translator::countBits, ""}},
      {"clz", {&Translator::countBits, ""}},
      {"brev", {&Translator::countBits, ""}},
      {"bfind", {&Translator::countBits, "shiftamt"}},
      {"lop3", {&Translator::logic3, ""}},
      {"sad", {&Translator::sumAbsoluteDifference, ""}},
      {"setp",
       {&Translator::setPredicate, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz and or xor"}},
      {"set", {&Translator::set, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz and or xor"}},
      {"selp", {&Translator::select, ""}},
      {"slct", {&Translator::selectSign, "ftz"}},
      {"testp", {&Translator::testProperty, "finite infinite number notanumber normal subnormal"}},
  });
}

Translator::Value *Translator::intrinsic(unsigned id, llvm::ArrayRef<Value *> arguments) {
  return builder.CreateIntrinsic(arguments[0]->getType(), id, arguments);
}

// Flushes subnormal numbers to zero, keeping the sign.
Translator::Value *Translator::flushed(const Type &type, Value *value) {
  double smallest = type.bits == 16 && type.kind == Type::Float ? 0x1p-14 : 0x1p-126;
  Value *zero = ConstantFP::get(value->getType(), 0);
  Value *small =
      builder.CreateFCmpOLT(intrinsic(Intrinsic::fabs, {value}), ConstantFP::get(value->getType(), smallest));
  return builder.CreateSelect(small, intrinsic(Intrinsic::copysign, {zero, value}), value);
}

// Converts to the type to compute in: integers as they are, f32 and f64 too, and the 16-bit formats in f64. There one
// operation is exact, or rounds so far below their last place that rounding again is harmless.
Translator::Value *Translator::toCompute(const Type &type, Value *bits, bool flush) {
  if (!type.isFloat())
    return bits;
  Value *value = nullptr;
  if (type.bits == 64)
    return builder.CreateBitCast(bits, builder.getDoubleTy());
  if (type.bits == 32) {
    value = builder.CreateBitCast(bits, builder.getFloatTy());
  } else if (type.kind == Type::BFloat) {
    value = builder.CreateShl(builder.CreateZExt(bits, builder.getInt32Ty()), 16);
    value = builder.CreateBitCast(value, builder.getFloatTy());
  } else {
    Value *at = builder.CreateGEP(builder.getFloatTy(), constantPointer(halfTable()),
                                  builder.CreateZExt(bits, builder.getInt64Ty()));
    auto *load = builder.CreateLoad(builder.getFloatTy(), at);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
    value = load;
  }
  if (flush)
    value = flushed(type, value);
  return type.bits == 16 ? builder.CreateFPExt(value, builder.getDoubleTy()) : value;
}

Translator::Value *Translator::fromCompute(const Type &type, Value *value, bool flush, bool saturate) {
  if (!type.isFloat())
    return value;
  if (flush && type.bits != 64)
    value = flushed(type, value);
  if (saturate) {
    // NaN becomes zero, too.
    value = intrinsic(Intrinsic::maximumnum, {value, ConstantFP::get(value->getType(), 0)});
    value = intrinsic(Intrinsic::minimumnum, {value, ConstantFP::get(value->getType(), 1)});
  }
  if (type.bits == 16)
    return call(type.kind == Type::Float ? "heddle_to_half" : "heddle_to_bfloat", builder.getInt16Ty(), {value});
  return builder.CreateBitCast(value, integerType(type.bits));
}

// Computes operand 0 from operands 1, 2, ..., element by element.
void Translator::elementwise(size_t sources,
                             const std::function<Value *(const Type &, llvm::ArrayRef<Value *>)> &compute) {
  Type type = lastType();
  bool flush = at->has("ftz"), saturate = at->has("sat");
  std::vector<Value *> whole;
  for (size_t i = 1; i <= sources; ++i)
    whole.push_back(read(operand(i), type.totalBits()));
  Value *result = nullptr;
  for (unsigned element = 0; element < type.packed; ++element) {
    std::vector<Value *> parts;
    for (Value *source : whole) {
      if (type.packed > 1)
        source = builder.CreateTrunc(builder.CreateLShr(source, element * type.bits), integerType(type.bits));
      parts.push_back(toCompute(type, source, flush));
    }
    Value *part = fromCompute(type, compute(type, parts), flush, saturate);
    if (type.packed == 1) {
      result = part;
      break;
    }
    part = builder.CreateShl(builder.CreateZExt(part, integerType(type.totalBits())), element * type.bits);
    result = result ? builder.CreateOr(result, part) : part;
  }
  write(operand(0), result, type.isSigned());
}

// 0: to nearest; 1: towards zero; 2: down; 3: up.
unsigned Translator::rounding() const { return at->has("rz") ? 1 : at->has("rm") ? 2 : at->has("rp") ? 3 : 0; }

Translator::Value *Translator::rounded(const Type &type, const char *operation, llvm::ArrayRef<Value *> arguments) {
  if (type.bits == 16)
    fail("this rounding is not known for 16 bits");
  std::vector<Value *> all(arguments.begin(), arguments.end());
  all.resize(3, ConstantFP::get(arguments[0]->getType(), 0));
  all.push_back(builder.getInt32(rounding()));
  std::string name = std::string("heddle_") + operation + (type.bits == 32 ? "_f32" : "_f64");
  return call(name.c_str(), arguments[0]->getType(), all);
}

// Computes in double, so that the result is within half a unit of f32's last place, or very nearly.
Translator::Value *Translator::approximate(const Type &type, const char *name, Value *argument) {
  Value *wide = type.bits == 32 ? builder.CreateFPExt(argument, builder.getDoubleTy()) : argument;
  Value *result = call(name, builder.getDoubleTy(), {wide});
  return type.bits == 32 ? builder.CreateFPTrunc(result, builder.getFloatTy()) : result;
}

void Translator::addSubtract() {
  bool add = at->opcode[0] == "add";
  if (at->has("cc")) {
    builder.CreateStore(builder.getFalse(), carry);
    return addSubtractCarry();
  }
  elementwise(2, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (!type.isFloat()) {
      if (at->has("sat"))
        return builder.CreateBinaryIntrinsic(add ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, in[0], in[1]);
      return add ? builder.CreateAdd(in[0], in[1]) : builder.CreateSub(in[0], in[1]);
    }
    if (rounding())
      return rounded(type, add ? "add" : "sub", in);
    return add ? builder.CreateFAdd(in[0], in[1]) : builder.CreateFSub(in[0], in[1]);
  });
}

// A subtraction's carry is its borrow.
void Translator::addSubtractCarry() {
  bool add = at->opcode[0].rfind("add", 0) == 0;
  Type type = lastType();
  auto *wide = integerType(type.bits + 1);
  Value *a = builder.CreateZExt(read(operand(1), type.bits), wide);
  Value *b = builder.CreateZExt(read(operand(2), type.bits), wide);
  Value *in = builder.CreateZExt(builder.CreateLoad(builder.getInt1Ty(), carry), wide);
  Value *result = add ? builder.CreateAdd(builder.CreateAdd(a, b), in) : builder.CreateSub(builder.CreateSub(a, b), in);
  write(operand(0), builder.CreateTrunc(result, integerType(type.bits)));
  if (at->has("cc"))
    builder.CreateStore(builder.CreateTrunc(builder.CreateLShr(result, type.bits), builder.getInt1Ty()), carry);
}

void Translator::multiply() {
  Type type = lastType();
  if (type.isFloat())
    return elementwise(2, [&](const Type &type, llvm::ArrayRef<Value *> in) {
      return rounding() ? rounded(type, "mul", in) : builder.CreateFMul(in[0], in[1]);
    });
  auto *wide = integerType(2 * type.bits);
  auto extend = [&](const Operand &operand) {
    Value *value = read(operand, type.bits);
    if (at->opcode[0] == "mul24")
      value = type.isSigned() ? builder.CreateAShr(builder.CreateShl(value, 8), 8) : builder.CreateAnd(value, 0xffffff);
    return type.isSigned() ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(operand(1)), extend(operand(2)));
  if (at->has("hi"))
    product = builder.CreateLShr(product, type.bits);
  if (!at->has("wide"))
    product = builder.CreateTrunc(product, integerType(type.bits));
  write(operand(0), product, type.isSigned());
}

void Translator::multiplyAdd() {
  Type type = lastType();
  if (type.isFloat())
    return fma();
  auto *wide = integerType(2 * type.bits);
  auto extend = [&](const Operand &operand) {
    Value *value = read(operand, type.bits);
    if (at->opcode[0] == "mad24")
      value = type.isSigned() ? builder.CreateAShr(builder.CreateShl(value, 8), 8) : builder.CreateAnd(value, 0xffffff);
    return type.isSigned() ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(operand(1)), extend(operand(2)));
  if (at->has("wide")) {
    write(operand(0), builder.CreateAdd(product, read(operand(3), 2 * type.bits)), type.isSigned());
    return;
  }
  if (at->has("hi"))
    product = builder.CreateLShr(product, type.bits);
  product = builder.CreateTrunc(product, integerType(type.bits));
  Value *addend = read(operand(3), type.bits);
  if (at->opcode[0] != "madc" && !at->has("cc")) {
    if (at->has("sat"))
      fail("saturation is not known");
    write(operand(0), builder.CreateAdd(product, addend), type.isSigned());
    return;
  }
  auto *more = integerType(type.bits + 1);
  Value *sum = builder.CreateAdd(builder.CreateZExt(product, more), builder.CreateZExt(addend, more));
  if (at->opcode[0] == "madc")
    sum = builder.CreateAdd(sum, builder.CreateZExt(builder.CreateLoad(builder.getInt1Ty(), carry), more));
  write(operand(0), builder.CreateTrunc(sum, integerType(type.bits)));
  if (at->has("cc"))
    builder.CreateStore(builder.CreateTrunc(builder.CreateLShr(sum, type.bits), builder.getInt1Ty()), carry);
}

void Translator::divide() {
  elementwise(2, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (type.isFloat())
      return rounding() ? rounded(type, "div", in) : builder.CreateFDiv(in[0], in[1]);
    // Division by zero does not trap; its result is unspecified, here all ones.
    Value *zero = builder.CreateIsNull(in[1]);
    Value *divisor = builder.CreateSelect(zero, ConstantInt::get(in[1]->getType(), 1), in[1]);
    Value *quotient = nullptr;
    if (type.isSigned()) {
      Value *minusOne = builder.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(in[1]->getType()));
      Value *safe = builder.CreateSelect(minusOne, ConstantInt::get(in[1]->getType(), 1), divisor);
      quotient = builder.CreateSelect(minusOne, builder.CreateNeg(in[0]), builder.CreateSDiv(in[0], safe));
    } else {
      quotient = builder.CreateUDiv(in[0], divisor);
    }
    return builder.CreateSelect(zero, llvm::Constant::getAllOnesValue(in[1]->getType()), quotient);
  });
}

void Translator::remainder() {
  elementwise(2, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (type.isFloat())
      fail("rem is of integers");
    Value *zero = builder.CreateIsNull(in[1]);
    Value *divisor = builder.CreateSelect(zero, ConstantInt::get(in[1]->getType(), 1), in[1]);
    if (!type.isSigned())
      return builder.CreateSelect(zero, in[0], builder.CreateURem(in[0], divisor));
    Value *minusOne = builder.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(in[1]->getType()));
    divisor = builder.CreateSelect(minusOne, ConstantInt::get(in[1]->getType(), 1), divisor);
    return builder.CreateSelect(zero, in[0], builder.CreateSRem(in[0], divisor));
  });
}

void Translator::minMax() {
  bool isMin = at->opcode[0] == "min";
  elementwise(at->operands.size() - 1, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    unsigned id = type.isFloat()    ? at->has("NaN") ? (isMin ? Intrinsic::minimum : Intrinsic::maximum)
                                                     : (isMin ? Intrinsic::minimumnum : Intrinsic::maximumnum)
                  : type.isSigned() ? (isMin ? Intrinsic::smin : Intrinsic::smax)
                                    : (isMin ? Intrinsic::umin : Intrinsic::umax);
    Value *result = in[0];
    for (Value *next : in.drop_front())
      result = builder.CreateBinaryIntrinsic(id, result, next);
    if (!at->has("relu"))
      return result;
    if (!type.isSigned() || type.isFloat())
      fail("only signed integers are clamped here");
    return builder.CreateBinaryIntrinsic(Intrinsic::smax, result, builder.getIntN(type.bits, 0));
  });
}

void Translator::absolute() {
  elementwise(1, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (type.isFloat())
      return intrinsic(Intrinsic::fabs, {in[0]});
    return builder.CreateBinaryIntrinsic(Intrinsic::abs, in[0], builder.getFalse());
  });
}

void Translator::negate() {
  elementwise(1, [&](const Type &type, llvm::ArrayRef<Value *> in) {
    return type.isFloat() ? builder.CreateFNeg(in[0]) : builder.CreateNeg(in[0]);
  });
}

void Translator::fma() {
  elementwise(3, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (rounding())
      return rounded(type, "fma", in);
    Value *result = intrinsic(Intrinsic::fma, in);
    return at->has("relu") ? intrinsic(Intrinsic::maximum, {result, ConstantFP::get(result->getType(), 0)}) : result;
  });
}

void Translator::unaryFloat() {
  elementwise(1, [&](const Type &type, llvm::ArrayRef<Value *> in) -> Value * {
    if (!type.isFloat())
      fail("the instruction is of real numbers");
    const std::string &name = at->opcode[0];
    if (name == "rcp") {
      Value *one = ConstantFP::get(in[0]->getType(), 1);
      return rounding() ? rounded(type, "div", {one, in[0]}) : builder.CreateFDiv(one, in[0]);
    }
    if (name == "sqrt")
      return rounding() ? rounded(type, "sqrt", in) : intrinsic(Intrinsic::sqrt, {in[0]});
    return approximate(type, ("heddle_" + name).c_str(), in[0]);
  });
}

void Translator::copySign() {
  // copysign d, a, b: the magnitude of b with the sign of a.
  elementwise(2,
              [&](const Type &, llvm::ArrayRef<Value *> in) { return intrinsic(Intrinsic::copysign, {in[1], in[0]}); });
}

void Translator::logic() {
  elementwise(2, [&](const Type &, llvm::ArrayRef<Value *> in) {
    const std::string &name = at->opcode[0];
    return name == "and"  ? builder.CreateAnd(in[0], in[1])
           : name == "or" ? builder.CreateOr(in[0], in[1])
                          : builder.CreateXor(in[0], in[1]);
  });
}

void Translator::logicNot() {
  elementwise(1, [&](const Type &, llvm::ArrayRef<Value *> in) { return builder.CreateNot(in[0]); });
}

void Translator::conditionalNot() {
  elementwise(1, [&](const Type &, llvm::ArrayRef<Value *> in) {
    return builder.CreateZExt(builder.CreateIsNull(in[0]), in[0]->getType());
  });
}

// A count larger than the width shifts all bits out.
void Translator::shift() {
  Type type = lastType();
  Value *value = read(operand(1), type.bits), *count = read(operand(2), 32);
  Value *large = builder.CreateICmpUGE(count, builder.getInt32(type.bits));
  bool arithmetic = at->opcode[0] == "shr" && type.isSigned();
  Value *clamped = builder.CreateSelect(large, builder.getInt32(type.bits - 1), count);
  clamped = builder.CreateZExtOrTrunc(clamped, integerType(type.bits));
  Value *result = at->opcode[0] == "shl" ? builder.CreateShl(value, clamped)
                  : arithmetic           ? builder.CreateAShr(value, clamped)
                                         : builder.CreateLShr(value, clamped);
  if (!arithmetic)
    result = builder.CreateSelect(large, ConstantInt::get(integerType(type.bits), 0), result);
  write(operand(0), result, type.isSigned());
}

void Translator::funnelShift() {
  auto *wide = builder.getInt64Ty();
  Value *low = builder.CreateZExt(read(operand(1), 32), wide), *high = builder.CreateZExt(read(operand(2), 32), wide);
  Value *count = read(operand(3), 32);
  count = at->has("wrap") ? builder.CreateAnd(count, 31)
                          : builder.CreateBinaryIntrinsic(Intrinsic::umin, count, builder.getInt32(32));
  count = builder.CreateZExt(count, wide);
  Value *both = builder.CreateOr(builder.CreateShl(high, 32), low);
  Value *result =
      at->has("l") ? builder.CreateLShr(builder.CreateShl(both, count), 32) : builder.CreateLShr(both, count);
  write(operand(0), builder.CreateTrunc(result, builder.getInt32Ty()));
}

void Translator::bitField() {
  Type type = lastType();
  Value *value = read(operand(1), type.bits);
  value = type.isSigned() ? builder.CreateSExt(value, builder.getInt64Ty())
                          : builder.CreateZExt(value, builder.getInt64Ty());
  Value *result = call("heddle_bfe", builder.getInt64Ty(),
                       {value, read(operand(2), 32), read(operand(3), 32), builder.getInt32(type.bits),
                        builder.getInt32(type.isSigned())});
  write(operand(0), builder.CreateTrunc(result, integerType(type.bits)));
}

void Translator::bitFieldInsert() {
  Type type = lastType();
  auto *wide = builder.getInt64Ty();
  Value *result = call("heddle_bfi", wide,
                       {builder.CreateZExt(read(operand(1), type.bits), wide),
                        builder.CreateZExt(read(operand(2), type.bits), wide), read(operand(3), 32),
                        read(operand(4), 32), builder.getInt32(type.bits)});
  write(operand(0), builder.CreateTrunc(result, integerType(type.bits)));
}

void Translator::permute() {
  static const char *modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  uint32_t mode = 0;
  for (uint32_t i = 1; i < 7; ++i)
    if (at->has(modes[i]))
      mode = i;
  write(operand(0), call("heddle_prmt", builder.getInt32Ty(),
                         {read(operand(1), 32), read(operand(2), 32), read(operand(3), 32), builder.getInt32(mode)}));
}

void Translator::countBits() {
  Type type = lastType();
  const std::string &name = at->opcode[0];
  Value *value = read(operand(1), type.bits);
  Value *result = nullptr;
  if (name == "popc") {
    result = builder.CreateUnaryIntrinsic(Intrinsic::ctpop, value);
  } else if (name == "clz") {
    result = builder.CreateBinaryIntrinsic(Intrinsic::ctlz, value, builder.getFalse());
  } else if (name == "brev") {
    result = builder.CreateUnaryIntrinsic(Intrinsic::bitreverse, value);
  } else {
    // Returns the position of the highest bit that differs from the sign; all ones if there is none.
    if (type.isSigned())
      value = builder.CreateXor(value, builder.CreateAShr(value, type.bits - 1));
    Value *zeros = builder.CreateBinaryIntrinsic(Intrinsic::ctlz, value, builder.getFalse());
    Value *position =
        at->has("shiftamt") ? zeros : builder.CreateSub(ConstantInt::get(value->getType(), type.bits - 1), zeros);
    result =
        builder.CreateSelect(builder.CreateIsNull(value), llvm::Constant::getAllOnesValue(value->getType()), position);
  }
  write(operand(0), name == "brev" ? result : builder.CreateTrunc(result, builder.getInt32Ty()));
}

void Translator::logic3() {
  if (operand(4).kind != Operand::Integer)
    fail("the table must be a constant");
  Value *in[3] = {read(operand(1), 32), read(operand(2), 32), read(operand(3), 32)};
  Value *result = builder.getInt32(0);
  for (unsigned row = 0; row < 8; ++row) {
    if (!(operand(4).value >> row & 1))
      continue;
    Value *term = nullptr;
    for (unsigned i = 0; i < 3; ++i) {
      Value *factor = row >> (2 - i) & 1 ? in[i] : builder.CreateNot(in[i]);
      term = term ? builder.CreateAnd(term, factor) : factor;
    }
    result = builder.CreateOr(result, term);
  }
  write(operand(0), result);
}

void Translator::sumAbsoluteDifference() {
  elementwise(3, [&](const Type &type, llvm::ArrayRef<Value *> in) {
    Value *less = type.isSigned() ? builder.CreateICmpSLT(in[0], in[1]) : builder.CreateICmpULT(in[0], in[1]);
    Value *difference = builder.CreateSelect(less, builder.CreateSub(in[1], in[0]), builder.CreateSub(in[0], in[1]));
    return builder.CreateAdd(in[2], difference);
  });
}

std::string Translator::comparisonName() const {
  static const std::set<std::string> names = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                              "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  for (size_t i = 1; i < at->opcode.size(); ++i)
    if (names.count(at->opcode[i]))
      return at->opcode[i];
  fail("the comparison is missing");
}

Translator::Value *Translator::comparison(const std::string &name, const Type &type, Value *a, Value *b) {
  using P = llvm::CmpInst::Predicate;
  static const std::map<std::string, P> reals = {
      {"eq", P::FCMP_OEQ},  {"ne", P::FCMP_ONE},  {"lt", P::FCMP_OLT},  {"le", P::FCMP_OLE},  {"gt", P::FCMP_OGT},
      {"ge", P::FCMP_OGE},  {"equ", P::FCMP_UEQ}, {"neu", P::FCMP_UNE}, {"ltu", P::FCMP_ULT}, {"leu", P::FCMP_ULE},
      {"gtu", P::FCMP_UGT}, {"geu", P::FCMP_UGE}, {"num", P::FCMP_ORD}, {"nan", P::FCMP_UNO}};
  static const std::map<std::string, std::pair<P, P>> integers = {
      {"eq", {P::ICMP_EQ, P::ICMP_EQ}},   {"ne", {P::ICMP_NE, P::ICMP_NE}},   {"lt", {P::ICMP_ULT, P::ICMP_SLT}},
      {"le", {P::ICMP_ULE, P::ICMP_SLE}}, {"gt", {P::ICMP_UGT, P::ICMP_SGT}}, {"ge", {P::ICMP_UGE, P::ICMP_SGE}},
      {"lo", {P::ICMP_ULT, P::ICMP_ULT}}, {"ls", {P::ICMP_ULE, P::ICMP_ULE}}, {"hi", {P::ICMP_UGT, P::ICMP_UGT}},
      {"hs", {P::ICMP_UGE, P::ICMP_UGE}}};
  if (type.isFloat()) {
    auto found = reals.find(name);
    if (found == reals.end())
      fail("comparison ." + name + " is not of real numbers");
    return builder.CreateFCmp(found->second, a, b);
  }
  auto found = integers.find(name);
  if (found == integers.end())
    fail("comparison ." + name + " is of real numbers");
  return builder.CreateICmp(type.isSigned() ? found->second.second : found->second.first, a, b);
}

// setp.cmp{.bool}.type p{|q}, a, b{, c}: q is the negated comparison or, for packed operands, the second element's.
void Translator::setPredicate() {
  Type type = lastType();
  std::string name = comparisonName();
  bool flush = at->has("ftz");
  Value *a = read(operand(1), type.totalBits()), *b = read(operand(2), type.totalBits());
  std::vector<Value *> results;
  for (unsigned element = 0; element < type.packed; ++element) {
    auto part = [&](Value *whole) {
      return toCompute(
          type, builder.CreateTrunc(builder.CreateLShr(whole, element * type.bits), integerType(type.bits)), flush);
    };
    results.push_back(comparison(name, type, part(a), part(b)));
  }
  if (results.size() == 1)
    results.push_back(builder.CreateNot(results[0]));
  if (at->operands.size() > 3) {
    Value *with = predicate(operand(3));
    for (Value *&result : results)
      result = at->has("and")  ? builder.CreateAnd(result, with)
               : at->has("or") ? builder.CreateOr(result, with)
                               : builder.CreateXor(result, with);
  }
  writeName(operand(0).name, results[0]);
  if (!operand(0).second.empty())
    writeName(operand(0).second, results[1]);
}

// set.cmp.dtype.stype: all ones or zeros, or 1.0 or 0.0, depending on the result's type.
void Translator::set() {
  std::vector<Type> both = types();
  if (both.size() != 2 || both[1].packed != 1)
    fail("this form of set is not known");
  Type to = both[0], type = both[1];
  bool flush = at->has("ftz");
  Value *result = comparison(comparisonName(), type, toCompute(type, read(operand(1), type.bits), flush),
                             toCompute(type, read(operand(2), type.bits), flush));
  if (at->operands.size() > 3) {
    Value *with = predicate(operand(3));
    result = at->has("and")  ? builder.CreateAnd(result, with)
             : at->has("or") ? builder.CreateOr(result, with)
                             : builder.CreateXor(result, with);
  }
  uint64_t ones = ~uint64_t(0);
  if (to.isFloat())
    ones = to.bits == 32 ? 0x3f800000 : to.kind == Type::BFloat ? 0x3f80 : 0x3c00;
  auto *integer = integerType(to.bits);
  write(operand(0), builder.CreateSelect(result, ConstantInt::get(integer, ones), ConstantInt::get(integer, 0)));
}

void Translator::select() {
  Type type = lastType();
  write(operand(0),
        builder.CreateSelect(predicate(operand(3)), read(operand(1), type.totalBits()),
                             read(operand(2), type.totalBits())),
        type.isSigned());
}

// slct.dtype.{s32,f32} d, a, b, c: a if c >= 0, otherwise b.
void Translator::selectSign() {
  std::vector<Type> both = types();
  if (both.size() != 2)
    fail("slct needs two types");
  Value *c = toCompute(both[1], read(operand(3), both[1].bits), at->has("ftz"));
  Value *positive = both[1].isFloat() ? builder.CreateFCmpOGE(c, ConstantFP::get(c->getType(), 0))
                                      : builder.CreateICmpSGE(c, ConstantInt::get(c->getType(), 0));
  write(operand(0), builder.CreateSelect(positive, read(operand(1), both[0].bits), read(operand(2), both[0].bits)));
}

void Translator::testProperty() {
  static const std::map<std::string, unsigned> classes = {
      {"finite", llvm::fcFinite},  {"infinite", llvm::fcInf},  {"number", ~unsigned(llvm::fcNan) & llvm::fcAllFlags},
      {"notanumber", llvm::fcNan}, {"normal", llvm::fcNormal}, {"subnormal", llvm::fcSubnormal}};
  Type type = lastType();
  auto found = classes.find(at->opcode[1]);
  if (found == classes.end())
    fail("the property is missing");
  write(operand(0), builder.createIsFPClass(toCompute(type, read(operand(1), type.bits), false), found->second));
}

} // namespace heddle::emulator
