#include "tools/parses/ParseSplit.h"

#include "runtime/core/File.h"
#include "tools/parses/Grammar.h"

#include <filesystem>
#include <unordered_set>

namespace heddle::parses {
namespace {

// If this many draws in a row give no new sentence, hardly any are left.
constexpr int kMostRepetitions = 10'000;

std::string writePart(const std::filesystem::path &folder, const std::string &name, uint32_t count, int longest,
                      SplitMix64 &random, std::unordered_set<std::string> &seen) {
  std::filesystem::path sentences = folder / (name + ".txt"), trees = folder / (name + ".tree");
  std::string words, brackets;
  int repetitions = 0;
  for (uint32_t written = 0; written < count;) {
    ParsedSentence sentence = drawSentence(random, longest);
    if (!seen.insert(sentence.words).second) {
      if (++repetitions == kMostRepetitions)
        return "the grammar has too few sentences of at most " + std::to_string(longest) +
               " words; ask for fewer or raise --longest";
      continue;
    }
    repetitions = 0;
    words += sentence.words + '\n';
    brackets += sentence.tree + '\n';
    ++written;
  }
  for (const auto &[path, text] : {std::pair(sentences, words), {trees, brackets}})
    if (Status status = writeFile(path, text); !status.ok())
      return status.message();
  return {};
}

} // namespace

std::string writeSplit(const SplitOptions &options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error)
    return "cannot create folder '" + options.directory + "': " + error.message();
  SplitMix64 random(options.seed);
  std::unordered_set<std::string> seen;
  for (auto [name, count] : {std::pair("test", options.test), {"valid", options.valid}, {"train", options.train}})
    if (std::string problem = writePart(options.directory, name, count, options.longest, random, seen);
        !problem.empty())
      return problem;
  return {};
}

} // namespace heddle::parses
