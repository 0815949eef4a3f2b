// Reports what an artifact costs: memory, launches, FLOPs and bytes.
#pragma once

#include "compiler/Analysis/Cost/Cost.h"
#include "dialects/Plan/Plan.h"
#include "tools/heddle-compile/Compile.h"

namespace mlir::heddle {

/// A model's device memory in bytes, with every size at its maximum.
struct DeviceMemory {
  int64_t weights = 0, state = 0, caches = 0;
  int64_t kept = 0, workspace = 0; // parts of the largest entry's arena: values that its steps keep, and the rest

  /// `module` is a module after phase `plan`.
  static DeviceMemory of(ModuleOp module);
  int64_t total() const { return weights + state + caches + kept + workspace; }
  /// "2.4 GiB = weights 0.5 GiB + ..."
  std::string describe() const;
};

/// Device memory in bytes for training and for inference: the variables of their entries, and the largest arena. An
/// entry is for training if it uses moments, counters or summed gradients.
struct MemoryByPurpose {
  int64_t training = 0, inference = 0; // 0: there is no such entry

  static MemoryByPurpose of(ModuleOp module);
};

/// Totals of one call of an entry, with every run-time size at its maximum.
struct EntryTotals {
  int64_t launches = 0, barriers = 0, kernels = 0;
  int64_t flops = 0, modelFlops = 0, bytes = 0;
  int64_t memory; // device memory: the arena and the variables that the entry uses

  EntryTotals(plan::EntryOp entry, const SizeMaxima &maxima);
};

/// Returns how often a launch runs in a call: inside a repetition, once for each step of the longest sequence.
int64_t countSteps(plan::LaunchOp launch);

/// Returns the sizes of a call with every size at its maximum. A size that is a part of another size is 0, unless it
/// reaches to that size's maximum.
SizeMaxima getLargestCall(ModuleOp module);

/// Returns true if the launch has workgroups in a call with these sizes. Variants for few rows have none in the largest
/// call.
bool runsIn(plan::LaunchOp launch, const SizeMaxima &sizes);

/// "1.5 MiB"
std::string formatBytes(int64_t bytes);

/// Prints a summary: the artifact, the memory that each target needs, and each entry at the maxima of its sizes.
void printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds);

/// Writes each entry of each target as JSON: launches, barriers, kernels, FLOPs and bytes of traffic, at the maxima of
/// the sizes.
void writeReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled);

} // namespace mlir::heddle
