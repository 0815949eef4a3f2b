// A thread's matmul of few rows and packed integers, in integers.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// Packed integers are multiplied without a conversion to f32. Each 32 elements x of a row of the left operand become
/// integers q of 16 bits with one scale s, so that x = s q. An instruction multiplies two of them by two of the packed
/// integers and adds the products to an i32, or does so with four bytes. An integer q is then two bytes
/// (tile.store_digits). The sums of a step are exact, so only q is rounded, by at most 2^-16 of the largest |x|.
///
/// A thread splits the left operand once, for all workgroups that it runs one after the other with the same rows.
class IntegerProduct {
public:
  /// The elements of the contracted dimension in a step. Published formats have a scale for as many numbers.
  static constexpr int64_t kStep = 32;

  /// Returns true if the target multiplies integers, and the packed ones have 4 or 8 bits with a scale for a whole number
  /// of steps, in panels of a vector, in wide panels (experts) or in a transposed right operand.
  static bool isPossible(const TargetProfile &profile, DequantizeOp unpacked, bool isTransposed);

  /// The left operand has `rows` rows and `depth` columns, a multiple of kStep. With `isTransposed`, columns of the
  /// right operand share words, otherwise rows, which are contracted.
  IntegerProduct(KernelEmitter &emitter, DequantizeOp unpacked, int64_t rows, int64_t depth, bool isTransposed);

  /// Splits the left operand. `left` returns a step of its columns, given the first one. In the kernel's outermost block,
  /// a workgroup splits it only if `key` is not the same as in the workgroup before.
  void split(Value key, function_ref<Value(Value)> left);
  /// Returns the left operand's columns from `k` on times the numbers at `place`, without the scales of the numbers.
  Value multiply(Value k, const Place &place) const;

  /// The same in parts, each of which has some of the step's words. The sums are integers until the last part is added.
  /// `begin` returns the sums of `columns` columns before the first part: minus the bias times the sum of the row's q.
  Value begin(Value k, int64_t columns) const;
  /// Returns the digits of the left operand for `count` of the step's rows, from row `first` on.
  SmallVector<Value> digitsAt(Value k, Value first, int64_t count) const;
  /// Returns `sums` plus the products of digits from `digitsAt` and the numbers at `place`, which has these rows.
  Value add(ArrayRef<Value> left, const Place &place, Value sums) const;
  /// Returns the sums of all parts in f32, without the scales of the numbers.
  Value finish(Value k, Value sums) const;

  /// Returns the sum of each row of the rounded left operand's columns from `k` on. Null unless the numbers have offsets.
  Value total(Value k) const;

private:
  Place columnOf(Value k) const;
  Value unsignedWords(const Place &place) const;
  SmallVector<Value> integersAt(const Place &place) const;

  KernelEmitter &emitter;
  DequantizeOp unpacked;
  int64_t rows, depth, bits;
  int64_t unit;              // bits of the integers that an instruction multiplies
  int64_t digitCount, words; // digits of an element of the left operand; words of a step's elements
  int64_t bias;
  bool isTransposed;
  Value digits;         // scratch memory: of each step, the digits of all rows
  Value scales, totals; // a column for each step, a row for each row of the left operand
  Value starts;         // minus the bias times the sum of q: what the sums of a step begin with
};

} // namespace mlir::heddle
