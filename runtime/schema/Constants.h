// The numbers that the artifact schema cannot say in its own language, shared by the writer (compiler/Emit) and the
// reader (runtime/artifact).
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::schema {

// Module.schema_version. Raised when the meaning of a field changes; appended fields leave it alone.
// An artifact has the lowest version that says what is in it, so that older builds run it too.
inline constexpr uint32_t kSchemaVersion = 6; // Size.within
inline constexpr uint32_t kSchemaVersionOfRoundedMoments = 5;
inline constexpr uint32_t kSchemaVersionOfShards = 4;
inline constexpr uint32_t kSchemaVersionOfCollectives = 3;
inline constexpr uint32_t kSchemaVersionOfRepeats = 2;
inline constexpr uint32_t kFirstSchemaVersion = 1;

// The entry, if there is one, that makes the program's own copies of weights: to be run before any other once weights
// have been written from outside.
inline constexpr std::string_view kRoundEntry = "round_weights";

// The entry that gives variables their values at first. Sharded variables it leaves to the runtime: they begin as
// zeros.
inline constexpr std::string_view kInitEntry = "init";

// Vulkan guarantees 128 bytes of push constants: sixteen 64-bit addresses.
inline constexpr uint32_t kMaxBindings = 16;

inline constexpr uint32_t kMaxRank = 8;

// Each dropout and each random initial value of a model has a size of its own, thousands where there are hundreds of
// layers. Every entry is checked against every size.
inline constexpr uint32_t kMaxSizes = 1 << 15;
inline constexpr uint32_t kMaxEntries = 256;

// Blocks of an entry's arena, as many as the allocations that every Vulkan device grants, and what their bytes are
// multiples of: an offset is then as well aligned within its block as within the arena.
inline constexpr uint32_t kMaxBlocks = 4096;
inline constexpr uint64_t kBlockAlignment = 256;

// Of an entry, and of one of them.
inline constexpr uint32_t kMaxCollectives = 4096;
inline constexpr uint32_t kMaxCollectiveTensors = 1 << 14;

// A rank's part of a sharded variable, and of what is as large, begins at a multiple of so many bytes, as GPUs want of
// texel buffers.
inline constexpr uint64_t kShardAlignment = 256;

// Of Target.code: what each kernel's part is filled up to, the most that all targets may unpack to, and the most that a
// byte may become. A small file can then not ask for much memory or time.
inline constexpr uint64_t kCodeAlignment = 8;
inline constexpr uint64_t kMaxCodeBytes = 256 << 20;
inline constexpr uint64_t kMaxCodeRatio = 256;

// Segments: addends of a sum, and the largest coefficient or constant, so that no sum of i32 leaves 64 bits.
inline constexpr uint32_t kMaxSegments = 4096;
inline constexpr uint32_t kMaxAddends = 8;
inline constexpr int64_t kMaxCoefficient = 1 << 20;
inline constexpr int64_t kMaxConstant = int64_t(1) << 40;

// CUDA: the most threads of a block, threads of a warp, and shared memory of a block on any architecture yet.
inline constexpr uint32_t kMaxCudaLanes = 1024;
inline constexpr uint32_t kCudaWarp = 32;
inline constexpr uint32_t kMaxCudaSharedBytes = 227 << 10;

// Kernel.entry where it is absent.
inline constexpr std::string_view kDefaultEntry = "main";

} // namespace heddle::schema
