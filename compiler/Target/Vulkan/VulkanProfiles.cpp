#include "compiler/Target/Vulkan/VulkanBackend.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kFewRows[] = {1, 8}; // Kernel/Tiling/FewRows.h takes up to 8 rows
constexpr Precision kPrecisions[] = {Precision::F32, Precision::F16};
// Sixteen 64-bit addresses fill the 128 bytes of push constants that every Vulkan device has.
constexpr int64_t kVulkanBindings = 16;
// maxMemoryAllocationSize of NVIDIA's driver, 2 MiB less than 4 GiB. Other GPU drivers allow at least as much.
constexpr int64_t kVulkanAllocation = (int64_t(4) << 30) - (int64_t(2) << 20);
// The minimum of maxComputeWorkGroupCount that Vulkan requires.
constexpr int64_t kVulkanWorkgroups = 65535;

constexpr TargetProfile kSoftware = {
    .name = "vulkan:software",
    .summary = "Mesa's lavapipe: a subgroup of 8 lanes on one CPU thread",
    .precisions = kPrecisions,
    // lavapipe runs loads lane by lane, and they are the bottleneck: use large register tiles and few iterations.
    .lanes = 8,
    .vector = 4,
    // 3 times as fast as loads by address, because lavapipe's texel fetches are branch-free vector code.
    .texelLoads = true,
    // Measured in a 768^3 matmul: fetching a vector takes as long as 22 multiply-adds, and shuffling one as long as 8.
    // Transposed, 2 vectors are 9% faster than 1, for input gradients of four shapes.
    .simt = {.accumulators = 192, .loadCost = 22, .shareCost = 8, .parallelGroups = 4, .transposedVectors = 2},
    .attention = {.rows = 4, .keys = 8, .work = 4096},
    .elementwise = {.rows = 4, .runs = 1},
    .limits = {.allocation = int64_t(2) << 30, // lavapipe's maxMemoryAllocationSize
               .bindings = kVulkanBindings,
               .workgroups = kVulkanWorkgroups,
               // Mesa 22.3 silently ends the loops of an invocation after this many iterations.
               .loopTrips = 65535},
};

constexpr TargetProfile makeSoftwareMatrices() {
  TargetProfile profile = kSoftware;
  profile.name = "vulkan:software-matrices";
  profile.summary = "Mesa's lavapipe from 26 on: the same lanes, and cooperative matrices of 8 x 8";
  profile.processors = 4;
  // This target exists for tests. A processor is a thread, and only the number of tiles matters.
  profile.tensor = {.matrix = {.rows = 8, .columns = 8, .depth = 8},
                    .subgroups = 4,
                    .rows = 16,
                    .columns = 32, // 32 KiB of shared memory
                    .depth = 16,
                    .stages = 2,
                    .cooperative = true,
                    .rate = 64,
                    .sharedRate = 64,
                    .cacheRate = 64,
                    .cacheRateOfAll = 64};
  profile.attention.tensor = {.subgroups = 4,
                              .rows = 8,
                              .keys = 16,
                              .registers = 128,
                              .sharedBytes = 32768}; // lavapipe's maxComputeSharedMemorySize
  return profile;
}

constexpr TargetProfile kPortable = {
    .name = "vulkan:portable",
    .summary = "any Vulkan 1.3 device: 32 lanes, small register tiles",
    .precisions = kPrecisions,
    .lanes = 32,
    .vector = 4,
    .texelLoads = false,
    .simt = {.accumulators = 32, .loadCost = 8, .shareCost = 4, .parallelGroups = 512},
    .blocks = {.lanes = 128, .rows = 4, .columns = 8, .depth = 16},
    .attention = {.rows = 1, .keys = 8, .work = 2048},
    .rows = {.shared = true, .subgroupsOfRow = 4}, // 128 lanes, which every device has
    .elementwise = {.rows = 1, .runs = 1},
    .fewRows = kFewRows,
    .limits = {.allocation = kVulkanAllocation,
               .bindings = kVulkanBindings,
               .workgroups = kVulkanWorkgroups,
               .loopTrips = 65535},
};

constexpr TargetProfile makeNvidia() {
  TargetProfile profile = kPortable;
  profile.name = "vulkan:nvidia";
  profile.summary = "NVIDIA GPUs through Vulkan 1.3: a subgroup of 32 lanes, cooperative matrices of 16 x 16";
  profile.simt.accumulators = 64;
  profile.simt.parallelGroups = 2048;
  profile.processors = 132;
  profile.tensor = {.matrix = {.rows = 16, .columns = 16, .depth = 16},
                    .subgroups = 4,
                    .rows = 32,
                    .columns = 64, // with two stages, 48 KiB of shared memory
                    .depth = 32,
                    .stages = 2,
                    .cooperative = true,
                    .rate = 1200, // like CUDA's, from datasheets
                    .sharedRate = 128,
                    .cacheRate = 48,
                    .cacheRateOfAll = 3200};
  profile.attention.keys = 16;
  profile.attention.work = 4096;
  profile.attention.tensor = {.subgroups = 4,
                              .rows = 16,
                              .keys = 32,
                              .registers = 64,
                              .sharedBytes = 49152}; // NVIDIA's maxComputeSharedMemorySize
  profile.rows.subgroupsOfRow = 16;
  profile.limits.loopTrips = 0;
  return profile;
}

constexpr TargetProfile makeAmd() {
  TargetProfile profile = kPortable;
  profile.name = "vulkan:amd";
  // GPUs before RDNA have only subgroups of 64 lanes. Later ones have 32 or 64, and use 32 for kernels without
  // exchanges.
  profile.summary = "AMD GPUs through Vulkan 1.3: a subgroup of 64 lanes, on Radeon RX of 32 where that will do";
  profile.lanes = 64;
  profile.rows.subgroupsOfRow = 8;
  profile.simt.parallelGroups = 1024;
  profile.limits.loopTrips = 0;
  return profile;
}

constexpr TargetProfile makeIntel() {
  TargetProfile profile = kPortable;
  profile.name = "vulkan:intel";
  profile.summary = "Intel GPUs through Vulkan 1.3: a subgroup of 16 lanes";
  profile.lanes = 16;
  profile.rows.subgroupsOfRow = 8;
  // A thread of 16 lanes has 128 registers of 32 bytes: 64 numbers per lane.
  profile.blocks.columns = 4;
  profile.limits.loopTrips = 0;
  return profile;
}

constexpr TargetProfile kProfiles[] = {
    kSoftware, makeNvidia(), makeAmd(), makeIntel(), makeSoftwareMatrices(), kPortable,
};

} // namespace

ArrayRef<TargetProfile> heddle::getVulkanProfiles() { return kProfiles; }
