// The processor that this process runs on: its name and its instruction sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::hal::cpu {

// The instruction sets of the targets that both the processor and the operating system support.
struct Processor {
  std::string name;              // "AMD EPYC 7763 64-Core Processor"
  std::string_view architecture; // "x86-64", "aarch64"; empty: Heddle has no target for it
  // "AVX2, FMA": the missing sets of x86-64-v3, x86-64-v4, x86-64-v4-vnni and x86-64-v4-amx
  std::string missingForV3 = {}, missingForV4 = {}, missingForVnni = {}, missingForAmx = {};

  // Returns this machine's processor.
  static const Processor &get();

  // Returns how well code for a target runs, or 0 if it does not run. The target with the largest value is taken.
  uint32_t suitability(std::string_view target) const;
  // Returns why code for a target does not run: "it lacks AVX512F". Empty if it runs.
  std::string obstacle(std::string_view target) const;
  // Returns the best target, or an empty string.
  std::string bestTarget() const;
};

} // namespace heddle::hal::cpu
