// What heddle-compile says of the artifact that it made.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H

#include "compiler/Cost/Cost.h"
#include "dialects/Plan/Plan.h"
#include "tools/heddle-compile/Compile.h"

namespace mlir::heddle {

/// What a model needs of a device's memory, with every size at its maximum, in bytes.
struct DeviceMemory {
  int64_t weights = 0, state = 0, caches = 0;
  int64_t kept = 0, workspace = 0; // of the arena: what the steps of the entry that needs most of it keep, and the rest

  /// Of a module after phase `plan`.
  static DeviceMemory of(ModuleOp module);
  int64_t total() const { return weights + state + caches + kept + workspace; }
  /// "2.4 GiB = weights 0.5 GiB + ..."
  std::string describe() const;
};

/// What training and what inference take of a device's memory, in bytes: the variables of their entries, and the
/// largest arena. Entries that use moments, counters or summed gradients train.
struct MemoryByPurpose {
  int64_t training = 0, inference = 0; // 0: no entry is for it

  static MemoryByPurpose of(ModuleOp module);
};

/// What one call of an entry does, with every run-time size at its maximum.
struct EntryTotals {
  int64_t launches = 0, barriers = 0, kernels = 0;
  int64_t flops = 0, modelFlops = 0, bytes = 0;
  int64_t memory; // of the device: the arena and the variables that the entry uses

  EntryTotals(plan::EntryOp entry, const SizeMaxima &maxima);
};

/// How often a launch runs in a call. In a repetition: once for each step of the longest sequence.
int64_t countSteps(plan::LaunchOp launch);

/// Returns the sizes of a call with every size at its maximum. A size within another one is 0 there, unless it reaches
/// to that one's maximum.
SizeMaxima getLargestCall(ModuleOp module);

/// Whether the launch has workgroups in a call of these sizes: variants for few rows have none in the largest call.
bool runsIn(plan::LaunchOp launch, const SizeMaxima &sizes);

/// "1.5 MiB"
std::string formatBytes(int64_t bytes);

/// The artifact, the memory that each target needs, and each entry at the maxima of its sizes.
void printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds);

/// Each entry of each target as JSON: launches, barriers, kernels, FLOPs and bytes of traffic at the maxima of the
/// sizes.
void writeReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled);

} // namespace mlir::heddle

#endif
