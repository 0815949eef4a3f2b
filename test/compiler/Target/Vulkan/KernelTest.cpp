// Compiles and runs kernels written in the tile dialect, and compares them with plain loops.
#include "test/compiler/Target/Vulkan/KernelRunner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

constexpr int32_t kUntouched = -7; // value of memory that a kernel must not write

template <typename T> void expectNear(const Matrix<T> &actual, const Matrix<T> &expected, double tolerance) {
  int shown = 0;
  for (int64_t row = 0; row < expected.rows; ++row)
    for (int64_t column = 0; column < expected.columns; ++column)
      if (!(std::abs(double(actual(row, column)) - double(expected(row, column))) <= tolerance) && shown++ < 5)
        ADD_FAILURE() << "at (" << row << ", " << column << "): " << actual(row, column) << ", not "
                      << expected(row, column);
}

Matrix<int32_t> size(int32_t value) { return Matrix<int32_t>(1, 1, value); }

//===-- Elementwise ---------------------------------------------------------------------------------------------===//

TEST(KernelTest, elementwiseWithRowLimit) {
  const char *text = R"(
    #l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
    tile.func @kernel(%a: memref<?x64xf32>, %b: memref<1x64xf32>, %c: memref<?x64xf32>, %n: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %y = gpu.block_id y
      %row = arith.muli %y, %c4 : index
      %x = tile.load %a[%row, %c0] rows(%n) : memref<?x64xf32> -> tensor<4x64xf32, #l>
      %z = tile.load %b[%c0, %c0] : memref<1x64xf32> -> tensor<1x64xf32, #l>
      %w = tile.broadcast %z : tensor<1x64xf32, #l> -> tensor<4x64xf32, #l>
      %sum = arith.addf %x, %w : tensor<4x64xf32, #l>
      %zero = arith.constant dense<0.0> : tensor<4x64xf32, #l>
      %positive = arith.cmpf ogt, %sum, %zero : tensor<4x64xf32, #l>
      %exp = math.exp %sum : tensor<4x64xf32, #l>
      %r = arith.select %positive, %exp, %sum : tensor<4x64xi1, #l>, tensor<4x64xf32, #l>
      tile.store %r, %c[%row, %c0] rows(%n) : tensor<4x64xf32, #l>, memref<?x64xf32>
      tile.return
    })";
  Matrix<float> a = numbers(7, 64, 1), b = numbers(1, 64, 2), c(8, 64, kUntouched), expected = c;
  Matrix<int32_t> n = size(7);
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 64; ++j) {
      float sum = a(i, j) + b(0, j);
      expected(i, j) = sum > 0 ? std::exp(sum) : sum;
    }
  run(text, {a, b, c, n}, {1, 2, 1});
  expectNear(c, expected, 1e-5);
}

// A width that no vector divides, and a tile that extends past it.
TEST(KernelTest, elementwiseWithColumnLimit) {
  const char *text = R"(
    #l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = $vector>
    tile.func @kernel(%a: memref<5x$widthxf32>, %c: memref<5x$widthxf32>, %n: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = $vector : i64} {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %x = gpu.block_id x
      %column = arith.muli %x, %c32 : index
      %t = tile.load %a[%c0, %column] columns(%n) : memref<5x$widthxf32> -> tensor<5x32xf32, #l>
      %one = arith.constant dense<1.0> : tensor<5x32xf32, #l>
      %r = arith.addf %t, %one : tensor<5x32xf32, #l>
      tile.store %r, %c[%c0, %column] columns($limit) : tensor<5x32xf32, #l>, memref<5x$widthxf32>
      tile.return
    })";
  // A limit known only at run time may fall inside a vector. Past it the load reads zero and the sum is 1.
  struct Case {
    int64_t width, limit;
    const char *vector, *store;
  };
  for (Case test : {Case{37, 37, "1", "%n"}, Case{40, 30, "4", "%n"}, Case{64, 30, "4", "%c32"}}) {
    Matrix<float> a = numbers(5, test.width, 3), c(5, test.width, kUntouched), expected = c;
    Matrix<int32_t> n = size(int32_t(test.limit));
    int64_t written = test.store == std::string("%n") ? test.limit : 32;
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < written; ++j)
        expected(i, j) = (j < test.limit ? a(i, j) : 0) + 1;
    run(fill(text, {{"$width", std::to_string(test.width)}, {"$vector", test.vector}, {"$limit", test.store}}),
        {a, c, n}, {2, 1, 1});
    expectNear(c, expected, 0);
  }
}

