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

// Writes train.txt and train.tree, valid.txt, ..., with a sentence or its tree per line. No sentence occurs twice,
// within a part or across parts. The same options write the same files on any machine. Returns an error message, or an
// empty string.
std::string writeSplit(const SplitOptions &options);

} // namespace heddle::parses
