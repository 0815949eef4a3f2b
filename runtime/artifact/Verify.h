// The rules for a valid artifact, beyond those of a well-formed flatbuffer. Verify*.cpp and test/runtime/VerifyTest.cpp
// use the same numbers. The rules for a backend's code are checked in the backend's folder (CodeFormat.h).
//
//   M1  the file matches its seal, if it has one; the schema version is known
//   M2  names are present, unique among their kind, and at most 1024 bytes long
//   M3  a size's maximum is in [1, 2^31), or 0 if the size is fixed; a chunk of another size, or another size within
//       bounds, lies within the maximum of that size, which inputs bind
//   M4  the vocabulary has at most 16 files; their names are not paths, and no file is empty
//   M5  the description is a JSON object whose values have the right types and ranges; it agrees with the artifact's
//       sizes, logits and variables (Description.h)
//   T1  a tensor type has at most 8 dimensions; extents are positive; the sizes of dimensions exist; variables and
//       ports are f32 or i32, except that scales and offsets of packed weights may be f16, from version 5 on
//       Adam's moments may be bf16 and, from version 8 on, matrices that are not trained may be f16 or bf16
//   V1  a variable's shape is static, and its bytes are those of its shape
//   V2  a view lies within the bytes of a variable that is not a view, 4-byte aligned
//   V3  only i32 variables have a value limit, and it is not negative
//   V4  a sharded variable is optimizer state of f32 or bf16, and not a view; its bytes are a multiple of 256; the
//       artifact has version 4 or later
//   V5  a variable in panels is a matrix of weights in f32 or 16 bits, and not a view; its columns are whole panels; the
//       artifact has version 10 or later
//   P1  a port's bytes are those of its shape at the maxima; it lies in the arena of every target that uses the entry,
//       4-byte aligned
//   P2  an entry's inputs do not overlap; only i32 inputs have a value limit, and it is not negative; only
//       inputs have a role, which is a name with a dot
//   P3  a target's own entries have the names of the module's entries, in the same order; their ports have the same
//       names, types, value limits and roles; their segments are the same; the first target has no entries of its own
//   B1  an entry's arena has at most 4096 blocks; the bytes of each are a multiple of 256; all blocks together fit into
//       the arena of every target that uses the entry
//   B2  each port, each tensor of a collective, and each binding of a launch over all its steps lies in one block
//   S1  an entry has at most 4096 segments, whose extents exist, are not negative and are bound by its inputs; a sum
//       has at most 8 addends, which are i32 vectors among the inputs; its coefficients, constant and `from` are within
//       the bounds of Constants.h; a list is an i32 matrix among the inputs; segments name at least one input
//   E1  the entry's inputs bind every size that it uses
//   L1  a launch names a kernel that exists; it has 3 grid axes whose sizes exist; tiles and repeats are positive, and
//       no count exceeds 2^32 - 1 at the maxima
//   L2  a launch has at most 16 bindings; each lies in its variable or in the arena of every target that uses the
//       entry, 4-byte aligned
//   L3  a binding that a kernel reads through a texel buffer is not a size; its offset is a multiple of 16
//       bytes and its bytes of a texel, which has 1, 2 or 4 f32 (4 before version 7)
//   L4  a launch reads and writes no more tensors than it has bindings; none of these bindings is a size, and each has
//       room for its tensor; the entry's inputs bind the tensors' sizes; a location is at most 16 KiB
//   L5  there is one stride per binding, 4-byte aligned, and 0 for sizes and texels; a binding with a stride also lies
//       within its variable or arena at the last step
//   L6  a launch that ranks share by rows names a sharded variable and is in no repetition; the grid's axis has as many
//       workgroups as the variable's rows need; each binding has a number of row bytes: 0, or the bytes of a row of as
//       many 16-bit or 32-bit numbers as the variable's rows have, and then the binding has the bytes of all rows; a
//       binding of a sharded variable is the whole variable, with as many rows
//   R0  an artifact with repetitions has version 2 or later
//   R1  repetitions are in the order of their launches, and no launch is in two of them
//   R2  the sizes of a repetition exist and are bound by the entry's inputs; its steps are the maximum of its size
//   R3  the steps of an entry's repetitions, times their launches, are at most 2^20
//   G0  an artifact with collectives has version 3 or later
//   G1  an entry has at most 4096 collectives, in the order of the launches before which they run; none runs within a
//       repetition
//   G2  a collective has as many results as tensors, from 1 to 16384, with equal bytes, a whole number of f32, in a
//       variable or in the arena of every target that uses the entry, 4-byte aligned; a location is at most 16 KiB
//   G3  the tensors and results of a collective do not overlap, but a result may lie exactly where its tensor does
//   G4  no tensor lies in a sharded variable; a gather or a reduce-scatter names, for each tensor, a sharded variable
//       with as many numbers as the tensor has f32; sums name none
//   C1  a cost has at most 64 terms of a kind; their sizes and pair counts exist, and their coefficients are not
//       negative; the maximum of a pair count is not negative
//   C2  a launch's cost exists; the entry's inputs bind its sizes; the pairs' lengths are i32 vectors among the inputs
//   K1  every target has the first target's kernels in the same order, unless it has entries of its own; lanes are in
//       [1, 65536], and a subgroup is not larger; Vulkan kernels have a whole number of subgroups
//   K2  Vulkan code is a SPIR-V module of version 1.0 to 1.6 whose instructions fill it exactly, with physical storage
//       buffer addressing and a compute entry point `main` whose workgroup has `lanes` invocations; it has texel
//       buffers at the bindings that the kernel lists, ascending, and binds nothing else
//   K3  kernels do not share code bytes within the file (a small file must not cost a long time)
//   K4  CUDA code is text that ends in NUL and has the kernel's entry, whose name is a PTX identifier; a binary begins
//       like an ELF file; lanes are a multiple of 32 and at most 1024, shared memory is at most 227 KiB, and there are
//       no texel buffers
//   K5  packed code unpacks to the bytes that the file states, at most 256 MiB in all and 256 times the packed bytes;
//       the kernels' parts fill it; no kernel has code of its own besides
//   K6  CPU code is an image of machine code behind its header (hal/cpu/Image.h), which it fills up to the last word,
//       padded with zeros, and its entry point lies within; it has 1 lane, at most 64 MiB of scratch memory, no texel
//       buffers and no binary
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

