// Compares what was computed with what was expected.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::run {

// A value is right where |actual - expected| <= tolerance * (1 + |expected|); integers must be equal, a NaN is right
// where a NaN is expected, an infinity where the same infinity is.
struct Comparison {
  uint64_t values = 0, wrong = 0;
  double largestAbsolute = 0, largestRelative = 0; // relative to |expected|, where that is not zero
  uint64_t firstWrong = 0;                         // its index in row-major order
  double firstActual = 0, firstExpected = 0;

  bool matches() const { return wrong == 0; }
  std::string describe() const;
};

// Fails where types or shapes differ.
Result<Comparison> compare(const TensorView &actual, const TensorView &expected, double tolerance);

// Compares several tensors, each of them as a whole, by norms: one of f32 is right where the norm of its error is at
// most `tolerance` times its own norm, or, where that is all but nothing beside the others of f32 of its group
// (gradients that are zero but for rounding), times a hundredth of theirs. Only tensors of one sort belong in a group.
// Numbers smaller than the `floor` count as large as that: results that are zero but for rounding have no size of their
// own. Integers must be equal, and a NaN is wrong.
class WholeComparison {
public:
  explicit WholeComparison(double floor = 0) : floor(floor) {}

  // Fails where types or shapes differ.
  Status add(const std::string &name, const std::string &group, const TensorView &actual, const TensorView &expected);

  // A tensor that is not right: its error relative to the scale, a norm.
  struct Wrong {
    std::string name;
    double error, scale;

    std::string describe() const; // 'name' (error)
  };
  struct Verdict {
    size_t tensors = 0;
    double worst = 0; // relative error
    std::vector<Wrong> wrong;
  };
  Verdict judge(double tolerance) const;

private:
  struct Compared {
    std::string name, group;
    bool isFloat;
    double error, expected; // sums of squares
    size_t count;
  };
  double floor;
  std::vector<Compared> compared;
  std::map<std::string, double> ofGroup; // the sum of squares of all f32 that is expected
};

} // namespace heddle::run
