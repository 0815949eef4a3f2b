// Modules of one entry, written op by op for runs in the reference interpreter.
#pragma once

#include "compiler/Reference/Interpreter.h"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

// An extent, or the name of a run-time size.
struct Dim {
  int64_t extent = 0;
  std::string size;

  Dim(int64_t extent) : extent(extent) {}
  Dim(int extent) : extent(extent) {}
  Dim(const char *size) : size(size) {}
};
using Dims = std::vector<Dim>;

// A batch: the sequences of two sides, of which attention's queries and keys are, and the columns of a row.
struct Shape {
  std::vector<int64_t> lengths, keyLengths; // as many of both
  int64_t heads = 1, keyHeads = 1, width = 1;

  int64_t columns() const { return heads * width; }
  // Blocks of 2 x 2 pixels, of an image for each sequence that is as many blocks high as there are heads, and wide as
  // those of keys.
  int64_t pixelBlocks() const { return static_cast<int64_t>(lengths.size()) * heads * keyHeads; }
  int64_t longestKey() const;
  std::string describe() const;
};

class Program {
public:
  // Sizes: `tokens` and `keys`, the rows of the two sides; `sequences`; `pixels` and `pixel_blocks`; the longest
  // sequences `length` and `key_length`.
  explicit Program(const Shape &shape);

  const Shape &shape() const { return batch; }
  static std::string type(const Dims &dims, const std::string &element = "f32");

  // A value that depends on a weight of the same name. With a size for its first extent it is rows of the weight, each
  // of them once. The weight's numbers lie in [from, from + 1).
  std::string weight(const std::string &name, const Dims &dims, double from = -0.5);
  // A weight whose gradient must be zero.
  std::string ignoredWeight(const std::string &name, const Dims &dims);

  // An input, of which the numbers are given, row by row, or random in [-1, 1) of f32.
  std::string input(const std::string &name, const Dims &dims, const std::vector<double> &numbers,
                    const std::string &element = "i32");
  std::string randomInput(const std::string &name, const Dims &dims);
  // The batch's sequences: "%starts", "%lengths", "%key_starts", "%key_lengths".
  void addSequences();

  // Ops, a line each; a value's name must be new.
  void line(const std::string &op) { body += "  " + op + "\n"; }
  // The loss: the sum of the value's numbers, each times a random one.
  void addLoss(const std::string &value, const Dims &dims);

  // The module, to be differentiated: it adds up the gradients of the loss, and returns the loss.
  std::string text() const;

  int64_t extent(const Dim &dim) const;
  const std::vector<mlir::heddle::reference::Array> &inputs() const { return values; }
  const std::map<std::string, mlir::heddle::reference::Array> &weights() const { return start; }
  bool isIgnored(const std::string &weight) const { return ignored.count(weight) != 0; }

private:
  mlir::heddle::reference::Array array(const Dims &dims) const;
  std::string sum(const std::string &value, Dims dims);
  std::string rowsOf(const std::string &size); // an input of all row numbers of that size

  Shape batch;
  std::mt19937 generator{17};
  std::string declarations, arguments, body, loss;
  std::vector<mlir::heddle::reference::Array> values;
  std::map<std::string, mlir::heddle::reference::Array> start;
  std::map<std::string, bool> ignored;
  std::map<std::string, std::string> permutations;
  int next = 0;
};

} // namespace heddle::test
