#include "tools/heddle-data/Numbers.h"

#include "tools/heddle-data/NumberWords.h"
#include "tools/heddle-data/Random.h"

#include <algorithm>
#include <unordered_set>

namespace heddle::demo {
namespace {

// All numbers with the same count of digits.
struct Magnitude {
  uint32_t first = 0, last = 0;

  uint32_t size() const { return last - first + 1; }

  uint32_t largestHeldOut() const { return first < 100 ? 0 : (size() - last / first) / 6; }

  // Numbers that a reader tries first are for training: those below 100, and those with a single non-zero digit.
  bool canBeHeldOut(uint32_t number) const { return first >= 100 && number % first != 0; }
};

std::vector<Magnitude> magnitudesUpTo(uint32_t maximum) {
  std::vector<Magnitude> magnitudes;
  for (uint64_t first = 0, next = 10; first <= maximum; first = next, next *= 10)
    magnitudes.push_back({uint32_t(first), uint32_t(std::min<uint64_t>(next - 1, maximum))});
  return magnitudes;
}

class Draw {
public:
  explicit Draw(const NumberOptions &options) : random(options.seed), magnitudes(magnitudesUpTo(options.maximum)) {}

  std::vector<NumberText> heldOut(uint32_t count) {
    std::vector<NumberText> part;
    for (size_t i = 0; i < magnitudes.size(); ++i) {
      auto left = uint32_t(magnitudes.size() - i), missing = count - uint32_t(part.size());
      for (uint32_t quota = std::min((missing + left - 1) / left, magnitudes[i].largestHeldOut()); quota > 0;) {
        uint32_t number = numberOf(magnitudes[i]);
        if (!magnitudes[i].canBeHeldOut(number) || !taken.insert(number).second)
          continue;
        part.push_back(text(number));
        --quota;
      }
    }
    for (size_t i = part.size(); i > 1; --i)
      std::swap(part[i - 1], part[random.below(i)]);
    return part;
  }

  std::vector<NumberText> training(uint32_t count) {
    std::vector<NumberText> part;
    while (part.size() < count) {
      const Magnitude &magnitude = magnitudes[random.below(magnitudes.size())];
      bool isRound = random.below(4) == 0;
      uint32_t number;
      do
        number = isRound ? withZeros(numberOf(magnitude)) : numberOf(magnitude);
      while (taken.contains(number));
      part.push_back(text(number));
    }
    return part;
  }

private:
  uint32_t numberOf(const Magnitude &magnitude) { return magnitude.first + uint32_t(random.below(magnitude.size())); }

  // Sets about half of the digits after the first to 0: numbers like 1,200, 40,000 and 105,006 are rare among all
  // numbers, but common among the numbers that people use.
  uint32_t withZeros(uint32_t number) {
    for (uint32_t place = 1; place <= number / 10; place *= 10)
      if (random.below(2) == 0)
        number -= number / place % 10 * place;
    return number;
  }

  NumberText text(uint32_t number) {
    std::vector<std::vector<std::string>> ways = englishWritings(number);
    std::vector<std::string> &writings = ways[random.below(ways.size())];
    return {number, std::move(writings[random.below(writings.size())])};
  }

  SplitMix64 random;
  std::vector<Magnitude> magnitudes;
  std::unordered_set<uint32_t> taken;
};

} // namespace

uint32_t largestHeldOut(uint32_t maximum) {
  uint32_t sum = 0;
  for (const Magnitude &magnitude : magnitudesUpTo(maximum))
    sum += magnitude.largestHeldOut();
  return sum;
}

NumberSplit drawNumbers(const NumberOptions &options) {
  Draw draw(options);
  NumberSplit split;
  split.test = draw.heldOut(options.test);
  split.valid = draw.heldOut(options.valid);
  split.train = draw.training(options.train);
  return split;
}

Result<DataFiles> numberFiles(const NumberOptions &options) {
  for (auto [flag, count] : {std::pair("--valid", options.valid), {"--test", options.test}})
    if (uint32_t most = largestHeldOut(options.maximum); count > most)
      return makeError(ErrorKind::InvalidArgument, flag, " asks for ", count, " numbers, but of 0 to ", options.maximum,
                       " only ", most, " can be held out of the training; ask for fewer or raise --maximum");
  NumberSplit split = drawNumbers(options);
  DataFiles files;
  for (const auto &[name, part] : {std::pair("train", &split.train), {"valid", &split.valid}, {"test", &split.test}}) {
    std::string english, german;
    for (const NumberText &text : *part) {
      english += text.english + '\n';
      german += spellGerman(text.number) + '\n';
    }
    files.emplace_back(str(name, ".en"), std::move(english));
    files.emplace_back(str(name, ".de"), std::move(german));
  }
  return files;
}

} // namespace heddle::demo
