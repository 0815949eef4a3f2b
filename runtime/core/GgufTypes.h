// The types that tensors of GGUF files have: plain numbers, and blocks of small whole numbers with a scale. Blocks lie
// along a tensor's last dimension.
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
  uint32_t values;            // of a block; 0: Heddle knows the type's name alone
  uint32_t bytes;             // of a block
  WidenNumber *widen;         // of plain numbers; null: numbers are packed
  UnpackBlock *unpack;        // of packed numbers
  const PackedFormat *format; // of packed numbers: how a kernel takes them without rounding any
  NarrowBlock *narrow;        // null: Heddle does not write the type

  bool isRead() const { return values != 0; }
};

inline constexpr uint32_t kGgufF32 = 0; // the number of this type

// The type that a tensor of this shape has in a file whose matrices are of the wanted type. Vectors are F32, and so are
// matrices whose rows are not made of whole blocks; rows of whole blocks of Q8_0 are that in a file of larger blocks.
const GgufType &typeOfTensor(const GgufType &wanted, std::span<const int64_t> shape);

// The value of general.file_type for a file that has the most matrices in a type: the format numbers kinds of files
// otherwise than types of tensors.
uint32_t ggufFileType(uint32_t type);

// Null where no such type is known.
const GgufType *findGgufType(uint32_t number);
const GgufType *findGgufType(std::string_view name);
// Of known types the name, of others "type 77".
std::string nameOfGgufType(uint32_t number);
// "F32, F16, BF16, ...": the types that Heddle reads.
std::string readGgufTypes();

// A type that Heddle writes, and the names of all; null for another name.
const GgufType *findWrittenType(std::string_view name);
std::string writtenGgufTypes();

// Writes the numbers of whole blocks. `blocks` has type.bytes bytes for every type.values numbers of `values`.
void widenBlocks(const GgufType &type, std::span<const std::byte> blocks, std::span<float> values);
// Returns the blocks of the numbers, rounded to nearest. The type is one that Heddle writes.
std::vector<std::byte> narrowBlocks(const GgufType &type, std::span<const float> values);

} // namespace heddle
