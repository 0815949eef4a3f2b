#include "runtime/session/PackedWeights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace heddle {
namespace {

constexpr int64_t kTableSize = 16;

bool isMatrix(const Shape &shape) { return shape.size() == 2 && shape[0] > 0 && shape[1] > 0; }

const VariableInfo *findPart(Variables all, const VariableInfo *owner, VariableRole role) {
  auto found = std::ranges::find_if(
      all, [&](const VariableInfo &other) { return owner && other.role == role && other.owner == owner->name; });
  return found == all.end() ? nullptr : &*found;
}

// The variables of a weight; null if it does not have the part.
struct PartsOf {
  const VariableInfo *words, *high, *table, *scales, *scaleFactors, *offsets, *offsetFactors;

  PartsOf(Variables all, const VariableInfo &weight)
      : words(&weight), high(findPart(all, &weight, VariableRole::HighBits)),
        table(findPart(all, &weight, VariableRole::Table)), scales(findPart(all, &weight, VariableRole::Scales)),
        scaleFactors(findPart(all, scales, VariableRole::Scales)),
        offsets(findPart(all, &weight, VariableRole::Offsets)),
        offsetFactors(findPart(all, offsets, VariableRole::Scales)) {}
  // Returns true if f32 values can be rounded to the weight's format: it has only words and f32 scales.
  bool isPlain() const { return !high && !table && !offsets && !scaleFactors && scales && !scales->isNarrow(); }
};

Shape wordsOf(Shape numbers, int64_t bits) {
  int64_t ofWord = 32 / bits;
  numbers[0] = (numbers[0] + ofWord - 1) / ofWord;
  return numbers;
}

// The inverse of inPanels() for a part of a matrix of `columns` columns.
Shape withoutPanels(const Shape &stored, int64_t columns) {
  int64_t panels = columns > stored[1] && columns % stored[1] == 0 ? columns / stored[1] : 1;
  return stored[0] % panels == 0 ? Shape{stored[0] / panels, stored[1] * panels} : stored;
}

bool has(const VariableInfo *variable, bool isWanted, ElementType type, const Shape &shape) {
  return isWanted ? variable && variable->type == type && variable->shape == shape : !variable;
}

// Packs `bits` bits, from bit `shift` on, of each integer in `numbers` (stored as f32).
Result<HostTensor> packBits(const HostTensor &numbers, int64_t bits, int64_t shift = 0) {
  HEDDLE_ASSIGN(HostTensor words, HostTensor::uninitialized(ElementType::I32, wordsOf(numbers.shape(), bits)));
  std::span<const float> from = numbers.values<float>();
  std::span<int32_t> to = words.values<int32_t>();
  std::ranges::fill(to, 0);
  const int64_t rows = numbers.shape()[0], columns = numbers.shape()[1], ofWord = 32 / bits;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      auto number = static_cast<uint32_t>(static_cast<int32_t>(from[size_t(row * columns + column)])) >> shift & mask;
      to[size_t(row / ofWord * columns + column)] |= static_cast<int32_t>(number << (bits * (row % ofWord)));
    }
  return words;
}

} // namespace

Shape inPanels(const Shape &part, int64_t panel) {
  return part[0] > 1 && part[1] % panel == 0 ? Shape{part[0] * (part[1] / panel), panel} : part;
}

std::vector<std::byte> reorder(std::span<const std::byte> matrix, const Shape &shape, int64_t panel, Order order) {
  std::vector<std::byte> reordered(matrix.size());
  const int64_t rows = shape[0], columns = shape[1];
  const size_t elementBytes = matrix.size() / size_t(rows * columns), run = size_t(panel) * elementBytes;
  size_t inPanel = 0;
  for (int64_t first = 0; first < columns; first += panel)
    for (int64_t row = 0; row < rows; ++row, inPanel += run) {
      size_t inRows = size_t(row * columns + first) * elementBytes;
      bool splits = order == Order::ToPanels;
      std::memcpy(reordered.data() + (splits ? inPanel : inRows), matrix.data() + (splits ? inRows : inPanel), run);
    }
  return reordered;
}

