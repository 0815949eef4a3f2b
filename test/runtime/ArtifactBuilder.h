// Builds artifacts in memory for tests, with the schema's object-free builder.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/hal/cpu/Image.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle::test {

// Returns a kernel assembled from kernels/NAME.spvasm.
std::vector<uint32_t> testKernel(const std::string &name);
// Returns the text of kernels/NAME.ptx as an artifact stores it.
std::vector<uint32_t> testPtx(const std::string &name);
std::vector<uint32_t> ptxWords(std::string_view text);
// Returns an image for the processor that calls a function of this program.
std::vector<uint32_t> cpuImage(hal::cpu::ImageEntry function);
// The add kernel for the processor, with 8 elements per workgroup.
void addOnCpu(const uint64_t *bindings, const uint32_t *grid, uint32_t first, uint32_t count, void *scratch);

// Options of buildAdder().
struct AdderOptions {
  int64_t maximum = 1000;
  std::vector<std::string> targets = {"vulkan:software", "vulkan:portable"};
  std::vector<uint32_t> code = {}; // replaces the add kernel, which is SPIR-V or PTX depending on the target
  // The lanes of Vulkan targets. CUDA targets have 64 (two subgroups), and processors have 1.
  uint32_t lanes = 8;
  uint32_t tile = 8;
  uint32_t subgroup = 0; // subgroup size required by the first target
  bool sealed = true;
  int64_t weightExtent = 0; // of variable `weight`; 0: the maximum
  bool ownEntries = false;  // every target but the first has its own entries
  bool described = true;    // launches say what they read and write
  // If not 0: `add` has a variant for calls of at most this many elements, which computes a + a.
  int64_t few = 0;
};

// A model of vector additions:
//   entry `add`         inputs a, b f32[n]; outputs sum = a + b
//   entry `chain`       input a f32[n]; outputs double = a + a, triple = double + a (behind a barrier)
//   entry `accumulate`  input a f32[n]; total += a
//   entry `init`        nothing
//   entry `lookup`      inputs index i32[n], lengths i32[m], n2 = max of lengths; output twice f32[n2] = 2 * weight
// variables: weight f32[maximum] (Weight), total f32[maximum] (OptimizerState), unused f32[7] (Cache), seed i32[2]
std::vector<std::byte> buildAdder(const AdderOptions &options = {});

// Unpacks an artifact, changes it, and packs it again without a seal.
std::vector<std::byte> changed(const std::vector<std::byte> &artifact,
                               const std::function<void(schema::ModuleT &)> &change);

// Packs the code of a target's kernels into one frame.
void packCode(schema::TargetT &target);

// Adds a condition to the adder's entry `lookup`: for each length, that many rows from the element of `index` on must
// exist among n rows.
schema::SegmentsT &addSegments(schema::ModuleT &module);

} // namespace heddle::test
