// Stories of a few sentences about who has what, in two styles: a small language for the demo of language models. A
// story that is told right agrees with itself: the thing keeps its colour, and the last sentence says who has it.
#pragma once

#include "tools/Random.h"

#include <string>
#include <string_view>

namespace heddle::stories {

// Of all sentences but the first, which is in the present in both styles.
enum class Style { Present, Past };

struct Story {
  std::string_view owner, other, colour, thing, size, place;
  bool tellsSize = false, isLiked = false, isGiven = false;

  // "Tom has a red ball."
  std::string beginning() const;
  // " Tom goes to the park. ...", what follows the beginning.
  std::string continuation(Style style) const;
  // Whether the story is one of those that training never shows: by its first sentence.
  bool isHeldOut() const;
};

// A story that is held out, or one that is not.
Story draw(SplitMix64 &random, bool heldOut);

// Whether the text is a story of the grammar that agrees with itself, and nothing else.
bool isRight(std::string_view text, Style style);

} // namespace heddle::stories