TEST(KernelTest, transposedLoad) {
  const char *text = R"(
    #l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
    tile.func @kernel(%a: memref<?x12xf32>, %c: memref<12x32xf32>, %n: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
      %c0 = arith.constant 0 : index
      %t = tile.load %a[%c0, %c0] rows(%n) {transposed} : memref<?x12xf32> -> tensor<12x32xf32, #l>
      tile.store %t, %c[%c0, %c0] : tensor<12x32xf32, #l>, memref<12x32xf32>
      tile.return
    })";
  Matrix<float> a = numbers(27, 12, 4), c(12, 32, kUntouched), expected(12, 32);
  Matrix<int32_t> n = size(27);
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t j = 0; j < 27; ++j)
      expected(i, j) = a(j, i);
  run(text, {a, c, n}, {1, 1, 1});
  expectNear(c, expected, 0);
}

TEST(KernelTest, gather) {
  const char *text = R"(
    #l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
    tile.func @kernel(%a: memref<11x64xf32>, %ids: memref<?x1xi32>, %c: memref<?x64xf32>, %n: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
      %c0 = arith.constant 0 : index
      %rows = tile.load %ids[%c0, %c0] rows(%n) : memref<?x1xi32> -> tensor<4x1xi32, #l>
      %t = tile.gather %a[%rows, %c0] : memref<11x64xf32>, tensor<4x1xi32, #l> -> tensor<4x64xf32, #l>
      tile.store %t, %c[%c0, %c0] rows(%n) : tensor<4x64xf32, #l>, memref<?x64xf32>
      tile.return
    })";
  Matrix<float> a = numbers(11, 64, 5), c(4, 64, kUntouched), expected = c;
  Matrix<int32_t> ids(3, 1), n = size(3);
  ids.values = {10, 0, 7};
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 64; ++j)
      expected(i, j) = a(ids(i, 0), j);
  run(text, {a, ids, c, n}, {1, 1, 1});
  expectNear(c, expected, 0);
}

//===-- Matmuls -------------------------------------------------------------------------------------------------===//

struct Product {
  const char *name;
  bool transposeLhs, transposeRhs, lanesAlongRows;
  int64_t rows, columns, depth;             // of the matrices
  int64_t tileRows, tileColumns, tileDepth; // of a workgroup's tiles
  int64_t vector;
};

class ProductTest : public testing::TestWithParam<Product> {};

