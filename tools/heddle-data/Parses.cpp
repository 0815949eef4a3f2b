#include "tools/heddle-data/Parses.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace heddle::demo {
namespace {

using Symbols = std::vector<std::string_view>;

// One way to expand a symbol. Its probability is proportional to its weight.
struct Rule {
  int weight;
  Symbols symbols;
};

// Symbols found neither here nor below are tags. Words tell where a phrase attaches, as far as they do in English: "of"
// attaches to the noun before it, "during" to the verb, and "with" to either.
const std::map<std::string_view, std::vector<Rule>> &rules() {
  static const std::map<std::string_view, std::vector<Rule>> table = {
      {"S", {{8, {"NP", "VP", "."}}, {2, {"PP-TIME", ",", "NP", "VP", "."}}, {1, {"ADVP", ",", "NP", "VP", "."}}}},
      {"S-IN", {{1, {"NP", "VP"}}}},
      {"S-GAP", {{1, {"VP"}}}},
      {"NP",
       {{6, {"DT", "NN"}},
        {4, {"DT", "JJ", "NN"}},
        {3, {"PRP"}},
        {3, {"NNP"}},
        {2, {"NNP", "NNP"}},
        {2, {"DT", "NNS"}},
        {2, {"JJ", "NNS"}},
        {1, {"CD", "NNS"}},
        {3, {"NP-BASE", "PP-OF"}},
        {1, {"NP-BASE", "SBAR-REL"}},
        {1, {"NP-BASE", "CC", "NP-BASE"}}}},
      {"NP-BASE", {{4, {"DT", "NN"}}, {2, {"DT", "JJ", "NN"}}, {2, {"DT", "NNS"}}, {1, {"NNP"}}}},
      {"VP",
       {{5, {"VBZ", "NP"}},
        {3, {"VBZ-ALONE"}},
        {2, {"VBZ-ALONE", "ADVP"}},
        {3, {"VBZ", "NP", "PP-TIME"}},
        {2, {"VBZ-ALONE", "PP-WITH"}},
        {2, {"VBZ-SAYS", "SBAR"}},
        {3, {"MD", "VP-BARE"}},
        {1, {"VBZ-ALONE", "PRT"}},
        {1, {"VP-BASE", "CC", "VP-BASE"}}}},
      {"VP-BARE", {{4, {"VB", "NP"}}, {1, {"VB", "NP", "PP-TIME"}}, {1, {"RB", "VB", "NP"}}}},
      {"VP-BASE", {{3, {"VBZ", "NP-BASE"}}, {1, {"VBZ-ALONE"}}}},
      {"PP-OF", {{1, {"IN-OF", "NP-BASE"}}}},
      {"PP-TIME", {{1, {"IN-TIME", "NP-BASE"}}}},
      {"PP-WITH", {{1, {"IN-WITH", "NP"}}}},
      {"SBAR", {{1, {"IN-THAT", "S-IN"}}}},
      {"SBAR-REL", {{1, {"WDT", "S-GAP"}}}},
      {"ADVP", {{3, {"RB"}}, {1, {"RB-DEGREE", "RB"}}}},
      {"PRT", {{1, {"RP"}}}},
  };
  return table;
}

// Some words have several tags: "that", "her", "light", "saw", "will".
const std::map<std::string_view, Symbols> &words() {
  static const std::map<std::string_view, Symbols> table = {
      {"DT", {"the", "a", "every", "this", "that", "no", "some", "her"}},
      {"NN", {"dog",    "teacher", "river", "machine", "letter", "garden", "saw",   "light", "answer", "captain",
              "window", "song",    "city",  "plan",    "doctor", "market", "storm", "will",  "story",  "bridge"}},
      {"NNS",
       {"dogs", "teachers", "rivers", "machines", "letters", "answers", "captains", "songs", "cities", "plans",
        "doctors", "stories"}},
      {"JJ", {"old", "small", "light", "quiet", "green", "new", "heavy", "strange", "kind", "famous"}},
      {"NNP", {"Ada", "Boston", "Clara", "Dublin", "Emil", "Grace", "Henry", "Mill"}},
      {"PRP", {"she", "he", "it", "everybody"}},
      {"CD", {"two", "three", "seven", "twelve"}},
      {"VBZ", {"sees", "likes", "builds", "finds", "paints", "crosses", "answers", "plans", "follows", "needs"}},
      {"VBZ-ALONE", {"sleeps", "waits", "sings", "works", "falls", "answers"}},
      {"VBZ-SAYS", {"says", "thinks", "knows", "hopes"}},
      {"VB", {"see", "like", "build", "find", "paint", "cross", "answer", "plan", "follow", "need"}},
      {"MD", {"will", "can", "must", "should"}},
      {"RB", {"slowly", "often", "never", "here", "well"}},
      {"RB-DEGREE", {"very", "quite"}},
      {"RP", {"down", "up", "off"}},
      {"IN-OF", {"of"}},
      {"IN-TIME", {"during", "before", "after"}},
      {"IN-WITH", {"with", "near", "for"}},
      {"IN-THAT", {"that"}},
      {"WDT", {"that", "which"}},
      {"CC", {"and", "or"}},
      {",", {","}},
      {".", {"."}},
  };
  return table;
}

// The part after a hyphen only tells the grammar's symbols apart; it is not part of the label.
std::string_view labelOf(std::string_view symbol) { return symbol.substr(0, symbol.find('-')); }

void expand(std::string_view symbol, SplitMix64 &random, ParsedSentence &sentence) {
  auto append = [](std::string &text, std::string_view token) {
    text += text.empty() ? "" : " ";
    text += token;
  };
  auto found = rules().find(symbol);
  if (found == rules().end()) {
    const Symbols &choices = words().at(symbol);
    append(sentence.words, choices[random.below(choices.size())]);
    append(sentence.tree, labelOf(symbol));
    ++sentence.length;
    return;
  }
  int total = 0;
  for (const Rule &rule : found->second)
    total += rule.weight;
  int drawn = int(random.below(uint64_t(total)));
  const Rule *rule = found->second.data();
  while (drawn >= rule->weight)
    drawn -= (rule++)->weight;
  append(sentence.tree, "(" + std::string(labelOf(symbol)));
  for (std::string_view part : rule->symbols)
    expand(part, random, sentence);
  append(sentence.tree, ")" + std::string(labelOf(symbol)));
}

} // namespace

