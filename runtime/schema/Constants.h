// Limits and other constants that the schema language cannot express, shared by the writer (compiler/Program/Emit) and
// the reader (runtime/artifact).
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::schema {

// Module.schema_version. It is raised when the meaning of a field changes, not when a field is appended. The compiler
// writes the lowest version that can express an artifact, so that older builds run it too.
inline constexpr uint32_t kSchemaVersion = 11;           // the entry `prefill` has no input query_starts
inline constexpr uint32_t kSchemaVersionOfPanels = 10;   // Variable.panel
inline constexpr uint32_t kSchemaVersionOfMultiples = 9; // Size.times
inline constexpr uint32_t kSchemaVersionOfHalfWeights = 8;
inline constexpr uint32_t kSchemaVersionOfTexels = 7; // Kernel.texel_floats
inline constexpr uint32_t kSchemaVersionOfBounds = 6; // Size.within
inline constexpr uint32_t kSchemaVersionOfRoundedMoments = 5;
inline constexpr uint32_t kSchemaVersionOfShards = 4;
inline constexpr uint32_t kSchemaVersionOfCollectives = 3;
inline constexpr uint32_t kSchemaVersionOfRepeats = 2;
inline constexpr uint32_t kFirstSchemaVersion = 1;

// The optional entry that makes the 16-bit copies of weights. It must run before any other entry after a caller has
// written weights.
inline constexpr std::string_view kRoundEntry = "round_weights";

// The entry that sets the initial values of variables. The runtime itself sets sharded variables to zeros.
inline constexpr std::string_view kInitEntry = "init";

// Vulkan guarantees 128 bytes of push constants: sixteen 64-bit addresses.
inline constexpr uint32_t kMaxBindings = 16;

inline constexpr uint32_t kMaxRank = 8;

// Each dropout and each randomly initialized weight has a size of its own, so a model with hundreds of layers has
// thousands. The limit bounds the verifier's work, which checks every entry against every size.
inline constexpr uint32_t kMaxSizes = 1 << 15;
inline constexpr uint32_t kMaxEntries = 256;

// The number of blocks of an entry's arena: every Vulkan device allows this many allocations. The bytes of a block are
// a multiple of kBlockAlignment, so an offset has the same alignment in its block as in the arena.
inline constexpr uint32_t kMaxBlocks = 4096;
inline constexpr uint64_t kBlockAlignment = 256;

// Collectives of an entry, and tensors of a collective.
inline constexpr uint32_t kMaxCollectives = 4096;
inline constexpr uint32_t kMaxCollectiveTensors = 1 << 14;

// A rank's part of a sharded variable, or of a tensor of the same size, begins at a multiple of this many bytes: GPUs
// require this alignment for texel buffers.
inline constexpr uint64_t kShardAlignment = 256;

// Target.code: the alignment to which each kernel's part is padded, the most bytes that all targets together may unpack
// to, and the highest compression ratio. With these limits a small file cannot ask for much memory or time.
inline constexpr uint64_t kCodeAlignment = 8;
inline constexpr uint64_t kMaxCodeBytes = 256 << 20;
inline constexpr uint64_t kMaxCodeRatio = 256;

// Limits of segments. With these coefficients and constants, no sum of i32 values overflows 64 bits.
inline constexpr uint32_t kMaxSegments = 4096;
inline constexpr uint32_t kMaxAddends = 8;
inline constexpr int64_t kMaxCoefficient = 1 << 20;
inline constexpr int64_t kMaxConstant = int64_t(1) << 40;

// CUDA: the most threads of a block, the threads of a warp, and the most shared memory of a block, on any architecture
// so far.
inline constexpr uint32_t kMaxCudaLanes = 1024;
inline constexpr uint32_t kCudaWarp = 32;
inline constexpr uint32_t kMaxCudaSharedBytes = 227 << 10;

// The default of Kernel.entry.
inline constexpr std::string_view kDefaultEntry = "main";

} // namespace heddle::schema
