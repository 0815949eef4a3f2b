// The tensor types of GGUF files: plain numbers, and blocks of small integers with a scale. Blocks lie along a tensor's
// last dimension.
#pragma once

#include "runtime/core/GgufBlocks.h"
#include "runtime/core/PackedFormat.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct GgufType {
  uint32_t number; // in the file
  const char *name;
  uint32_t values;            // of a block; 0: Heddle only knows the type's name
  uint32_t bytes;             // of a block
  WidenNumber *widen;         // plain numbers only; null: numbers are packed
  UnpackBlock *unpack;        // packed numbers only
  const PackedFormat *format; // packed numbers only: a format of kernels that holds them exactly
  NarrowBlock *narrow;        // null: Heddle does not write the type

  bool isRead() const { return values != 0; }
};

inline constexpr uint32_t kGgufF32 = 0; // the number of type F32

// Returns the type of a tensor of this shape in a file whose matrices have the wanted type. Vectors are F32. If a
// matrix's rows are not whole blocks of the wanted type, it is Q8_0 if that has smaller blocks that fit, else F32.
const GgufType &typeOfTensor(const GgufType &wanted, std::span<const int64_t> shape);

// Returns the value of general.file_type for a file in which most matrices have this type. GGUF numbers file types and
// tensor types differently.
uint32_t ggufFileType(uint32_t type);

// These return null for an unknown type.
const GgufType *findGgufType(uint32_t number);
const GgufType *findGgufType(std::string_view name);
// Returns the type's name, or "type 77" for an unknown type.
std::string nameOfGgufType(uint32_t number);
// "F32, F16, BF16, ...": the types that Heddle reads.
std::string readGgufTypes();

// Returns a type that Heddle writes, or null.
const GgufType *findWrittenType(std::string_view name);
// The names of the types that Heddle writes.
std::string writtenGgufTypes();

// Unpacks whole blocks. `blocks` has type.bytes bytes for every type.values numbers of `values`.
void widenBlocks(const GgufType &type, std::span<const std::byte> blocks, std::span<float> values);
// Packs the numbers, rounded to nearest. Heddle must be able to write the type.
std::vector<std::byte> narrowBlocks(const GgufType &type, std::span<const float> values);

} // namespace heddle
