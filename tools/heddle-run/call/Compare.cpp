#include "tools/heddle-run/call/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::run {
namespace {

template <typename T>
void compareValues(std::span<const T> actual, std::span<const T> expected, double tolerance, Comparison &result) {
  result.values = expected.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    double got = double(actual[i]), want = double(expected[i]);
    bool same = got == want || (std::isnan(got) && std::isnan(want));
    if (same)
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

} // namespace heddle::run
