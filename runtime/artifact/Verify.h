// What a valid artifact means, beyond being a well-formed flatbuffer. The rules are numbered here, in Verify*.cpp and
// in test/runtime/VerifyTest.cpp; those of a backend's code in its folder (CodeFormat.h).
//
//   M1  the file matches its seal, where it has one; the schema version is known
//   M2  names are present, unique among their kind, at most 1024 bytes
//   M3  a size's maximum is in [1, 2^31); a chunk or a range of another size lies within the maximum of
//       that size, which inputs bind
//   M4  there are at most 16 files of the vocabulary; their names are no paths, and no file is empty
//   M5  the description is a JSON object whose keys have their types and lie in their ranges, and which promises no
//       more than the sizes, logits and variables of the artifact have (Description.h)
//   T1  a tensor type has at most 8 dimensions; an extent is positive; a dimension's size exists; variables and ports
//       are of f32 or i32, and in artifacts of version 5 or later Adam's moments may be of bf16
//   V1  a variable's shape is static, and its bytes are what the shape needs
//   V2  a view lies within the bytes of a variable that is no view, 4-byte aligned
//   V3  a value limit is for i32 variables alone and not negative
//   V4  a sharded variable is state of the optimizer, of f32 or bf16, and no view; its bytes are a multiple of 256; the
//   artifact is of version 4
//       or later
//   P1  a port's bytes are what its shape needs at the maxima; it lies in the arena of every target that uses the
//   entry,
//       4-byte aligned
//   P2  inputs of an entry do not overlap; a value limit is for i32 inputs alone and not negative
//   P3  a target's own entries have the names of the module's, in the same order, and their ports the same names, types
//       and value limits, and segments are the same; the first target has no entries of its own
//   B1  an entry's arena has at most 4096 blocks, each of a multiple of 256 bytes, and all together are no larger than
//   the arena of every
//       target that uses the entry
//   B2  a port, a launch's binding at all steps, and a tensor of a collective lie in one block
//   S1  an entry has at most 4096 segments, whose extents exist, are not negative and are bound by its inputs; a sum
//   has at
//       most 8 addends, of i32 vectors among the inputs, and its coefficients, constant and `from` are within the
//       bounds of Constants.h; a list is an i32 matrix among the inputs; some input is named
//   E1  every size that an entry uses is bound by its inputs
//   L1  a launch names a kernel that exists, has 3 grid axes whose sizes exist, tiles and repeats are positive, and no
//       count exceeds 2^32 - 1 at the maxima
//   L2  a launch has at most 16 bindings; each lies in its variable or in the arena of every target that uses the
//       entry, 4-byte aligned
//   L3  a binding that a kernel reads through a texel buffer is no size, and its offset and bytes are multiples of 16
//   L4  the types of what a launch reads and writes are no more than its bindings, none of which is a size and each of
//       which has room for its tensor; the entry's inputs bind their sizes; a location is at most 16 KiB
//   L5  strides are as many as the bindings, 4-byte aligned, and 0 for sizes and texels; a binding that moves on lies
//   where it
//       has to at the last step too
//   L6  a launch of which ranks do some rows each names a sharded variable; it is in no repetition; the grid's axis has
//   as many workgroups
//       as the rows make; rows' bytes are as many as the bindings, each that of the variable's rows, or of as many
//       numbers of 16 or 32 bits, whose bytes the binding then has, or 0; a binding of a sharded variable is the whole
//       of it, with as many rows
//   R0  an artifact with repetitions is of version 2 or later
//   R1  repetitions come in the order of their launches, and no launch is in two
//   R2  the sizes of a repetition exist and are bound by the entry's inputs; it has as many steps as its size is at
//   most R3  the steps of an entry's repetitions, times their launches, are at most 2^20 G0  an artifact with
//   collectives is of version 3 or later G1  an entry has at most 4096 collectives, in the order of the launches that
//   they stand before, none of which is within a
//       repetition
//   G2  a collective takes as many tensors as it makes, from 1 to 16384, each of as many bytes, a whole number of f32,
//   in its
//       variable or in the arena of every target that uses the entry, 4-byte aligned; a location is at most 16 KiB
//   G3  nothing that a collective takes or makes overlaps, but for a result in the place of its tensor
//   G4  no tensor is a sharded variable's; a collective of rows (all but sums) names a sharded variable of
//       as many numbers for each tensor of f32, and sums name none
//   C1  a cost has at most 64 terms of a kind, whose sizes and pair counts exist and whose coefficients are not
//   negative;
//       the most that pairs count to is not negative
//   C2  a launch's cost exists, the entry's inputs bind its sizes, and the pairs' lengths are i32 vectors among them
//   K1  every target has the first's kernels in the same order, unless it has entries of its own; lanes are in
//       [1, 65536], and a subgroup has no more of them; those of Vulkan code are a whole number of subgroups
//   K2  Vulkan code is a SPIR-V module of version 1.0 to 1.6 whose instructions fill it exactly, with physical storage
//       buffer addressing, and a compute entry point `main` whose workgroup has `lanes` invocations,
//       and texel buffers at the bindings that the kernel lists, ascending, and nothing else bound
//   K3  kernels do not share code bytes within the file (a small file must not cost a long time)
//   K5  packed code unpacks to what the file says, at most 256 MiB in all and 256 bytes for one, and the kernels' parts
//       fill it; no kernel has code beside it
//   K4  CUDA code is text that ends in NUL and has the kernel's entry, whose name is one of PTX; a binary begins as ELF
//       files do; lanes are a multiple of 32 and at most 1024, shared memory is at most 227 KiB, and there are no texel
//       buffers
//   K6  code for a processor is an image of machine code behind its header (hal/cpu/Image.h), which it fills up to the
//       last word, zeros behind it, and has its entry point within; it has 1 lane, at most 64 MiB of scratch memory, no
//       texel buffers and no binary
#pragma once

