#pragma once

#include <cstdint>
#include <string>

namespace heddle::parses {

struct SplitOptions {
  std::string directory = {};
  uint32_t train = 40'000;
  uint32_t valid = 300;
  uint32_t test = 500;
  int longest = 16; // words of a sentence
  uint64_t seed = 1;
};

// Writes train.txt and train.tree, valid.txt, ..., a sentence or its tree a line. No sentence occurs twice, within a
// part or across parts; the same options write the same files on any machine. Returns what went wrong, or nothing.
std::string writeSplit(const SplitOptions &options);

} // namespace heddle::parses
