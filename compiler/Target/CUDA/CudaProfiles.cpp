#include "compiler/Target/CUDA/CudaBackend.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kKiB = 1024, kGiB = kKiB * kKiB * kKiB;
constexpr int64_t kFewRows[] = {1, 16}; // mma.sync multiplies 16 rows
constexpr Precision kPrecisions[] = {Precision::F32, Precision::BF16X3, Precision::TF32, Precision::BF16,
                                     Precision::F16};

/// `shared`: bytes of shared memory of one processor (SM), for all of its workgroups together. `memory`: bytes of device
/// memory.
constexpr TargetProfile makeCuda(StringLiteral name, StringLiteral summary, StringLiteral chip, int64_t processors,
                                 int64_t shared, int64_t memory) {
  return {
      .name = name,
      .summary = summary,
      .chip = chip,
      .precisions = kPrecisions,
      .lanes = 32,
      .fixedLanes = true,
      .vector = 4,
      .texelLoads = false,
      .processors = processors,
      .simt = {.accumulators = 64, .loadCost = 8, .shareCost = 4, .parallelGroups = 2048},
      .blocks = {.lanes = 128, .rows = 8, .columns = 8, .depth = 16},
      .tensor =
          {
              .matrix = {.rows = 16, .columns = 8, .depth = 16}, // mma.sync
              .subgroups = 8,
              .rows = 32,
              .columns = 128,
              .depth = 64,
              .stages = 4,
              // Tensor-core kernels use so many registers that a processor holds 256 lanes. The system reserves 1 KiB
              // of shared memory per workgroup, so 4 KiB are kept back.
              .sharedBytesOfLane = (shared - 4096) / 256,
              .copiesAhead = true, // cp.async
              // From datasheets and publications; no A100 was measured.
              .rate = 1200,
              .sharedRate = 128,
              .cacheRate = 48,
              .cacheRateOfAll = 3200,
          },
      .attention = {.rows = 1,
                    .keys = 8,
                    .work = 4096,
                    .tensor = {.subgroups = 4, .rows = 32, .keys = 64, .registers = 192}},
      // A processor runs at most 32 workgroups but has room for 64 warps, so workgroups of one warp would half fill it.
      .rows = {.shared = true, .subgroups = 4, .subgroupsOfRow = 16},
      .elementwise = {.rows = 4, .runs = 1},
      .fewRows = kFewRows,
      .limits = {.memory = memory, .bindings = 16, .workgroups = 65535}, // workgroups along y and z
  };
}

constexpr TargetProfile makeHopper(StringLiteral name, StringLiteral summary, StringLiteral chip, int64_t processors,
                                   int64_t shared, int64_t memory) {
  TargetProfile profile = makeCuda(name, summary, chip, processors, shared, memory);
  profile.tensor.warpgroup = 4; // wgmma
  profile.tensor.producers = 4;
  profile.tensor.warpgroupRate = 2000;
  // Measured on an H200: an 8192^3 matmul copied 12.9 GB to shared memory in 1.45 ms, 5,000 bytes per clock.
  profile.tensor.cacheRate = 64;
  profile.tensor.cacheRateOfAll = 5000;
  return profile;
}

/// Attention keeps fewer values in registers, because ptxas (CUDA 13.0) needs more registers for the same PTX than on
/// Ampere.
constexpr TargetProfile makeBlackwell(StringLiteral name, StringLiteral summary, StringLiteral chip, int64_t processors,
                                      int64_t shared, int64_t memory) {
  TargetProfile profile = makeCuda(name, summary, chip, processors, shared, memory);
  profile.attention.tensor.registers = 128;
  return profile;
}

/// Numbers of A100, GeForce RTX 3090, RTX 4090, H100, B200 and RTX 5090; of A100's two memories the smaller one.
constexpr TargetProfile kProfiles[] = {
    makeCuda("cuda:sm_80", "NVIDIA GPUs from A100 on, by CUDA", "sm_80", 108, 164 * kKiB, 40 * kGiB),
    makeCuda("cuda:sm_86", "NVIDIA GPUs with less shared memory, such as GeForce RTX from 30 on", "sm_86", 84,
             100 * kKiB, 24 * kGiB),
    makeCuda("cuda:sm_89", "NVIDIA Ada GPUs, such as GeForce RTX 40, L4 and L40", "sm_89", 128, 100 * kKiB, 24 * kGiB),
    makeHopper("cuda:sm_90a", "NVIDIA Hopper GPUs, by CUDA", "sm_90a", 132, 228 * kKiB, 80 * kGiB),
    makeBlackwell("cuda:sm_100", "NVIDIA Blackwell GPUs of data centers, such as B200", "sm_100", 148, 228 * kKiB,
                  180 * kGiB),
    makeBlackwell("cuda:sm_120", "NVIDIA Blackwell GPUs such as GeForce RTX 50", "sm_120", 170, 100 * kKiB, 32 * kGiB),
};

} // namespace

ArrayRef<TargetProfile> heddle::getCudaProfiles() { return kProfiles; }
