// The interpreter's values.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace mlir::heddle::reference {

/// A tensor of numbers in row-major order; a scalar has no dimension. Every number is an f64, whatever the tensor's
/// type, because an f64 holds each i32 and i1 exactly.
struct Array {
  SmallVector<int64_t> shape;
  std::vector<double> numbers;

  Array() = default;
  /// Zeros.
  explicit Array(ArrayRef<int64_t> shape) : shape(shape), numbers(static_cast<size_t>(count(shape))) {}
  static Array scalar(double number) {
    Array array{ArrayRef<int64_t>()};
    array.numbers[0] = number;
    return array;
  }

  static int64_t count(ArrayRef<int64_t> shape) {
    int64_t product = 1;
    for (int64_t extent : shape)
      product *= extent;
    return product;
  }

  int64_t size() const { return static_cast<int64_t>(numbers.size()); }
  /// The extent of the first dimension, and the number of elements in each of its rows.
  int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  int64_t width() const { return count(ArrayRef(shape).drop_front(shape.empty() ? 0 : 1)); }

  double &operator()(int64_t i) { return numbers[static_cast<size_t>(i)]; }
  double &operator()(int64_t i, int64_t j) { return (*this)(i * shape[1] + j); }
  double &operator()(int64_t i, int64_t j, int64_t k) { return (*this)((i * shape[1] + j) * shape[2] + k); }
  double operator()(int64_t i) const { return numbers[static_cast<size_t>(i)]; }
  double operator()(int64_t i, int64_t j) const { return (*this)(i * shape[1] + j); }
  double operator()(int64_t i, int64_t j, int64_t k) const { return (*this)((i * shape[1] + j) * shape[2] + k); }
  /// Returns an element as an integer.
  int64_t whole(int64_t i) const { return static_cast<int64_t>((*this)(i)); }
};

} // namespace mlir::heddle::reference
