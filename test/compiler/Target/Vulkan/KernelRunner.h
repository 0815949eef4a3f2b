// Compiles kernels written in the tile dialect and runs them on this machine's Vulkan device.
#pragma once

#include "runtime/hal/Device.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

/// A row-major matrix, in host memory before and after a run and in device memory during it. A size is a 1x1 matrix.
template <typename T> struct Matrix {
  Matrix(int64_t rows, int64_t columns, T fill = T())
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns), fill) {}

  T &operator()(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  const T &operator()(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }

  int64_t rows, columns;
  std::vector<T> values;
};

/// Returns numbers in [-0.5, 0.5), the same in every run.
Matrix<float> numbers(int64_t rows, int64_t columns, uint32_t seed);

struct Argument {
  template <typename T> Argument(Matrix<T> &matrix) : bytes(std::as_writable_bytes(std::span(matrix.values))) {}
  std::span<std::byte> bytes;
};

/// Returns `text` with every `$name` replaced.
std::string fill(std::string text, std::initializer_list<std::pair<const char *, std::string>> values);

struct Code {
  std::vector<uint32_t> words;
  std::vector<uint32_t> texels; // arguments that are also bound as texel buffers
  uint32_t texelFloats = 4;     // f32 per texel
};

/// Returns the SPIR-V of the only kernel of `text`; empty after an error, which has been printed.
Code compile(const std::string &text, bool texelLoads = false);

/// Compiles the only kernel of `text` and runs it once over `grid`. Every argument is written before and read after the
/// run. Any error fails the test.
void run(const std::string &text, std::vector<Argument> arguments, hal::WorkgroupCount grid, bool texelLoads = false);

} // namespace heddle::test
