#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::numbers {

struct SplitOptions {
  std::string directory = {};
  uint32_t train = 40'000;
  uint32_t valid = 500;
  uint32_t test = 500;
  uint32_t maximum = 999'999;
  uint64_t seed = 1;
};

// The numbers of each part. No number occurs twice, within a part or across parts.
struct Split {
  std::vector<uint32_t> train, valid, test;
};

// Draws the parts uniformly from 0 to `maximum`; the same options draw the same numbers on any machine. The parts must
// fit into the range.
Split drawSplit(const SplitOptions &options);

// Draws and writes the six files. Returns what went wrong, or nothing.
std::string writeSplit(const SplitOptions &options);

} // namespace heddle::numbers
