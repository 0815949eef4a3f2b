// A small probabilistic grammar of English, which draws sentences with their trees.
#pragma once

#include "tools/Random.h"

#include <string>

namespace heddle::parses {

// A sentence and its tree, each in one line. The tree is written as in the second task of "Attention Is All You Need"
// (6.3, after Vinyals et al., 2015): "(S (NP DT NN )NP (VP VBZ )VP . )S", with a tag for each word.
struct ParsedSentence {
  std::string words, tree;
  int length = 0; // words
};

// Draws a sentence of 3 to `longest` words.
ParsedSentence drawSentence(SplitMix64 &random, int longest);

} // namespace heddle::parses
