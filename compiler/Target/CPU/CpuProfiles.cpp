#include "compiler/Target/CPU/CpuBackend.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kFewRows[] = {1, 8};
/// Columns of a panel of packed weights: a row of words is four cache lines.
constexpr int64_t kWeightPanel = 64;
constexpr Precision kPrecisions[] = {Precision::F32, Precision::BF16, Precision::F16};

/// A lane is a thread. It has the processor's registers: `registers` vectors of `vector` f32.
constexpr TargetProfile makeProcessor(StringLiteral name, StringLiteral summary, StringLiteral chip, int64_t vector,
                                      int64_t registers, bool masksTails, int64_t dotBits, StringLiteral features = "",
                                      MatrixShape matrixRegisters = {}) {
  return {
      .name = name,
      .summary = summary,
      .chip = chip,
      .features = features,
      .precisions = kPrecisions,
      .lanes = 1,
      .fixedLanes = true,
      .vector = vector,
      .texelLoads = false,
      .registers = registers,
      .masksTails = masksTails,
      .weightPanel = kWeightPanel,
      .dotBits = dotBits,
      .matrixRegisters = matrixRegisters,
      .simt = {.accumulators = vector * registers, .loadCost = 8, .shareCost = 4, .parallelGroups = 4},
      .attention = {.rows = 4, .keys = std::max<int64_t>(8, vector), .work = 4096},
      .elementwise = {.rows = 8, .runs = 4},
      .fewRows = kFewRows,
      .limits = {.bindings = 64, .workgroups = int64_t(1) << 30},
  };
}

constexpr TargetProfile kProfiles[] = {
    makeProcessor("cpu:x86-64-v3", "x86-64 with AVX2 and FMA (2013 on): vectors of 8 floats, dots of pairs",
                  "x86-64-v3", 8, 16,
                  /*masksTails=*/true, /*dotBits=*/16),
    makeProcessor("cpu:x86-64-v4", "x86-64 with AVX-512 (F, BW, CD, DQ, VL): vectors of 16 floats", "x86-64-v4", 16, 32,
                  /*masksTails=*/true, /*dotBits=*/0),
    makeProcessor("cpu:x86-64-v4-vnni", "x86-64 with AVX-512 and VNNI (2019 on): vectors of 16 floats, dots of bytes",
                  "x86-64-v4", 16, 32, /*masksTails=*/true, /*dotBits=*/8, "+avx512vnni"),
    makeProcessor("cpu:x86-64-v4-amx",
                  "x86-64 with AVX-512, VNNI and AMX (2023 on): the same, and matrix registers for bf16", "x86-64-v4",
                  16, 32, /*masksTails=*/true, /*dotBits=*/8, "+avx512vnni,+amx-tile,+amx-bf16", {16, 16, 32}),
    makeProcessor("cpu:aarch64", "64-bit ARM with NEON: vectors of 4 floats", "aarch64", 4, 32, /*masksTails=*/false,
                  /*dotBits=*/0),
};

} // namespace

ArrayRef<TargetProfile> heddle::getCpuProfiles() { return kProfiles; }
