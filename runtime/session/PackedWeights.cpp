#include "runtime/session/PackedWeights.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

// What a group's largest magnitude is divided by.
float scaleOf(float extreme, int64_t bits) { return bits == 8 ? std::fabs(extreme) / 127 : extreme / -8; }

} // namespace

Result<PackedWeight> packWeight(const TensorView &values, const Shape &words, const Shape &scales) {
  auto is = [](const Shape &shape) { return shape.size() == 2 && shape[0] > 0 && shape[1] > 0; };
  Shape whole(values.shape.begin(), values.shape.end());
  auto wordsOf = [&](int64_t rows) { return is(whole) ? (whole[0] + rows - 1) / rows : 0; };
  bool fits = values.type == ElementType::F32 && is(whole) && is(words) && is(scales) && words[1] == whole[1] &&
              (words[0] == wordsOf(4) || words[0] == wordsOf(8)) && whole[0] % scales[0] == 0 &&
              whole[1] % scales[1] == 0;
  if (!fits)
    return makeError(ErrorKind::InvalidArgument, "a weight that is ", describe(values.type, values.shape),
                     " cannot be kept as ", describe(ElementType::I32, words), " with scales ",
                     describe(ElementType::F32, scales), ".");
  int64_t rows = whole[0], columns = whole[1], bits = words[0] == wordsOf(4) ? 8 : 4;
  int64_t groupRows = rows / scales[0], groupColumns = columns / scales[1];
  PackedWeight packed;
  HEDDLE_ASSIGN(packed.words, HostTensor::uninitialized(ElementType::I32, words));
  HEDDLE_ASSIGN(packed.scales, HostTensor::uninitialized(ElementType::F32, scales));
  std::span<const float> from = values.values<float>();
  std::span<float> factors = packed.scales.values<float>();

  // The element of the largest magnitude of each group.
  std::ranges::fill(factors, 0.0f);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float value = from[size_t(row * columns + column)];
      float &extreme = factors[size_t(row / groupRows * scales[1] + column / groupColumns)];
      if (!std::isfinite(value))
        return makeError(ErrorKind::Malformed, "a weight has ", value, " in row ", row, " and column ", column,
                         ", which is not a finite number.");
      if (std::fabs(value) > std::fabs(extreme))
        extreme = value;
    }
  for (float &factor : factors)
    factor = scaleOf(factor, bits);

  std::span<int32_t> to = packed.words.values<int32_t>();
  const int64_t ofWord = 32 / bits, most = (int64_t(1) << (bits - 1)) - 1, least = bits == 8 ? -most : -most - 1;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  std::ranges::fill(to, 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float factor = factors[size_t(row / groupRows * scales[1] + column / groupColumns)];
      float quotient = factor == 0 ? 0 : from[size_t(row * columns + column)] / factor;
      auto number = static_cast<uint32_t>(std::clamp<int64_t>(std::lrint(quotient), least, most)) & mask;
      to[size_t(row / ofWord * columns + column)] |= static_cast<int32_t>(number << (bits * (row % ofWord)));
    }
  return packed;
}

} // namespace heddle
