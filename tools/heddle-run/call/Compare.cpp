#include "tools/heddle-run/call/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::run {
namespace {

// Infinities and NaN agree with themselves.
bool agree(double actual, double expected) {
  return actual == expected || (std::isnan(actual) && std::isnan(expected));
}

template <typename T>
void compareValues(std::span<const T> actual, std::span<const T> expected, double tolerance, Comparison &result) {
  result.values = expected.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    double got = double(actual[i]), want = double(expected[i]);
    if (agree(got, want))
      continue;
    double difference = std::abs(got - want);
    if (std::isnan(difference))
      difference = std::numeric_limits<double>::infinity();
    result.largestAbsolute = std::max(result.largestAbsolute, difference);
    if (want != 0)
      result.largestRelative = std::max(result.largestRelative, difference / std::abs(want));
    bool close = std::is_same_v<T, float> && std::isfinite(want) && difference <= tolerance * (1 + std::abs(want));
    if (close)
      continue;
    if (result.wrong++ == 0) {
      result.firstWrong = i;
      result.firstActual = got;
      result.firstExpected = want;
    }
  }
}

// Returns the sums of squares of the error and of the expected values.
template <typename T> std::pair<double, double> squares(std::span<const T> actual, std::span<const T> expected) {
  double ofError = 0, ofExpected = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double got = double(actual[i]), want = double(expected[i]);
    ofError += agree(got, want) ? 0 : (got - want) * (got - want);
    ofExpected += std::isfinite(want) ? want * want : 0;
  }
  return {ofError, ofExpected};
}

} // namespace

std::string Comparison::describe() const {
  std::string text = str("largest absolute error ", largestAbsolute, ", relative ", largestRelative);
  if (wrong != 0)
    text += str("; ", wrong, " of ", values, " values are wrong, the first at index ", firstWrong, ": ", firstActual,
                " instead of ", firstExpected);
  return text;
}

Result<Comparison> compare(const TensorView &actual, const TensorView &expected, double tolerance) {
  if (actual.type != expected.type || !std::ranges::equal(actual.shape, expected.shape))
    return makeError(ErrorKind::InvalidArgument, "it is ", describe(actual.type, actual.shape), ", and ",
                     describe(expected.type, expected.shape), " is expected.");
  Comparison result;
  if (actual.type == ElementType::F32)
    compareValues(actual.values<float>(), expected.values<float>(), tolerance, result);
  else
    compareValues(actual.values<int32_t>(), expected.values<int32_t>(), tolerance, result);
  return result;
}

std::string WholeComparison::Wrong::describe() const { return str("'", name, "' (", error, ")"); }

Status WholeComparison::add(const std::string &name, const std::string &group, const TensorView &actual,
                            const TensorView &expected) {
  if (actual.type != expected.type || !std::ranges::equal(actual.shape, expected.shape))
    return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(actual.type, actual.shape), ", and ",
                     describe(expected.type, expected.shape), " is expected.");
  bool isFloat = actual.type == ElementType::F32;
  auto [ofError, ofExpected] = isFloat ? squares(actual.values<float>(), expected.values<float>())
                                       : squares(actual.values<int32_t>(), expected.values<int32_t>());
  compared.push_back({name, group, isFloat, ofError, ofExpected, expected.bytes.size() / kElementBytes});
  ofGroup[group] += isFloat ? ofExpected : 0; // integers do not count towards the scale of floats
  return Success();
}

WholeComparison::Verdict WholeComparison::judge(double tolerance) const {
  Verdict verdict{compared.size()};
  for (const Compared &tensor : compared) {
    double scale = std::max({std::sqrt(tensor.expected), 0.01 * std::sqrt(ofGroup.at(tensor.group)),
                             floor * std::sqrt(double(tensor.count))});
    double error = tensor.error == 0 ? 0 : std::sqrt(tensor.error) / scale;
    verdict.worst = std::max(verdict.worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    bool right = tensor.isFloat ? error <= tolerance : tensor.error == 0; // a NaN on one side is wrong
    if (!right)
      verdict.wrong.push_back({tensor.name, error, scale});
  }
  return verdict;
}

} // namespace heddle::run
