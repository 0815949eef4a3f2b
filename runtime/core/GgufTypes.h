// The types that tensors of GGUF files have: plain numbers, and blocks of small whole numbers with a scale. Blocks lie
// along a tensor's last dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct GgufType {
  uint32_t number; // in the file
  const char *name;
  uint32_t values; // of a block; 0: Heddle knows the type's name alone
  uint32_t bytes;  // of a block

  bool isRead() const { return values != 0; }
};

inline constexpr uint32_t kGgufF32 = 0; // the number of this type

// What a file's matrices are: those of Q8_0 have vectors, and matrices whose rows are no whole blocks, as F32.
enum class GgufKind : uint8_t { F32, F16, Q8_0 };
// Nothing for a name that is none of theirs.
std::optional<GgufKind> ggufKindOf(std::string_view name);
// The type of a tensor in a file of a kind.
const GgufType &typeOfTensor(GgufKind kind, std::span<const int64_t> shape);

// Null where no such type is known.
const GgufType *findGgufType(uint32_t number);
// Of known types the name, of others "type 77".
std::string nameOfGgufType(uint32_t number);
// "F32, F16, BF16, ...": the types that Heddle reads.
std::string readGgufTypes();

// Writes the numbers of whole blocks. `blocks` has type.bytes bytes for every type.values numbers of `values`.
void widenBlocks(const GgufType &type, std::span<const std::byte> blocks, std::span<float> values);
// The other way, rounded to nearest, of a type that a kind has.
std::vector<std::byte> narrowBlocks(const GgufType &type, std::span<const float> values);

} // namespace heddle