ParsedSentence drawSentence(SplitMix64 &random, int longest) {
  assert(longest >= 3);
  while (true) {
    ParsedSentence sentence;
    expand("S", random, sentence);
    if (sentence.length >= 3 && sentence.length <= longest)
      return sentence;
  }
}

Result<DataFiles> parseFiles(const ParseOptions &options) {
  constexpr int kMostRepetitions = 10'000; // after this many draws without a new sentence, hardly any are left
  SplitMix64 random(options.seed);
  std::unordered_set<std::string> seen;
  DataFiles files;
  for (auto [name, count] : {std::pair("test", options.test), {"valid", options.valid}, {"train", options.train}}) {
    std::string words, trees;
    for (uint32_t drawn = 0, repetitions = 0; drawn < count;) {
      ParsedSentence sentence = drawSentence(random, options.longest);
      if (!seen.insert(sentence.words).second) {
        if (++repetitions == kMostRepetitions)
          return makeError(ErrorKind::InvalidArgument, "the grammar has too few sentences of at most ", options.longest,
                           " words; ask for fewer or raise --longest");
        continue;
      }
      repetitions = 0;
      words += sentence.words + '\n';
      trees += sentence.tree + '\n';
      ++drawn;
    }
    files.emplace_back(str(name, ".txt"), std::move(words));
    files.emplace_back(str(name, ".tree"), std::move(trees));
  }
  return files;
}

} // namespace heddle::demo