TEST_P(ProductTest, matchesLoops) {
  const Product &p = GetParam();
  const char *text = R"(
    #distributed = #tile.simt<lanes = [$lanes], strides = [1, 1], vector = $vector>
    #turned = #tile.simt<lanes = [$turned], strides = [1, 1], vector = $vector>
    #whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = $vector>
    tile.func @kernel(%a: memref<$lhsx$lhswxf32>, %b: memref<$rhsx$rhswxf32>, %c: memref<$mx$nxf32>, %m: index, %k: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<$mapping>, vector = $vector : i64} {
      %x = gpu.block_id x
      %y = gpu.block_id y
      %c0 = arith.constant 0 : index
      %n = arith.constant $n : index
      %tm = arith.constant $tm : index
      %tn = arith.constant $tn : index
      %tk = arith.constant $tk : index
      %row = arith.muli %y, %tm : index
      %column = arith.muli %x, %tn : index
      %zero = arith.constant dense<0.0> : tensor<$tmx$tnxf32, #distributed>
      %sum = scf.for %i = %c0 to %k step %tk iter_args(%s = %zero) -> tensor<$tmx$tnxf32, #distributed> {
        %l = tile.load %a[$lhsat : memref<$lhsx$lhswxf32> -> tensor<$ltxf32, #$lhslayout>
        %r = tile.load %b[$rhsat : memref<$rhsx$rhswxf32> -> tensor<$rtxf32, #$rhslayout>
        %d = tile.dot %l, %r, %s {$transposes} : tensor<$ltxf32, #$lhslayout>, tensor<$rtxf32, #$rhslayout> -> tensor<$tmx$tnxf32, #distributed>
        scf.yield %d : tensor<$tmx$tnxf32, #distributed>
      }
      tile.store %sum, %c[%row, %column] rows(%m) columns(%n) : tensor<$tmx$tnxf32, #distributed>, memref<$mx$nxf32>
      tile.return
    })";
  auto number = [](int64_t value) { return std::to_string(value); };
  auto shape = [](int64_t rows, int64_t columns, bool swap) {
    return swap ? std::to_string(columns) + "x" + std::to_string(rows)
                : std::to_string(rows) + "x" + std::to_string(columns);
  };
  std::string transposes = p.transposeLhs ? "transpose_lhs" : p.transposeRhs ? "transpose_rhs" : "";
  std::string filled = fill(
      text, {{"$lanes", p.lanesAlongRows ? "8, 1" : "1, 8"},
             {"$turned", p.lanesAlongRows ? "1, 8" : "8, 1"},
             {"$vector", number(p.vector)},
             {"$mapping", p.lanesAlongRows ? "rows" : "columns"},
             {"$transposes", transposes},
             {"$lhslayout", !p.lanesAlongRows ? "whole"
                            : p.transposeLhs  ? "turned"
                                              : "distributed"},
             {"$rhslayout", p.lanesAlongRows ? "whole"
                            : p.transposeRhs ? "turned"
                                             : "distributed"},
             {"$lhsat", p.transposeLhs ? "%i, %row] rows(%k) columns(%m)" : "%row, %i] rows(%m) columns(%k)"},
             {"$rhsat", p.transposeRhs ? "%column, %i] rows(%n) columns(%k)" : "%i, %column] rows(%k) columns(%n)"},
             {"$lhsw", number(p.transposeLhs ? p.rows : p.depth)},
             {"$rhsw", number(p.transposeRhs ? p.depth : p.columns)},
             {"$lhs", "?"},
             {"$rhs", "?"},
             {"$lt", shape(p.tileRows, p.tileDepth, p.transposeLhs)},
             {"$rt", shape(p.tileDepth, p.tileColumns, p.transposeRhs)},
             {"$tm", number(p.tileRows)},
             {"$tn", number(p.tileColumns)},
             {"$tk", number(p.tileDepth)},
             {"$m", "?"},
             {"$n", number(p.columns)}});
  Matrix<float> a = p.transposeLhs ? numbers(p.depth, p.rows, 6) : numbers(p.rows, p.depth, 6);
  Matrix<float> b = p.transposeRhs ? numbers(p.columns, p.depth, 7) : numbers(p.depth, p.columns, 7);
  Matrix<float> untouched(p.rows + 1, p.columns, kUntouched), expected = untouched;
  Matrix<int32_t> m = size(int32_t(p.rows)), k = size(int32_t(p.depth));
  for (int64_t i = 0; i < p.rows; ++i)
    for (int64_t j = 0; j < p.columns; ++j) {
      double sum = 0;
      for (int64_t d = 0; d < p.depth; ++d)
        sum += double(p.transposeLhs ? a(d, i) : a(i, d)) * double(p.transposeRhs ? b(j, d) : b(d, j));
      expected(i, j) = float(sum);
    }
  auto groups = [](int64_t extent, int64_t tile) { return uint32_t((extent + tile - 1) / tile); };
  for (bool texelLoads : {true, false}) {
    Matrix<float> c = untouched;
    run(filled, {a, b, c, m, k}, {groups(p.columns, p.tileColumns), groups(p.rows, p.tileRows), 1}, texelLoads);
    expectNear(c, expected, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Products, ProductTest,
                         testing::Values(Product{"plain", false, false, false, 37, 192, 48, 16, 96, 4, 4},
                                         Product{"ragged", false, false, false, 37, 196, 44, 16, 96, 16, 4},
                                         Product{"odd", false, false, false, 5, 39, 7, 4, 24, 3, 1},
                                         Product{"pairs", false, false, false, 37, 198, 46, 16, 96, 4, 2},
                                         Product{"lhsTransposed", true, false, false, 40, 192, 45, 16, 64, 4, 4},
                                         Product{"rhsTransposed", false, true, true, 37, 28, 48, 32, 12, 8, 4},
                                         Product{"rhsTransposedOdd", false, true, false, 9, 39, 48, 4, 24, 4, 1},
                                         Product{"rows", false, false, true, 37, 24, 48, 32, 24, 4, 4}),
                         [](const auto &info) { return info.param.name; });

//===-- Reductions ----------------------------------------------------------------------------------------------===//

// Lanes lie along rows, so that each has its own; or along columns, so that they must exchange values; or the rows of a
// tile are reduced.
TEST(KernelTest, reductions) {
  const char *text = R"(
    #l = #tile.simt<lanes = [$lanes], strides = [1, 1], vector = 4>
    tile.func @kernel(%a: memref<8x64xf32>, %c: memref<$resultxf32>)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
      %c0 = arith.constant 0 : index
      %t = tile.load %a[%c0, %c0] : memref<8x64xf32> -> tensor<8x64xf32, #l>
      %r = tile.reduce $combine %t dim $dim : tensor<8x64xf32, #l> -> tensor<$resultxf32, #l>
      tile.store %r, %c[%c0, %c0] : tensor<$resultxf32, #l>, memref<$resultxf32>
      tile.return
    })";
  Matrix<float> a = numbers(8, 64, 8);
  for (const char *lanes : {"8, 1", "1, 8"})
    for (const char *combine : {"sum", "max", "min"})
      for (int dim : {0, 1}) {
        Matrix<float> c(dim == 0 ? 1 : 8, dim == 0 ? 64 : 1, kUntouched), expected = c;
        for (float &value : expected.values)
          value = combine[0] == 's' ? 0.0f : combine[1] == 'a' ? -1.0f : 1.0f;
        for (int64_t i = 0; i < 8; ++i)
          for (int64_t j = 0; j < 64; ++j) {
            float &value = dim == 0 ? expected(0, j) : expected(i, 0);
            value = combine[0] == 's'   ? value + a(i, j)
                    : combine[1] == 'a' ? std::max(value, a(i, j))
                                        : std::min(value, a(i, j));
          }
        run(fill(text, {{"$lanes", lanes},
                        {"$combine", combine},
                        {"$dim", std::to_string(dim)},
                        {"$result", dim == 0 ? "1x64" : "8x1"}}),
            {a, c}, {1, 1, 1});
        expectNear(c, expected, 1e-5);
      }
}

