// Modules with one entry, written op by op, to be run in the reference interpreter.
#pragma once

#include "compiler/Reference/Interpreter.h"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

// An extent, or a run-time size's name.
struct Dim {
  int64_t extent = 0;
  std::string size;

  Dim(int64_t extent) : extent(extent) {}
  Dim(int extent) : extent(extent) {}
  Dim(const char *size) : size(size) {}
};
using Dims = std::vector<Dim>;

// A batch: the sequences of both sides (attention's queries and keys), and the columns of a row.
struct Shape {
  std::vector<int64_t> lengths, keyLengths; // equally many of both
  int64_t heads = 1, keyHeads = 1, width = 1;

  int64_t columns() const { return heads * width; }
  // Returns the number of 2 x 2 pixel blocks. Each sequence has an image, as many blocks high as there are heads and as
  // many wide as there are key heads.
  int64_t pixelBlocks() const { return static_cast<int64_t>(lengths.size()) * heads * keyHeads; }
  int64_t longestKey() const;
  std::string describe() const;
};

class Program {
public:
  // Declares the sizes `tokens` and `keys` (the rows of the two sides), `sequences`, `pixels`, `pixel_blocks`, and the
  // longest sequences, `length` and `key_length`.
  explicit Program(const Shape &shape);

  const Shape &shape() const { return batch; }
  static std::string type(const Dims &dims, const std::string &element = "f32");

  // Adds a value that depends on a weight of the same name. If its first extent is a size, it consists of rows of the
  // weight, each used once. The weight's numbers lie in [from, from + 1).
  std::string weight(const std::string &name, const Dims &dims, double from = -0.5);
  // Adds a weight whose gradient must be zero.
  std::string ignoredWeight(const std::string &name, const Dims &dims);

  // Adds an input with the given numbers, row by row, or with random f32 numbers in [-1, 1).
  std::string input(const std::string &name, const Dims &dims, const std::vector<double> &numbers,
                    const std::string &element = "i32");
  std::string randomInput(const std::string &name, const Dims &dims);
  // Adds the batch's sequences: "%starts", "%lengths", "%key_starts", "%key_lengths".
  void addSequences();

  // Adds an op on a line; a value's name must be new.
  void line(const std::string &op) { body += "  " + op + "\n"; }
  // Adds to the loss the sum of the value's numbers, each multiplied by a random number.
  void addLoss(const std::string &value, const Dims &dims);

  // Returns the module to differentiate: it accumulates the gradients of the loss, and returns the loss.
  std::string text() const;

  int64_t extent(const Dim &dim) const;
  const std::vector<mlir::heddle::reference::Array> &inputs() const { return values; }
  const std::map<std::string, mlir::heddle::reference::Array> &weights() const { return start; }
  bool isIgnored(const std::string &weight) const { return ignored.count(weight) != 0; }

private:
  mlir::heddle::reference::Array array(const Dims &dims) const;
  std::string sum(const std::string &value, Dims dims);
  std::string rowsOf(const std::string &size); // an input with all row numbers of that size

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
