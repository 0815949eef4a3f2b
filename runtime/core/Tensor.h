// Tensors in host memory: the inputs and outputs of calls and the contents of files. They are dense and row-major, in
// host byte order.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

enum class ElementType : uint8_t { F32, I32 };

inline constexpr size_t kElementBytes = 4; // of both types

const char *toString(ElementType type); // "f32", "i32"

template <typename T> constexpr ElementType elementTypeOf() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, int32_t>, "tensors hold float or int32_t");
  return std::is_same_v<T, float> ? ElementType::F32 : ElementType::I32;
}

// Extents in elements, outermost dimension first; empty for a scalar.
using Shape = std::vector<int64_t>;

// "f32[3,512]"
std::string describe(ElementType type, std::span<const int64_t> shape);

// Returns the product of the extents, or nothing if an extent is negative or the bytes would overflow int64.
std::optional<int64_t> elementCount(std::span<const int64_t> shape);

// A view of a tensor. The owner of its memory and its shape must outlive the view. `bytes` has kElementBytes bytes for
// each element.
struct TensorView {
  ElementType type = ElementType::F32;
  std::span<const int64_t> shape;
  std::span<const std::byte> bytes;

  template <typename T> std::span<const T> values() const {
    assert(type == elementTypeOf<T>());
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // A view of `values`; their count must be the product of `shape`.
  template <typename T> static TensorView of(std::span<const T> values, std::span<const int64_t> shape) {
    return {elementTypeOf<T>(), shape, std::as_bytes(values)};
  }
};

// A tensor that owns its memory. It can be moved but not copied.
class HostTensor {
public:
  HostTensor() = default; // f32[0]

  // The elements are undefined until the caller writes them. Fails with InvalidArgument if elementCount(shape) is
  // nothing.
  static Result<HostTensor> uninitialized(ElementType type, Shape shape);

  // Copies `values`; their count must be the product of `shape`.
  template <typename T> static Result<HostTensor> create(Shape shape, std::span<const T> values) {
    HEDDLE_ASSIGN(HostTensor tensor, uninitialized(elementTypeOf<T>(), std::move(shape)));
    if (values.size() * sizeof(T) != tensor.bytes().size())
      return makeError(ErrorKind::InvalidArgument, "a tensor ", describe(tensor.type(), tensor.shape()),
                       " cannot be made of ", values.size(), " values.");
    if (!values.empty())
      std::memcpy(tensor.bytes().data(), values.data(), values.size() * sizeof(T));
    return tensor;
  }

  // A tensor of rank 1 with a copy of `values`.
  template <typename T> static HostTensor vector(std::span<const T> values) {
    return std::move(create<T>({static_cast<int64_t>(values.size())}, values)).value();
  }
  template <typename T> static HostTensor vector(std::initializer_list<T> values) {
    return vector(std::span<const T>(values.begin(), values.size()));
  }
  template <typename T> static HostTensor vector(const std::vector<T> &values) {
    return vector(std::span<const T>(values));
  }

  ElementType type() const { return elementType; }
  const Shape &shape() const { return extents; }
  std::span<std::byte> bytes() { return {data.get(), size}; }
  std::span<const std::byte> bytes() const { return {data.get(), size}; }

  template <typename T> std::span<T> values() {
    assert(elementType == elementTypeOf<T>());
    return {reinterpret_cast<T *>(data.get()), size / sizeof(T)};
  }
  template <typename T> std::span<const T> values() const { return const_cast<HostTensor *>(this)->values<T>(); }

  TensorView view() const { return {elementType, extents, bytes()}; }
  operator TensorView() const { return view(); }

private:
  ElementType elementType = ElementType::F32;
  Shape extents = {0};
  size_t size = 0;
  std::unique_ptr<std::byte[]> data;
};

// "1.5 GiB", "12.0 KiB", "7 bytes"
std::string describeBytes(uint64_t bytes);

} // namespace heddle
