// What a valid artifact means, beyond being a well-formed flatbuffer. The rules are numbered here, in Verify*.cpp and
// in test/runtime/VerifyTest.cpp.
//
//   M1  the file matches its seal, where it has one; the schema version is known;
//       the description is a JSON object
//   M2  names are present, unique among their kind, at most 1024 bytes
//   M3  a size's maximum is in [1, 2^31); a chunk lies within the maximum of a size that inputs bind
//   T1  a tensor type has at most 8 dimensions; an extent is positive; a dimension's size exists
//   V1  a variable's shape is static, and its bytes are what the shape needs
//   V2  a view lies within the bytes of a variable that is no view, 4-byte aligned
//   P1  a port's bytes are what its shape needs at the maxima; it lies in every target's arena, 4-byte aligned
//   P2  inputs of an entry do not overlap; a value limit is for i32 inputs alone and not negative
//   E1  every size that an entry uses is bound by its inputs
//   L1  a launch names a kernel that exists, has 3 grid axes whose sizes exist, tiles and repeats are positive, and no
//       count exceeds 2^32 - 1 at the maxima
//   L2  a launch has at most 16 bindings; each lies in its variable or in every target's arena, 4-byte aligned
//   L3  a binding that a kernel reads through a texel buffer is no size, and its offset and bytes are multiples of 16
//   C1  a cost has at most 64 terms of a kind, whose sizes and pair counts exist and whose coefficients are not
//   negative;
//       the most that pairs count to is not negative
//   C2  a launch's cost exists, the entry's inputs bind its sizes, and the pairs' lengths are i32 vectors among them
//   K1  every target has the same kernels in the same order; lanes are in [1, 65536], and a subgroup has
//       no more of them
//   K2  Vulkan code is a SPIR-V module of version 1.0 to 1.6 whose instructions fill it exactly, with physical storage
//       buffer addressing, and a compute entry point `main` whose workgroup has `lanes` invocations,
//       and texel buffers at the bindings that the kernel lists, ascending, and nothing else bound
//   K3  kernels do not share code bytes within the file (a small file must not cost a long time)
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heddle {

// Checks the module in a file that flatbuffers' own verifier accepts.
Status verify(std::span<const std::byte> file);

// The parts, for verify() alone.
namespace verifier {

Error broken(std::string message); // an Error of kind Malformed

// T1, and the bytes at the sizes' maxima.
Result<uint64_t> tensorBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what);

// Whether a vector of structs lies where the processor wants it; flatbuffers' verifier does not look.
template <typename Struct> bool aligned(const flatbuffers::Vector<const Struct *> &vector) {
  return reinterpret_cast<uintptr_t>(vector.Data()) % alignof(Struct) == 0;
}

// M2 for one name.
Status checkName(const flatbuffers::String *name, const std::string &what);

// P1 to L2 and C2. `arenaBytes` is the smallest of the targets'; `kernels` is what every target has.
Status verifyEntry(const schema::Module &module, const schema::Entry &entry, uint64_t arenaBytes, size_t kernels);

// K2. Returns what is wrong, empty for a good module.
std::string checkSpirv(std::span<const uint32_t> code, uint32_t lanes, std::span<const uint32_t> texels);

} // namespace verifier
} // namespace heddle
