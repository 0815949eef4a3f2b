#include "compiler/Target/TargetProfile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

// Sixteen 64-bit addresses fill the 128 bytes of push constants that every Vulkan device has.
constexpr int64_t kVulkanBindings = 16;
// maxComputeWorkGroupCount is at least this on every Vulkan device.
constexpr int64_t kVulkanWorkgroups = 65535;

/// `shared`: bytes of shared memory that all workgroups of a processor have together.
constexpr TargetProfile makeCuda(StringLiteral name, StringLiteral summary, StringLiteral chip, int64_t shared) {
  return {
      .name = name,
      .summary = summary,
      .chip = chip,
      .lanes = 32,
      .vector = 4,
      .texelLoads = false,
      .accumulators = 64,
      .loadCost = 8,
      .shareCost = 4,
      .parallelGroups = 2048,
      .tensorProcessors = 132,
      .tensorSubgroups = 8,
      .tensorRows = 32,
      .tensorColumns = 128,
      .tensorDepth = 64,
      .tensorStages = 4,
      // Kernels of so many registers have 256 lanes on a processor; two workgroups leave a kilobyte each.
      .sharedBytesOfLane = (shared - 4096) / 256,
      // By datasheets and what is published of Hopper's L2; nothing of it was measured.
      .tensorRate = 1200,
      .sharedRate = 128,
      .cacheRate = 48,
      .cacheRateOfAll = 3200,
      .attentionRows = 1,
      .attentionKeys = 8,
      .attentionWork = 4096,
      .tensorAttentionSubgroups = 4,
      .tensorAttentionRows = 32,
      .tensorAttentionKeys = 64,
      .tensorAttentionRegisters = 192,
      .sharesRows = true,
      .elementwiseRows = 4,
      .elementwiseRuns = 1,
      .maxBindings = 16,
      .maxWorkgroups = 65535, // along y and z
      .maxLoopTrips = 0,
  };
}

constexpr TargetProfile kSoftware = {
    .name = "vulkan:software",
    .summary = "Mesa's lavapipe: a subgroup of 8 lanes on one CPU thread",
    // Loads are done lane by lane and are what limits: tall and wide register tiles, few iterations.
    .lanes = 8,
    .vector = 4,
    // 3 times as fast as the same load by address: lavapipe's texel fetches are straight vector code.
    .texelLoads = true,
    // Measured in a 768^3 product: a fetch of a vector as long as 22 multiply-adds, a shuffle of one 8.
    .accumulators = 192,
    .loadCost = 22,
    .shareCost = 8,
    .parallelGroups = 4,
    .transposedVectors = 2, // 9% faster than one in the input gradients of four shapes
    .attentionRows = 4,
    .attentionKeys = 8,
    .attentionWork = 4096,
    .elementwiseRows = 4,
    .elementwiseRuns = 1,
    .maxBindings = kVulkanBindings,
    .maxWorkgroups = kVulkanWorkgroups,
    // Mesa 22.3 ends loops silently past this many trips of one invocation.
    .maxLoopTrips = 65535,
};

constexpr TargetProfile makeSoftwareMatrices() {
  TargetProfile profile = kSoftware;
  profile.name = "vulkan:software-matrices";
  profile.summary = "Mesa's lavapipe from 26 on: the same lanes, and cooperative matrices of 8 x 8";
  profile.tensorProcessors = profile.tensorSubgroups = 4;
  profile.tensorRows = 16;
  profile.tensorColumns = 32; // 32 KiB of shared memory
  profile.tensorDepth = 16;
  profile.tensorStages = 2;
  profile.cooperativeSide = 8;
  // It is there to test. A processor is a thread: nothing but the number of tiles matters.
  profile.tensorRate = profile.sharedRate = profile.cacheRate = profile.cacheRateOfAll = 64;
  return profile;
}

constexpr TargetProfile kProfiles[] = {
    kSoftware,
    {
        .name = "vulkan:nvidia",
        .summary = "NVIDIA GPUs through Vulkan 1.3: a subgroup of 32 lanes",
        .lanes = 32,
        .vector = 4,
        .texelLoads = false,
        .accumulators = 64,
        .loadCost = 8,
        .shareCost = 4,
        .parallelGroups = 2048,
        .blockLanes = 128,
        .blockRows = 4,
        .blockColumns = 8,
        .blockDepth = 16,
        .tensorProcessors = 132,
        .tensorSubgroups = 4,
        .tensorRows = 32,
        .tensorColumns = 64, // with two stages, 48 KiB of shared memory
        .tensorDepth = 32,
        .tensorStages = 2,
        .cooperativeSide = 16,
        .tensorRate = 1200, // as of CUDA's, by datasheets
        .sharedRate = 128,
        .cacheRate = 48,
        .cacheRateOfAll = 3200,
        .attentionRows = 1,
        .attentionKeys = 16,
        .attentionWork = 4096,
        .sharesRows = true,
        .elementwiseRows = 1,
        .elementwiseRuns = 1,
        .maxBindings = kVulkanBindings,
        .maxWorkgroups = kVulkanWorkgroups,
        .maxLoopTrips = 0,
    },
    makeSoftwareMatrices(),
    {
        .name = "vulkan:portable",
        .summary = "any Vulkan 1.3 device: 32 lanes, small register tiles",
        .lanes = 32,
        .vector = 4,
        .texelLoads = false,
        .accumulators = 32,
        .loadCost = 8,
        .shareCost = 4,
        .parallelGroups = 512,
        .blockLanes = 128,
        .blockRows = 4,
        .blockColumns = 8,
        .blockDepth = 16,
        .attentionRows = 1,
        .attentionKeys = 8,
        .attentionWork = 2048,
        .sharesRows = true,
        .elementwiseRows = 1,
        .elementwiseRuns = 1,
        .maxBindings = kVulkanBindings,
        .maxWorkgroups = kVulkanWorkgroups,
        .maxLoopTrips = 65535,
    },
    makeCuda("cuda:sm_80", "NVIDIA GPUs from A100 on, by CUDA", "sm_80", 164 * 1024),
    makeCuda("cuda:sm_86", "NVIDIA GPUs with less shared memory, such as GeForce RTX from 30 on", "sm_86", 100 * 1024),
    makeCuda("cuda:sm_90a", "NVIDIA Hopper GPUs, by CUDA", "sm_90a", 228 * 1024),
};

} // namespace

ArrayRef<TargetProfile> heddle::getTargetProfiles() { return kProfiles; }

const TargetProfile *heddle::lookupTargetProfile(StringRef name, std::string &message) {
  const TargetProfile *nearest = nullptr;
  unsigned distance = ~0u;
  for (const TargetProfile &profile : kProfiles) {
    if (profile.name == name)
      return &profile;
    if (unsigned edits = name.edit_distance(profile.name); edits < distance)
      nearest = &profile, distance = edits;
  }
  std::string known = llvm::join(llvm::map_range(kProfiles, [](auto &profile) { return profile.name; }), ", ");
  if (distance <= 3)
    message = ("there is no target '" + name + "'; did you mean '" + nearest->name + "'?").str();
  else
    message = ("there is no target '" + name + "'; this build has " + known).str();
  return nullptr;
}