//===-- Layouts -------------------------------------------------------------------------------------------------===//

// Converts between layouts: lanes own columns, then rows; several lanes share rows and columns, and some hold the same
// elements; bits; and a loop, in which a lane must not write elements that another has yet to read.
TEST(KernelTest, conversions) {
  const char *text = R"(
    #from = #tile.simt<$from>
    #to = #tile.simt<$to>
    tile.func @kernel(%a: memref<?x16xf32>, %c: memref<8x16xf32>, %n: index)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %zero = arith.constant dense<0.0> : tensor<8x16xf32, #to>
      %sum = scf.for %i = %c0 to %n step %c8 iter_args(%s = %zero) -> tensor<8x16xf32, #to> {
        %t = tile.load %a[%i, %c0] : memref<?x16xf32> -> tensor<8x16xf32, #from>
        %none = arith.constant dense<0.0> : tensor<8x16xf32, #from>
        %positive = arith.cmpf ogt, %t, %none : tensor<8x16xf32, #from>
        %r = tile.convert_layout %t : tensor<8x16xf32, #from> -> tensor<8x16xf32, #to>
        %b = tile.convert_layout %positive : tensor<8x16xi1, #from> -> tensor<8x16xi1, #to>
        %p = arith.select %b, %r, %zero : tensor<8x16xi1, #to>, tensor<8x16xf32, #to>
        %next = arith.addf %s, %p : tensor<8x16xf32, #to>
        scf.yield %next : tensor<8x16xf32, #to>
      }
      tile.store %sum, %c[%c0, %c0] : tensor<8x16xf32, #to>, memref<8x16xf32>
      tile.return
    })";
  Matrix<float> a = numbers(24, 16, 9);
  Matrix<int32_t> n = size(24);
  const char *layouts[] = {
      "lanes = [1, 8], strides = [1, 1], vector = 2", "lanes = [8, 1], strides = [1, 1], vector = 4",
      "lanes = [2, 4], strides = [4, 1], vector = 1", "lanes = [1, 4], strides = [1, 1], vector = 4",
      "lanes = [1, 1], strides = [1, 1], vector = 4"};
  for (size_t first = 0; first < std::size(layouts); ++first)
    for (size_t further : {1, 2}) {
      const char *from = layouts[first], *to = layouts[(first + further) % std::size(layouts)];
      Matrix<float> c(8, 16, kUntouched), expected = c;
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t j = 0; j < 16; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < 24; k += 8)
            sum += std::max(a(i + k, j), 0.0f);
          expected(i, j) = sum;
        }
      run(fill(text, {{"$from", from}, {"$to", to}}), {a, c, n}, {1, 1, 1});
      SCOPED_TRACE(std::string(from) + " to " + to);
      expectNear(c, expected, 0);
    }
}

