#include "runtime/core/Tensor.h"

#include <cstdio>
#include <limits>
#include <new>

namespace heddle {

const char *toString(ElementType type) { return type == ElementType::F32 ? "f32" : "i32"; }

std::string describe(ElementType type, std::span<const int64_t> shape) {
  std::string text = std::string(toString(type)) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<int64_t> elementCount(std::span<const int64_t> shape) {
  constexpr int64_t limit = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(kElementBytes);
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    // Continue after a zero: [0, huge, huge] has no elements, but the product of its other extents must not overflow.
    if (extent == 0)
      empty = true;
    else if (count > limit / extent)
      return std::nullopt;
    else
      count *= extent;
  }
  return empty ? 0 : count;
}

Result<HostTensor> HostTensor::uninitialized(ElementType type, Shape shape) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    return makeError(ErrorKind::InvalidArgument, describe(type, shape), " is not a tensor shape that memory can hold.");
  HostTensor tensor;
  tensor.elementType = type;
  tensor.extents = std::move(shape);
  tensor.size = static_cast<size_t>(*count) * kElementBytes;
  tensor.data.reset(new (std::nothrow) std::byte[tensor.size]);
  if (!tensor.data)
    return makeError(ErrorKind::OutOfMemory, "there is no host memory for ", describe(type, tensor.extents), " (",
                     describeBytes(tensor.size), ").");
  return tensor;
}

std::string describeBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

} // namespace heddle