Result<HostTensor> rearranged(HostTensor part, const Shape &shape) {
  if (part.shape() == shape)
    return part;
  HEDDLE_ASSIGN(HostTensor stored, HostTensor::uninitialized(part.type(), shape));
  bool splits = shape[1] < part.shape()[1];
  std::ranges::copy(reorder(part.bytes(), splits ? part.shape() : shape, splits ? shape[1] : part.shape()[1],
                            splits ? Order::ToPanels : Order::ToRows),
                    stored.bytes().begin());
  return stored;
}

bool isPackedWeight(Variables all, const VariableInfo &variable) {
  return variable.isWeight() && variable.type == ElementType::I32 && variable.role == VariableRole::None &&
         findPart(all, &variable, VariableRole::Scales);
}

bool keepsAs(Variables all, const VariableInfo &weight, const PackedFormat &format, const Shape &whole) {
  PartsOf variables(all, weight);
  if (!isMatrix(whole) || !isMatrix(weight.shape) || !variables.scales || variables.scales->shape.size() != 2)
    return false;
  int64_t panel = weight.shape[1];
  auto areGroupsAlong = [&](size_t contracted) {
    auto groupsOf = [&](int64_t group) {
      Shape groups = whole;
      groups[contracted] = group == 0 ? 1 : groups[contracted] / std::gcd(group, groups[contracted]);
      return groups;
    };
    auto hasGroups = [&](const VariableInfo *values, const VariableInfo *factors, bool isWanted) {
      Shape groups = groupsOf(format.group);
      if (format.scaleBits == 0)
        return has(values, isWanted, ElementType::F32, inPanels(groups, panel)) && !factors;
      return has(values, isWanted, ElementType::I32, inPanels(wordsOf(groups, format.scaleBits), panel)) &&
             has(factors, isWanted, ElementType::F32, inPanels(groupsOf(format.factorGroup), panel));
    };
    return hasGroups(variables.scales, variables.scaleFactors, true) &&
           hasGroups(variables.offsets, variables.offsetFactors, format.hasOffsets);
  };
  const VariableInfo *half = format.scaleBits == 0 ? variables.scales : variables.scaleFactors;
  return weight.shape == inPanels(wordsOf(whole, format.bits), panel) &&
         has(variables.high, format.highBits > 0, ElementType::I32,
             format.highBits > 0 ? inPanels(wordsOf(whole, format.highBits), panel) : Shape()) &&
         has(variables.table, format.table != nullptr, ElementType::F32, {1, kTableSize}) && half &&
         half->narrow == format.narrow && (areGroupsAlong(0) || areGroupsAlong(1));
}

Result<PackedParts> packParts(Variables all, const VariableInfo &weight, PackedTensor tensor) {
  PartsOf variables(all, weight);
  const PackedFormat &format = tensor.format;
  PackedParts parts;
  auto add = [&](const VariableInfo *to, HostTensor part) -> Status {
    HEDDLE_ASSIGN(HostTensor stored, rearranged(std::move(part), to->shape));
    parts.emplace_back(to->name, std::move(stored));
    return Success();
  };
  auto addBits = [&](const VariableInfo *to, const HostTensor &numbers, int64_t bits, int64_t shift = 0) -> Status {
    HEDDLE_ASSIGN(HostTensor words, packBits(numbers, bits, shift));
    return add(to, std::move(words));
  };
  auto addGroups = [&](const VariableInfo *values, const VariableInfo *factors, HostTensor &ofGroups,
                       HostTensor &ofFactors) -> Status {
    if (!factors)
      return add(values, std::move(ofGroups));
    HEDDLE_CHECK(add(factors, std::move(ofFactors)));
    return addBits(values, ofGroups, format.scaleBits);
  };
  HEDDLE_CHECK(addBits(variables.words, tensor.numbers, format.bits));
  if (variables.high)
    HEDDLE_CHECK(addBits(variables.high, tensor.numbers, format.highBits, format.bits));
  if (variables.table) {
    HEDDLE_ASSIGN(HostTensor table, HostTensor::uninitialized(ElementType::F32, {1, kTableSize}));
    std::copy_n(format.table, kTableSize, table.values<float>().begin());
    parts.emplace_back(variables.table->name, std::move(table));
  }
  HEDDLE_CHECK(addGroups(variables.scales, variables.scaleFactors, tensor.scales, tensor.scaleFactors));
  if (variables.offsets)
    HEDDLE_CHECK(addGroups(variables.offsets, variables.offsetFactors, tensor.offsets, tensor.offsetFactors));
  return parts;
}

