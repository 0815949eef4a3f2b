#include "runtime/published/Mxfp4Tensor.h"

#include "runtime/core/GgufTypes.h"

#include <cmath>

namespace heddle {
namespace {

constexpr size_t kBytes = 16, kNumbers = 2 * kBytes; // of a block
constexpr int kBias = 127;                           // of the exponents

// The numbers of E2M1: a sign, two bits of exponent and one of mantissa (OCP Microscaling Formats 1.0, 5.3.3).
constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

// The first number of a byte is in its lower half.
int codeOf(std::span<const std::byte> bytes, size_t number) {
  return std::to_integer<int>(bytes[number / 2]) >> (number % 2 * 4) & 15;
}

} // namespace

std::optional<Mxfp4Tensor> Mxfp4Tensor::find(const std::map<std::string, SafetensorsReader> &files,
                                             std::string_view name) {
  Mxfp4Tensor tensor;
  tensor.name = name;
  auto findBytes = [](const SafetensorsReader &reader, const std::string &name) {
    const OtherTensor *found = reader.passedOver(name);
    return found && found->type == "U8" ? found : nullptr;
  };
  for (const auto &[file, reader] : files) {
    if (const OtherTensor *found = findBytes(reader, tensor.name + "_blocks"))
      tensor.blocks = found, tensor.blockFile = &reader;
    if (const OtherTensor *found = findBytes(reader, tensor.name + "_scales"))
      tensor.scales = found, tensor.scaleFile = &reader;
  }
  return tensor.blocks && tensor.scales ? std::optional(tensor) : std::nullopt;
}

Status Mxfp4Tensor::checkShape() const {
  const Shape &shape = blocks->shape;
  bool fits = shape.size() == 4 && shape[3] == int64_t(kBytes) && blocks->bytes > 0 &&
              scales->shape == Shape(shape.begin(), shape.end() - 1);
  if (fits)
    return Success();
  return makeError(ErrorKind::Malformed, "'", blockFile->path().string(), "' has the MXFP4 tensor '", name,
                   "' of a shape that Heddle does not know: its blocks are groups x outputs x blocks x ", kBytes,
                   " bytes, and each block has a byte of scales. Download the model again.");
}

Status Mxfp4Tensor::forGroups(
    const std::function<void(int64_t, std::span<const std::byte>, std::span<const std::byte>)> &take) const {
  const Shape &shape = blocks->shape;
  std::vector<std::byte> exponents(size_t(shape[1] * shape[2])), bytes(exponents.size() * kBytes);
  for (int64_t group = 0; group < shape[0]; ++group) {
    HEDDLE_CHECK(blockFile->read(*blocks, uint64_t(group) * bytes.size(), bytes));
    HEDDLE_CHECK(scaleFile->read(*scales, uint64_t(group) * exponents.size(), exponents));
    take(group, bytes, exponents);
  }
  return Success();
}

Result<HostTensor> Mxfp4Tensor::read() const {
  HEDDLE_CHECK(checkShape());
  int64_t outputs = blocks->shape[1], inputs = blocks->shape[2] * int64_t(kNumbers);
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(ElementType::F32, {blocks->shape[0], inputs, outputs}));
  std::span<float> values = tensor.values<float>();
  HEDDLE_CHECK(forGroups([&](int64_t group, std::span<const std::byte> bytes, std::span<const std::byte> exponents) {
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t input = 0; input < inputs; ++input) {
        auto number = size_t(output * inputs + input);
        int exponent = std::to_integer<int>(exponents[number / kNumbers]);
        values[size_t((group * inputs + input) * outputs + output)] =
            std::ldexp(kValues[codeOf(bytes, number)], exponent - kBias);
      }
  }));
  return tensor;
}

Result<PackedTensor> Mxfp4Tensor::readPacked() const {
  HEDDLE_CHECK(checkShape());
  PackedTensor packed;
  packed.format = *findGgufType("MXFP4")->format;
  HEDDLE_CHECK(packed.forEach([&](HostTensor &part, int64_t ofGroup) -> Status {
    Shape shape{blocks->shape[0], blocks->shape[1], blocks->shape[2] * int64_t(kNumbers) / ofGroup};
    HEDDLE_ASSIGN(part, HostTensor::uninitialized(ElementType::F32, shape));
    return Success();
  }));
  std::span<float> numbers = packed.numbers.values<float>(), factors = packed.scales.values<float>();
  HEDDLE_CHECK(forGroups([&](int64_t group, std::span<const std::byte> bytes, std::span<const std::byte> exponents) {
    size_t first = size_t(group) * exponents.size();
    for (size_t block = 0; block < exponents.size(); ++block) // the table has the doubled numbers
      factors[first + block] = std::ldexp(1.0f, std::to_integer<int>(exponents[block]) - kBias - 1);
    for (size_t number = 0; number < exponents.size() * kNumbers; ++number)
      numbers[first * kNumbers + number] = float(codeOf(bytes, number));
  }));
  return packed;
}

} // namespace heddle