// Checks the module of a file that flatbuffers' own verifier has accepted. Returns its kernels' code.
Result<CodeTable> verify(std::span<const std::byte> file);

// The parts of verify(), not for other callers.
namespace verifier {

Error broken(std::string message); // an Error of kind Malformed

// Checks T1. Returns the tensor's bytes with all sizes at their maxima.
Result<uint64_t> tensorBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what);

// The same for a variable or port, whose elements must be f32 or i32.
Result<uint64_t> callersBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what);

// Returns true if a vector of structs is aligned as the processor needs it; flatbuffers' verifier does not check this.
template <typename Struct> bool aligned(const flatbuffers::Vector<const Struct *> &vector) {
  return reinterpret_cast<uintptr_t>(vector.Data()) % alignof(Struct) == 0;
}

// M2 for one name.
Status checkName(const flatbuffers::String *name, const std::string &what);

// The targets that use a plan. They have the same kernels.
struct PlanTargets {
  std::vector<const schema::Target *> targets;
  uint64_t arenaBytes() const; // of the smallest arena
};

// B1, B2, P1, P2, S1, E1, L1 to L6, R0 to R3, G0 to G4 and C2.
Status verifyEntry(const schema::Module &module, const schema::Entry &entry, const PlanTargets &plan);

// S1. `bound[i]` is true if the entry's inputs bind size i.
Status verifySegments(const schema::Module &module, const schema::Entry &entry, const std::vector<bool> &bound,
                      const std::string &what);
// P3 for the segments of an entry of the module and of a target's own entry.
bool sameSegments(const schema::Entry &entry, const schema::Entry &own);

// P3 for all entries of a target that has its own.
Status verifySameInterface(const schema::Module &module, const schema::Target &target);

} // namespace verifier
} // namespace heddle