#include "runtime/artifact/KernelCode.h"
#include "runtime/core/Status.h"
#include "runtime/schema/artifact_generated.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

// Checks the module in a file that flatbuffers' own verifier accepts. Returns its kernels' code.
Result<CodeTable> verify(std::span<const std::byte> file);

// The parts, for verify() alone.
namespace verifier {

Error broken(std::string message); // an Error of kind Malformed

// T1, and the bytes at the sizes' maxima.
Result<uint64_t> tensorBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what);

// The same of a variable or port.
Result<uint64_t> callersBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what);

// Whether a vector of structs lies where the processor wants it; flatbuffers' verifier does not look.
template <typename Struct> bool aligned(const flatbuffers::Vector<const Struct *> &vector) {
  return reinterpret_cast<uintptr_t>(vector.Data()) % alignof(Struct) == 0;
}

// M2 for one name.
Status checkName(const flatbuffers::String *name, const std::string &what);

// What the entries of a plan may refer to: the targets that use it, which have the same kernels.
struct PlanTargets {
  std::vector<const schema::Target *> targets;
  uint64_t arenaBytes() const; // the smallest
};

// B1, B2, P1, P2, S1, E1, L1 to L5, R0 to R3, G0 to G3 and C2.
Status verifyEntry(const schema::Module &module, const schema::Entry &entry, const PlanTargets &plan);

// S1; `bound` says of each size whether the entry's inputs bind it.
Status verifySegments(const schema::Module &module, const schema::Entry &entry, const std::vector<bool> &bound,
                      const std::string &what);
// P3 for the segments of an entry and those of a target's own.
bool sameSegments(const schema::Entry &entry, const schema::Entry &own);

// P3 for all entries of a target that has its own.
Status verifySameInterface(const schema::Module &module, const schema::Target &target);

} // namespace verifier
} // namespace heddle