Result<PackedWeight> packWeight(const TensorView &values, const Shape &words, const Shape &scales) {
  Shape whole(values.shape.begin(), values.shape.end());
  auto rowsOf = [&](int64_t bits) { return isMatrix(whole) ? wordsOf(whole, bits)[0] : 0; };
  bool fits = values.type == ElementType::F32 && isMatrix(whole) && isMatrix(words) && isMatrix(scales) &&
              words[1] == whole[1] && (words[0] == rowsOf(8) || words[0] == rowsOf(4)) && whole[0] % scales[0] == 0 &&
              whole[1] % scales[1] == 0;
  if (!fits)
    return makeError(ErrorKind::InvalidArgument, "a weight that is ", describe(values.type, values.shape),
                     " cannot be kept as ", describe(ElementType::I32, words), " with scales ",
                     describe(ElementType::F32, scales), ".");
  int64_t rows = whole[0], columns = whole[1], bits = words[0] == rowsOf(8) ? 8 : 4;
  int64_t groupRows = rows / scales[0], groupColumns = columns / scales[1];
  PackedWeight packed;
  HEDDLE_ASSIGN(packed.scales, HostTensor::uninitialized(ElementType::F32, scales));
  HEDDLE_ASSIGN(HostTensor numbers, HostTensor::uninitialized(ElementType::F32, whole));
  std::span<const float> from = values.values<float>();
  std::span<float> factors = packed.scales.values<float>(), to = numbers.values<float>();
  auto factorOf = [&](int64_t row, int64_t column) -> float & {
    return factors[size_t(row / groupRows * scales[1] + column / groupColumns)];
  };

  // First the element of the largest magnitude in each group, then the group's scale.
  std::ranges::fill(factors, 0.0f);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float value = from[size_t(row * columns + column)];
      float &extreme = factorOf(row, column);
      if (!std::isfinite(value))
        return makeError(ErrorKind::Malformed, "a weight has ", value, " in row ", row, " and column ", column,
                         ", which is not a finite number.");
      if (std::fabs(value) > std::fabs(extreme))
        extreme = value;
    }
  for (float &factor : factors)
    factor = bits == 8 ? std::fabs(factor) / 127 : factor / -8;

  const int64_t most = (int64_t(1) << (bits - 1)) - 1, least = bits == 8 ? -most : -most - 1;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float factor = factorOf(row, column);
      auto place = size_t(row * columns + column);
      to[place] = float(std::clamp<int64_t>(factor == 0 ? 0 : std::lrint(from[place] / factor), least, most));
    }
  HEDDLE_ASSIGN(packed.words, packBits(numbers, bits));
  return packed;
}

Result<PackedParts> packWeight(Variables all, const VariableInfo &weight, const TensorView &values) {
  PartsOf variables(all, weight);
  if (!variables.isPlain())
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact keeps this weight packed as the GGUF file has it that it was compiled from, and "
                     "nothing is rounded to that. Load that file, or compile with --weights=f32, int8 or int4.");
  int64_t columns = values.shape.size() == 2 ? values.shape[1] : 0;
  const Shape &ofScales = variables.scales->shape;
  bool splits = columns > weight.shape[1]; // then scales have groups of rows: a row of them, or panels
  HEDDLE_ASSIGN(PackedWeight packed, packWeight(values, withoutPanels(weight.shape, columns),
                                                splits ? withoutPanels(ofScales, columns) : ofScales));
  PackedParts parts;
  auto add = [&](const VariableInfo &to, HostTensor part) -> Status {
    HEDDLE_ASSIGN(HostTensor stored, rearranged(std::move(part), to.shape));
    parts.emplace_back(to.name, std::move(stored));
    return Success();
  };
  HEDDLE_CHECK(add(weight, std::move(packed.words)));
  HEDDLE_CHECK(add(*variables.scales, std::move(packed.scales)));
  return parts;
}

} // namespace heddle
