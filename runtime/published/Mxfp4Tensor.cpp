#include "runtime/published/Mxfp4Tensor.h"

#include <cmath>

namespace heddle {
namespace {

constexpr int64_t kBytes = 16, kNumbers = 2 * kBytes; // of a block
constexpr int kBias = 127;                            // of the exponents

// The numbers of E2M1: a sign, two bits of exponent and one of mantissa (OCP Microscaling Formats 1.0, 5.3.3).
constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

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

Result<HostTensor> Mxfp4Tensor::read() const {
  const Shape &shape = blocks->shape;
  bool fits = shape.size() == 4 && shape[3] == kBytes && blocks->bytes > 0 &&
              scales->shape == Shape(shape.begin(), shape.end() - 1);
  if (!fits)
    return makeError(ErrorKind::Malformed, "'", blockFile->path().string(), "' has the MXFP4 tensor '", name,
                     "' of a shape that Heddle does not know: its blocks are groups x outputs x blocks x ", kBytes,
                     " bytes, and each block has a byte of scales. Download the model again.");
  int64_t groups = shape[0], outputs = shape[1], inputs = shape[2] * kNumbers;
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(ElementType::F32, {groups, inputs, outputs}));
  std::span<float> values = tensor.values<float>();
  std::vector<std::byte> bytes(size_t(outputs * shape[2] * kBytes)), exponents(size_t(outputs * shape[2]));
  for (int64_t group = 0; group < groups; ++group) {
    HEDDLE_CHECK(blockFile->read(*blocks, uint64_t(group) * bytes.size(), bytes));
    HEDDLE_CHECK(scaleFile->read(*scales, uint64_t(group) * exponents.size(), exponents));
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t input = 0; input < inputs; ++input) {
        int64_t number = output * inputs + input;
        int pair = std::to_integer<int>(bytes[size_t(number / 2)]);
        int exponent = std::to_integer<int>(exponents[size_t(number / kNumbers)]);
        values[size_t((group * inputs + input) * outputs + output)] =
            std::ldexp(kValues[pair >> (number % 2 * 4) & 15], exponent - kBias);
      }
  }
  return tensor;
}

} // namespace heddle
