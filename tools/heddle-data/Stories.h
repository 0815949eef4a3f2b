// Stories of a few sentences about who has what, in two styles: a small language for the demo of language models. A
// correct story is consistent: the thing keeps its colour, and the last sentence says who has it.
#pragma once

#include "tools/heddle-data/DataFiles.h"
#include "tools/heddle-data/Random.h"

#include <string_view>

namespace heddle::demo {

// The tense of all sentences but the first, which is always in the present.
enum class Style { Present, Past };

struct Story {
  std::string_view owner, other, colour, thing, size, place;
  bool tellsSize = false, isLiked = false, isGiven = false;

  // "Tom has a red ball."
  std::string beginning() const;
  // " Tom goes to the park. ...": the text after the beginning.
  std::string continuation(Style style) const;
  // Returns true if the story's first sentence is held out, so that training never shows the story.
  bool isHeldOut() const;
};

// Draws a story that is held out, or one that is not.
Story drawStory(SplitMix64 &random, bool heldOut);

struct StoryOptions {
  uint32_t stories = 12'000, valid = 200, told = 1'000, prompts = 300;
  uint64_t seed = 1;
};

// Returns stories.txt and valid.txt, stories in the present; told.jsonl, beginnings with stories in the past, as records;
// and prompts.txt, beginnings that are held out, as are those of valid.txt.
DataFiles storyFiles(const StoryOptions &options);

// Returns true if the text is exactly one consistent story of the grammar.
bool isRight(std::string_view text, Style style);

} // namespace heddle::demo