//===-- Random numbers ------------------------------------------------------------------------------------------===//

/// Philox4x32-10, as defined by its authors.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

TEST(KernelTest, philoxIsTheAuthors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(KernelTest, random) {
  const char *text = R"(
    #l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = $vector>
    tile.func @kernel(%seed: memref<1x4xi32>, %c: memref<6x64xf32>)
        attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = $vector : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %low = memref.load %seed[%c0, %c0] : memref<1x4xi32>
      %high = memref.load %seed[%c0, %c1] : memref<1x4xi32>
      %step = memref.load %seed[%c0, %c2] : memref<1x4xi32>
      %stream = memref.load %seed[%c0, %c3] : memref<1x4xi32>
      %rows = tile.index %c3 dim 0 : tensor<6x1xi32, #l>
      %columns = tile.index %c0 dim 1 : tensor<1x64xi32, #l>
      %i = tile.broadcast %rows : tensor<6x1xi32, #l> -> tensor<6x64xi32, #l>
      %j = tile.broadcast %columns : tensor<1x64xi32, #l> -> tensor<6x64xi32, #l>
      %t = tile.random seed(%low, %high) step %step stream %stream at (%i, $columns) : tensor<6x64xi32, #l> -> tensor<6x64xf32, #l>
      tile.store %t, %c[%c0, %c0] : tensor<6x64xf32, #l>, memref<6x64xf32>
      tile.return
    })";
  Matrix<int32_t> seed(1, 4);
  seed.values = {int32_t(0xa4093822), 0x299f31d0, 0x03707344, 5};
  for (const char *vector : {"4", "2", "1"})
    for (const char *columns : {"%j", "%i"}) { // with rows in place of columns, numbers do not run along a register
      Matrix<float> c(6, 64, kUntouched), expected(6, 64);
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t j = 0; j < 64; ++j) {
          uint32_t row = uint32_t(i + 3), column = columns[1] == 'j' ? uint32_t(j) : row;
          auto words = philox({column / 4, row, 5, 0x03707344}, {0xa4093822, 0x299f31d0});
          expected(i, j) = float(words[column % 4] >> 8) * 0x1p-24f;
        }
      run(fill(text, {{"$vector", vector}, {"$columns", columns}}), {seed, c}, {1, 1, 1});
      expectNear(c, expected, 0);
    }
}

} // namespace
} // namespace heddle::test
