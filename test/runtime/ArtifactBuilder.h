// Artifacts made in memory for tests, through the schema's object-free builder.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <string>
#include <vector>

namespace heddle::test {

// A kernel assembled from kernels/NAME.spvasm.
std::vector<uint32_t> testKernel(const std::string &name);

// What may be varied about the artifact below.
struct AdderOptions {
  int64_t maximum = 1000;
  std::vector<std::string> targets = {"vulkan:software", "vulkan:portable"};
  std::vector<uint32_t> code = {}; // instead of the add kernel's
  uint32_t lanes = 8;
  uint32_t tile = 8;
  uint32_t subgroup = 0; // that the first target asks for
  bool sealed = true;
  int64_t weightExtent = 0; // of variable `weight`; 0: the maximum
};

// A model of vector additions:
//   entry `add`         inputs a, b f32[n]; outputs sum = a + b
//   entry `chain`       input a f32[n]; outputs double = a + a, triple = double + a (behind a barrier)
//   entry `accumulate`  input a f32[n]; total += a
//   entry `init`        nothing
//   entry `lookup`      inputs index i32[n], lengths i32[m], n2 = max of lengths; outputs twice f32[n2] = weight +
//   weight
// variables: weight f32[maximum] (Weight), total f32[maximum] (OptimizerState), unused f32[7] (Cache), seed i32[2]
std::vector<std::byte> buildAdder(const AdderOptions &options = {});

} // namespace heddle::test
