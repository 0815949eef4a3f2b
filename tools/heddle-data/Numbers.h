// Data of the number-words task: numbers in English, in the various ways people write them, and in German.
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-data/DataFiles.h"

#include <cstdint>

namespace heddle::demo {

struct NumberOptions {
  uint32_t train = 40'000; // pairs
  uint32_t valid = 500, test = 500;
  uint32_t maximum = 999'999;
  uint64_t seed = 1;
};

struct NumberText {
  uint32_t number = 0;
  std::string english = {};
};

struct NumberSplit {
  std::vector<NumberText> train, valid, test;
};

// Draws the parts from 0 to `maximum`. The same options draw the same parts on any machine. Each part has about equally
// many numbers of each digit count, as far as there are enough. A number's text is drawn from englishWritings(): first
// a way of writing, then one of its texts.
//
// Numbers in `valid` and `test` are held out: they occur once, and in no other part in any writing. Each part takes at
// most a sixth of the numbers of a digit count; longer numbers make up for the rest. Numbers that a reader tries first
// are always in `train`: those below 100, and those with a single non-zero digit.
//
// A number may occur in `train` several times. In a quarter of its numbers, about half of the digits after the first
// are 0, as in numbers that people choose.
NumberSplit drawNumbers(const NumberOptions &options);

// Returns how many numbers `valid` or `test` can have at most.
uint32_t largestHeldOut(uint32_t maximum);

// Returns train.en, train.de, valid.en, ..., with a number a line. Fails if `valid` or `test` is more than
// largestHeldOut().
Result<DataFiles> numberFiles(const NumberOptions &options);

} // namespace heddle::demo
