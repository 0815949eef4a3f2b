#include "test/cuda/emulator/Translate.h"

#include <llvm/IR/Intrinsics.h>

namespace heddle::emulator {

using llvm::ConstantFP;
namespace Intrinsic = llvm::Intrinsic;

void Translator::addConversions(std::map<std::string, Entry> &table) {
  table.insert({
      {"mov", {&Translator::move, ""}},
      {"cvt", {&Translator::convert, "rn rz rm rp rni rzi rmi rpi rna ftz sat relu"}},
      {"cvta",
       {&Translator::convertAddress, "to global shared shared::cta shared::cluster local const param param::entry"}},
      {"isspacep", {&Translator::isSpace, "global shared shared::cta shared::cluster local const param"}},
  });
}

void Translator::move() {
  Type type = lastType();
  // mov.b64 {a, b}, d and similar forms have the vector's width as their type; read and write do the rest.
  write(operand(0), read(operand(1), type.totalBits()), false);
}

Translator::Value *Translator::roundToInteger(Value *value, const Type &type) {
  unsigned id = at->has("rni")   ? Intrinsic::roundeven
                : at->has("rmi") ? Intrinsic::floor
                : at->has("rpi") ? Intrinsic::ceil
                : at->has("rzi") ? Intrinsic::trunc
                                 : Intrinsic::not_intrinsic;
  return id == Intrinsic::not_intrinsic ? value : intrinsic(id, {value});
}

// Converts a real number in f32 or f64 to the bits of a format that is not wider.
Translator::Value *Translator::narrowFloat(const Type &to, Value *value) {
  bool fromDouble = value->getType()->isDoubleTy();
  if (to.bits == 32) {
    if (fromDouble)
      value = rounding() ? call("heddle_narrow", builder.getFloatTy(), {value, builder.getInt32(rounding())})
                         : builder.CreateFPTrunc(value, builder.getFloatTy());
    return builder.CreateBitCast(value, builder.getInt32Ty());
  }
  if (rounding() > 1)
    fail("this rounding is not known");
  if (to.kind == Type::BFloat && !fromDouble && !rounding()) {
    Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
    Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
    Value *sum = builder.CreateAdd(builder.CreateAdd(bits, builder.getInt32(0x7fff)), odd);
    Value *result = builder.CreateTrunc(builder.CreateLShr(sum, 16), builder.getInt16Ty());
    return builder.CreateSelect(builder.CreateFCmpUNO(value, value), builder.getInt16(0x7fff), result);
  }
  if (!fromDouble)
    value = builder.CreateFPExt(value, builder.getDoubleTy());
  if (rounding())
    return call(to.kind == Type::BFloat ? "heddle_to_bfloat_rz" : "heddle_to_half_rz", builder.getInt16Ty(), {value});
  return call(to.kind == Type::BFloat ? "heddle_to_bfloat" : "heddle_to_half", builder.getInt16Ty(), {value});
}

void Translator::convert() {
  std::vector<Type> both = types();
  if (both.size() != 2)
    fail("a conversion needs two types");
  Type to = both[0], from = both[1];
  bool flush = at->has("ftz"), saturate = at->has("sat");

  if (to.packed == 2) {
    // cvt.rn.bf16x2.f32 d, a, b: a goes to the upper half.
    if (from.kind != Type::Float || from.bits != 32)
      fail("this conversion is not known");
    Value *halves[2];
    for (size_t i = 0; i < 2; ++i) {
      Value *value = toCompute(from, read(operand(1 + i), 32), flush);
      if (at->has("relu"))
        value = intrinsic(Intrinsic::maximum, {value, ConstantFP::get(value->getType(), 0)});
      if (saturate)
        fail("this conversion is not known");
      halves[i] = builder.CreateZExt(narrowFloat(to, value), builder.getInt32Ty());
    }
    write(operand(0), builder.CreateOr(builder.CreateShl(halves[0], 16), halves[1]));
    return;
  }
  if (from.packed == 2)
    fail("this conversion is not known");
  if (to.kind == Type::TensorFloat) {
    // Rounds to nearest, ties away from zero (rna) or to even (rn); the lower bits become zero.
    Value *bits = read(operand(1), 32);
    Value *value = builder.CreateBitCast(bits, builder.getFloatTy());
    Value *half = at->has("rna") ? static_cast<Value *>(builder.getInt32(0x1000))
                  : at->has("rz")
                      ? static_cast<Value *>(builder.getInt32(0))
                      : builder.CreateAdd(builder.getInt32(0xfff), builder.CreateAnd(builder.CreateLShr(bits, 13), 1));
    Value *result = builder.CreateAnd(builder.CreateAdd(bits, half), builder.getInt32(0xffffe000));
    Value *special = builder.CreateICmpEQ(builder.CreateAnd(bits, 0x7f800000), builder.getInt32(0x7f800000));
    result = builder.CreateSelect(special, bits, result);
    if (at->has("relu"))
      result = builder.CreateSelect(builder.CreateFCmpOLT(value, ConstantFP::get(value->getType(), 0)),
                                    builder.getInt32(0), result);
    write(operand(0), result);
    return;
  }

  Value *bits = read(operand(1), from.bits);
  llvm::IntegerType *integer = integerType(to.bits);
  if (!from.isFloat() && !to.isFloat()) {
    if (saturate) {
      auto *wide = integerType(128);
      Value *value = from.isSigned() ? builder.CreateSExt(bits, wide) : builder.CreateZExt(bits, wide);
      llvm::APInt low = to.isSigned() ? llvm::APInt::getSignedMinValue(to.bits).sext(128) : llvm::APInt(128, 0);
      llvm::APInt high = to.isSigned() ? llvm::APInt::getSignedMaxValue(to.bits).sext(128)
                                       : llvm::APInt::getMaxValue(to.bits).zext(128);
      value = builder.CreateBinaryIntrinsic(Intrinsic::smax, value, llvm::ConstantInt::get(wide, low));
      value = builder.CreateBinaryIntrinsic(Intrinsic::smin, value, llvm::ConstantInt::get(wide, high));
      bits = builder.CreateTrunc(value, integer);
    } else {
      bits = from.isSigned() ? builder.CreateSExtOrTrunc(bits, integer) : builder.CreateZExtOrTrunc(bits, integer);
    }
    return write(operand(0), bits, to.isSigned());
  }
  if (!from.isFloat()) {
    Value *value = nullptr;
    if (rounding() && to.bits >= 32) {
      Value *wide = from.isSigned() ? builder.CreateSExt(bits, builder.getInt64Ty())
                                    : builder.CreateZExt(bits, builder.getInt64Ty());
      std::string name =
          std::string("heddle_from_") + (from.isSigned() ? "signed" : "unsigned") + (to.bits == 32 ? "_f32" : "_f64");
      value = call(name.c_str(), to.bits == 32 ? builder.getFloatTy() : builder.getDoubleTy(),
                   {wide, builder.getInt32(rounding())});
    } else {
      llvm::Type *real = to.bits == 32 ? builder.getFloatTy() : builder.getDoubleTy();
      value = from.isSigned() ? builder.CreateSIToFP(bits, real) : builder.CreateUIToFP(bits, real);
      if (to.bits == 16)
        return write(operand(0), narrowFloat(to, value));
    }
    return write(operand(0), fromCompute(to, value, false, saturate));
  }
  Value *value = toCompute(from, bits, flush);
  if (!to.isFloat()) {
    value = roundToInteger(value, from);
    // Out-of-range values become the nearest integer, and NaN becomes zero.
    Value *result = builder.CreateIntrinsic(to.isSigned() ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                            {integer, value->getType()}, {value});
    return write(operand(0), result, to.isSigned());
  }
  if (at->has("rni") || at->has("rzi") || at->has("rmi") || at->has("rpi"))
    value = roundToInteger(value, from);
  if (at->has("relu"))
    value = intrinsic(Intrinsic::maximum, {value, ConstantFP::get(value->getType(), 0)});
  if (saturate) {
    value = intrinsic(Intrinsic::maximumnum, {value, ConstantFP::get(value->getType(), 0)});
    value = intrinsic(Intrinsic::minimumnum, {value, ConstantFP::get(value->getType(), 1)});
  }
  if (to.bits == 64) {
    if (!value->getType()->isDoubleTy())
      value = builder.CreateFPExt(value, builder.getDoubleTy());
    return write(operand(0), builder.CreateBitCast(value, integer));
  }
  Value *result = narrowFloat(to, value);
  if (flush && to.bits == 32)
    result = builder.CreateBitCast(flushed(to, builder.CreateBitCast(result, builder.getFloatTy())), integer);
  write(operand(0), result);
}

// Only shared memory has addresses of its own; a window of the generic addresses contains them.
void Translator::convertAddress() {
  Type type = lastType();
  Value *value = read(operand(1), type.bits);
  if (at->has("shared") || at->has("shared::cta") || at->has("shared::cluster")) {
    Value *window = builder.getInt64(Block::sharedWindow());
    value = builder.CreateZExtOrTrunc(value, builder.getInt64Ty());
    value = at->has("to") ? builder.CreateSub(value, window) : builder.CreateAdd(value, window);
  }
  write(operand(0), value);
}

void Translator::isSpace() {
  static const std::map<std::string, Space> spaces = {
      {"global", Space::Global},      {"shared", Space::Shared},
      {"shared::cta", Space::Shared}, {"shared::cluster", Space::Cluster},
      {"local", Space::Local},        {"const", Space::Const},
      {"param", Space::Param}};
  Value *result =
      call("heddle_is_space", builder.getInt32Ty(),
           {thread, read(operand(1), 64), builder.getInt32(static_cast<uint32_t>(spaces.at(at->opcode[1])))});
  write(operand(0), builder.CreateTrunc(result, builder.getInt1Ty()));
}

} // namespace heddle::emulator
