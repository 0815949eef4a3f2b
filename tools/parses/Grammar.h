// A small probabilistic grammar of English: sentences with the trees that they came from.
#pragma once

#include "tools/Random.h"

#include <string>

namespace heddle::parses {

// A sentence and its tree, in one line each. The tree is written as "Attention Is All You Need" has it for its second
// task (6.3, after Vinyals et al., 2015): "(S (NP DT NN )NP (VP VBZ )VP . )S", a tag for each word.
struct ParsedSentence {
  std::string words, tree;
  int length = 0; // words
};

// Draws a sentence of 3 to `longest` words.
ParsedSentence drawSentence(SplitMix64 &random, int longest);

} // namespace heddle::parses
