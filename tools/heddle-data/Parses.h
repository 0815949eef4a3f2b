// Data of the parsing task: sentences of a small probabilistic grammar of English, with their trees.
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-data/DataFiles.h"
#include "tools/heddle-data/Random.h"

namespace heddle::demo {

// A sentence and its tree, each in one line. The tree is written as in the second task of "Attention Is All You Need"
// (6.3, after Vinyals et al., 2015): "(S (NP DT NN )NP (VP VBZ )VP . )S", with a tag for each word.
struct ParsedSentence {
  std::string words, tree;
  int length = 0; // words
};

// Draws a sentence of 3 to `longest` words.
ParsedSentence drawSentence(SplitMix64 &random, int longest);

struct ParseOptions {
  uint32_t train = 40'000, valid = 300, test = 500;
  int longest = 16; // words of a sentence
  uint64_t seed = 1;
};

// Returns test.txt and test.tree, valid.txt, ..., with a sentence or its tree a line. No sentence occurs twice, within a
// part or across parts. The same options give the same files on any machine. Fails if there are too few sentences.
Result<DataFiles> parseFiles(const ParseOptions &options);

} // namespace heddle::demo
