#include "tools/numbers/NumberSplit.h"

#include "runtime/core/File.h"
#include "tools/Random.h"
#include "tools/numbers/NumberWords.h"

#include <filesystem>
#include <unordered_map>

namespace heddle::numbers {
namespace {

std::string writePart(const std::filesystem::path &directory, const std::string &name,
                      const std::vector<uint32_t> &numbers) {
  const std::pair<const char *, std::string (*)(uint32_t)> languages[] = {{".en", spellEnglish}, {".de", spellGerman}};
  for (auto [suffix, spell] : languages) {
    std::filesystem::path path = directory / (name + suffix);
    std::string lines;
    for (uint32_t number : numbers)
      lines += spell(number) + '\n';
    if (Status status = writeFile(path, lines); !status.ok())
      return status.message();
  }
  return {};
}

} // namespace

Split drawSplit(const SplitOptions &options) {
  // A Fisher-Yates shuffle of 0 .. maximum that stores only the places it has moved.
  std::unordered_map<uint64_t, uint32_t> moved;
  auto at = [&](uint64_t place) {
    auto found = moved.find(place);
    return found == moved.end() ? uint32_t(place) : found->second;
  };
  SplitMix64 random(options.seed);
  uint64_t size = uint64_t(options.maximum) + 1, place = 0;
  auto draw = [&](uint32_t count) {
    std::vector<uint32_t> numbers;
    numbers.reserve(count);
    for (uint32_t i = 0; i < count; ++i, ++place) {
      uint64_t other = place + random.below(size - place);
      numbers.push_back(at(other));
      moved[other] = at(place);
    }
    return numbers;
  };
  Split split;
  split.test = draw(options.test);
  split.valid = draw(options.valid);
  split.train = draw(options.train);
  return split;
}

std::string writeSplit(const SplitOptions &options) {
  uint64_t wanted = uint64_t(options.train) + options.valid + options.test;
  if (wanted > uint64_t(options.maximum) + 1)
    return "--train, --valid and --test together ask for " + std::to_string(wanted) + " different numbers, but 0 to " +
           std::to_string(options.maximum) + " has only " + std::to_string(uint64_t(options.maximum) + 1) +
           "; ask for fewer or raise --maximum";
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error)
    return "cannot create folder '" + options.directory + "': " + error.message();
  Split split = drawSplit(options);
  for (const auto &[name, numbers] : {std::pair<const char *, const std::vector<uint32_t> *>{"train", &split.train},
                                      {"valid", &split.valid},
                                      {"test", &split.test}})
    if (std::string problem = writePart(options.directory, name, *numbers); !problem.empty())
      return problem;
  return {};
}

} // namespace heddle::numbers
