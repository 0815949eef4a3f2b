#include "tools/heddle-data/Stories.h"

#include <algorithm>
#include <array>
#include <vector>

namespace heddle::demo {
namespace {

constexpr std::array<std::string_view, 12> kNames = {"Tom", "Ann", "Ben", "Eva", "Max", "Mia",
                                                     "Leo", "Zoe", "Sam", "Lea", "Jim", "Ida"};
constexpr std::array<std::string_view, 8> kColours = {"red",   "blue",  "green", "black",
                                                      "white", "brown", "pink",  "grey"};
constexpr std::array<std::string_view, 12> kThings = {"ball", "hat", "book", "cup",  "kite", "shoe",
                                                      "bag",  "box", "doll", "drum", "flag", "boat"};
constexpr std::array<std::string_view, 4> kSizes = {"big", "small", "old", "new"};
constexpr std::array<std::string_view, 8> kPlaces = {"park", "school", "lake",   "shop",
                                                     "farm", "river",  "forest", "market"};
constexpr size_t kShareHeldOut = 10; // one in this many first sentences

template <size_t N> std::string_view choose(const std::array<std::string_view, N> &words, SplitMix64 &random) {
  return words[size_t(random.below(N))];
}

template <size_t N> size_t indexOf(const std::array<std::string_view, N> &words, std::string_view word) {
  return size_t(std::ranges::find(words, word) - words.begin());
}

// Returns the word of `words` that follows `before` in the text; empty if there is none.
template <size_t N>
std::string_view wordBehind(std::string_view text, std::string_view before,
                            const std::array<std::string_view, N> &words) {
  size_t at = text.find(before);
  if (at == std::string_view::npos)
    return {};
  std::string_view rest = text.substr(at + before.size());
  auto found = std::ranges::find_if(words, [&](std::string_view word) { return rest.starts_with(word); });
  return found == words.end() ? std::string_view() : *found;
}

std::string join(std::initializer_list<std::string_view> words) {
  std::string text;
  for (std::string_view word : words)
    text += word;
  return text;
}

} // namespace

std::string Story::beginning() const { return join({owner, " has a ", colour, " ", thing, "."}); }

std::string Story::continuation(Style style) const {
  bool isPast = style == Style::Past;
  auto verb = [&](std::string_view present, std::string_view past) { return isPast ? past : present; };
  std::string text;
  if (tellsSize)
    text += join({" The ", colour, " ", thing, verb(" is ", " was "), size, "."});
  text += join(
      {" ", owner, verb(" goes", " went"), " to the ", place, ". There ", owner, verb(" meets ", " met "), other, "."});
  if (isLiked)
    text += join({" ", other, verb(" likes", " liked"), " the ", colour, " ", thing, "."});
  if (isGiven)
    text += join({" ", owner, verb(" gives", " gave"), " the ", colour, " ", thing, " to ", other, "."});
  else
    text += join({" ", owner, verb(" hides", " hid"), " the ", colour, " ", thing, "."});
  return text + join({verb(" Now ", " Then "), isGiven ? other : owner, verb(" has", " had"), " the ", colour, " ",
                      thing, "."});
}

bool Story::isHeldOut() const {
  size_t number =
      (indexOf(kNames, owner) * kColours.size() + indexOf(kColours, colour)) * kThings.size() + indexOf(kThings, thing);
  return number * 7919 % kShareHeldOut == 0; // scattered over all names, colours and things
}

Story drawStory(SplitMix64 &random, bool heldOut) {
  Story story;
  do {
    story.owner = choose(kNames, random);
    story.colour = choose(kColours, random);
    story.thing = choose(kThings, random);
  } while (story.isHeldOut() != heldOut);
  do
    story.other = choose(kNames, random);
  while (story.other == story.owner);
  story.size = choose(kSizes, random);
  story.place = choose(kPlaces, random);
  story.tellsSize = random.below(2) == 0;
  story.isLiked = random.below(2) == 0;
  story.isGiven = random.below(2) == 0;
  return story;
}

DataFiles storyFiles(const StoryOptions &options) {
  SplitMix64 random(options.seed);
  auto lines = [&](uint32_t count, bool heldOut, auto line) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i)
      text += line(drawStory(random, heldOut));
    return text;
  };
  auto whole = [](const Story &story) { return story.beginning() + story.continuation(Style::Present) + "\n"; };
  auto prompt = [](const Story &story) { return story.beginning() + "\n"; };
  auto record = [](const Story &story) { // stories have letters, spaces and full stops, which need no escapes in JSON
    return join(
        {"{\"prompt\": \"", story.beginning(), "\", \"completion\": \"", story.continuation(Style::Past), "\"}\n"});
  };
  return {{"prompts.txt", lines(options.prompts, true, prompt)},
          {"valid.txt", lines(options.valid, true, whole)},
          {"stories.txt", lines(options.stories, false, whole)},
          {"told.jsonl", lines(options.told, false, record)}};
}

bool isRight(std::string_view text, Style style) {
  // Reads the story's choices from the text. The text is right only if the story with these choices is the text.
  Story story;
  auto owner = std::ranges::find_if(kNames, [&](std::string_view name) { return text.starts_with(name); });
  if (owner == kNames.end())
    return false;
  story.owner = *owner;
  story.colour = wordBehind(text, " has a ", kColours);
  story.thing = wordBehind(text, join({" has a ", story.colour, " "}), kThings);
  story.size = wordBehind(text, style == Style::Past ? " was " : " is ", kSizes);
  story.place = wordBehind(text, " to the ", kPlaces);
  story.other = wordBehind(text, style == Style::Past ? " met " : " meets ", kNames);
  if (story.other == story.owner || story.other.empty())
    return false;
  for (int choice = 0; choice < 8; ++choice) {
    story.tellsSize = choice & 1;
    story.isLiked = choice & 2;
    story.isGiven = choice & 4;
    if (text == story.beginning() + story.continuation(style))
      return true;
  }
  return false;
}

} // namespace heddle::demo
