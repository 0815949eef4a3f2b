// Compares computed tensors with expected ones.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::run {

// A value is right if |actual - expected| <= tolerance * (1 + |expected|). Integers must be equal. A NaN or an infinity
// is right only if the same is expected.
struct Comparison {
  uint64_t values = 0, wrong = 0;
  double largestAbsolute = 0, largestRelative = 0; // relative to |expected|, if that is not zero
  uint64_t firstWrong = 0;                         // its index in row-major order
  double firstActual = 0, firstExpected = 0;

  bool matches() const { return wrong == 0; }
  std::string describe() const;
};

// Fails if types or shapes differ.
Result<Comparison> compare(const TensorView &actual, const TensorView &expected, double tolerance);

// Compares several tensors, each as a whole, by norms. An f32 tensor is right if the norm of its error is at most
// `tolerance` times its own norm. A tensor that is almost zero beside the other f32 tensors of its group (a gradient
// that is zero but for rounding) is compared with a hundredth of their norm instead. Only tensors of one sort belong in
// a group. Numbers below `floor` count as large as `floor`: results that are zero but for rounding have no scale of
// their own. Integers must be equal, and a NaN is wrong.
class WholeComparison {
public:
  explicit WholeComparison(double floor = 0) : floor(floor) {}

  // Fails if types or shapes differ.
  Status add(const std::string &name, const std::string &group, const TensorView &actual, const TensorView &expected);

  // A tensor that is wrong, its error relative to the scale, and the scale, which is a norm.
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
  std::map<std::string, double> ofGroup; // sum of squares of all expected f32 values of a group
};

} // namespace heddle::run
