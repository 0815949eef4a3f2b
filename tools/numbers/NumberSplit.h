// The number-words task as data: numbers in English, in any of the ways in which people write them, and in German.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::numbers {

struct SplitOptions {
  std::string directory = {};
  uint32_t train = 40'000; // pairs
  uint32_t valid = 500;    // numbers
  uint32_t test = 500;     // numbers
  uint32_t maximum = 999'999;
  uint64_t seed = 1;
};

struct NumberText {
  uint32_t number = 0;
  std::string english = {};
};

struct Split {
  std::vector<NumberText> train, valid, test;
};

// Draws the parts from 0 to `maximum`; the same options draw the same parts on any machine. Each part has about as many
// numbers of one digit as of two, three and so on, as far as a part can have them. A number's text is drawn from
// englishWritings(): a way of writing, then one of its texts.
//
// `valid` and `test` hold numbers out of the training: such a number occurs once, and in no other part in any writing.
// They take at most a sixth each of the numbers with a given count of digits; longer numbers make up for the rest.
// Numbers that a reader tries first are always for training: those below 100, and those with a single digit that is not
// 0.
//
// A number may occur in `train` several times. In a quarter of its numbers half of the digits behind the first are 0,
// as in numbers that people choose.
Split drawSplit(const SplitOptions &options);

// The most numbers that `valid`, or `test`, can have.
uint32_t largestHeldOut(uint32_t maximum);

// Draws and writes the six files. Returns what went wrong, or nothing.
std::string writeSplit(const SplitOptions &options);

} // namespace heddle::numbers
