#include "tools/heddle-run/call/RandomInputs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace heddle::run {
namespace {

// Tokens of a sentence of the paper's English-German corpus, about.
constexpr int64_t kSentenceTokens = 25;

// Lengths around their mean, of which each is in [1, longest] and all together are `tokens` where that can be.
std::vector<int32_t> drawLengths(int64_t sequences, int64_t tokens, int64_t longest, std::mt19937 &random) {
  tokens = std::clamp(tokens, sequences, sequences * longest);
  int64_t mean = tokens / sequences;
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < sequences; ++i)
    lengths.push_back(int32_t(std::clamp<int64_t>(mean / 2 + int64_t(random() % uint32_t(mean + 1)), 1, longest)));
  for (int64_t excess = std::accumulate(lengths.begin(), lengths.end(), int64_t(0)) - tokens; excess != 0;) {
    int32_t &length = lengths[random() % lengths.size()];
    if (excess > 0 ? length == 1 : length == longest)
      continue;
    length -= excess > 0 ? 1 : -1;
    excess -= excess > 0 ? 1 : -1;
  }
  return lengths;
}

class InputMaker {
public:
  InputMaker(const EntryInfo &entry, const RandomInputOptions &options) : entry(entry), random(options.seed) {
    for (const PortInfo &port : entry.inputs)
      if (std::string prefix; splitSuffix(port.name, "_lengths", prefix) && prefix != kSentences && prefix != kWords)
        prefixes.push_back(prefix);
    chooseSequences(options.sequences);
    for (const std::string &prefix : prefixes) {
      int64_t sequences = extentOf(port(prefix + "_lengths")->dims[0]);
      std::vector<int32_t> &lengths = lengthsOf[prefix] =
          isOfImages(prefix) ? std::vector<int32_t>(size_t(sequences), int32_t(longest(prefix)))
                             : drawLengths(sequences, tokens(prefix), longest(prefix), random);
      // The tokens' size is as large as the sequences need.
      for (const PortInfo &other : entry.inputs)
        for (const DimInfo &dim : other.dims)
          if (dim.size == prefix + "_tokens")
            extents[dim.size] = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
    }
    if (const PortInfo *sentences = port(kSentences))
      divideIntoSentences(sentences->valueLimit);
  }

  Result<NamedTensor> make(const PortInfo &port) {
    Shape shape;
    for (const DimInfo &dim : port.dims)
      shape.push_back(extentOf(dim));
    HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(port.type, shape));
    if (port.type == ElementType::F32) {
      std::span<float> values = tensor.values<float>();
      for (float &value : values)
        value = values.size() == 1 ? float(1 + random() % 1000) * 1e-6f : float(random()) * 0x1p-31f - 1;
    } else {
      fill(port, tensor.values<int32_t>());
    }
    return NamedTensor{port.name, std::move(tensor)};
  }

private:
  static constexpr const char *kSentences = "source_sentences", *kWords = "source_words";
  static constexpr int32_t kSentenceWords = 8;

  // Each text into sentences of some words, the last of which may have more.
  void divideIntoSentences(int64_t most) {
    for (int32_t length : lengthsOf["source"]) {
      auto count = std::clamp<int32_t>(length / kSentenceWords, 1, int32_t(most));
      lengthsOf[kSentences].push_back(count);
      for (int32_t i = 0; i < count; ++i)
        lengthsOf[kWords].push_back(i + 1 < count ? kSentenceWords : length - kSentenceWords * i);
    }
    extents[kSentences] = int64_t(lengthsOf[kWords].size());
  }

  static bool splitSuffix(std::string_view name, std::string_view suffix, std::string &prefix) {
    if (!name.ends_with(suffix))
      return false;
    prefix = name.substr(0, name.size() - suffix.size());
    return true;
  }

  const PortInfo *port(const std::string &name) const {
    auto found = std::find_if(entry.inputs.begin(), entry.inputs.end(), [&](auto &port) { return port.name == name; });
    return found == entry.inputs.end() ? nullptr : &*found;
  }

  int64_t extentOf(const DimInfo &dim) const {
    auto found = extents.find(dim.size);
    return found == extents.end() ? dim.extent : found->second;
  }

  // The most tokens that the sequences called `prefix` may have together, and one of them alone.
  int64_t tokens(const std::string &prefix) const {
    for (const PortInfo &other : entry.inputs)
      for (const DimInfo &dim : other.dims)
        if (dim.size == prefix + "_tokens")
          return dim.extent;
    if (prefix == "group") // of hypotheses, which are as many as the sequences of the batch
      return extentOf(port("score")->dims[0]);
    if (const PortInfo *row = port("cache_row"); row && prefix == "cache") // any row of the cache
      return row->valueLimit;
    const PortInfo *starts = port(prefix + "_starts"); // one of them may lie one past the last token
    return starts && starts->valueLimit > 1 ? starts->valueLimit - 1 : port(prefix + "_lengths")->dims[0].extent;
  }
  int64_t longest(const std::string &prefix) const {
    int64_t limit = port(prefix + "_lengths")->valueLimit;
    int64_t length = limit > 1 ? limit - 1 : tokens(prefix);
    const PortInfo *positions = port(prefix == "cache" ? "position" : prefix + "_positions");
    return positions && positions->valueLimit > 0 ? std::min(length, positions->valueLimit) : length;
  }

  // All images have as many pixels.
  bool isOfImages(const std::string &prefix) const { return port(prefix + "_pixels") != nullptr; }

  // As many sequences for each size that counts some, as all their tokens have room for and can be filled by.
  void chooseSequences(int64_t wanted) {
    for (const std::string &prefix : prefixes) {
      const DimInfo &dim = port(prefix + "_lengths")->dims[0];
      if (dim.size.empty() || prefix == "query") // of a decoding step: a token of each sequence
        continue;
      int64_t least = (tokens(prefix) + longest(prefix) - 1) / longest(prefix);
      int64_t count = wanted ? wanted : std::max(least, tokens(prefix) / kSentenceTokens);
      if (isOfImages(prefix))
        count = std::min(wanted ? wanted : dim.extent, tokens(prefix) / longest(prefix));
      count = std::clamp<int64_t>(count, 1, std::min(dim.extent, tokens(prefix)));
      auto [known, isNew] = extents.try_emplace(dim.size, count);
      known->second = std::min(known->second, count);
    }
  }

  void fill(const PortInfo &port, std::span<int32_t> values) {
    std::string prefix;
    auto known = [&](std::string_view suffix) {
      return splitSuffix(port.name, suffix, prefix) && lengthsOf.contains(prefix);
    };
    if (known("_lengths")) {
      std::ranges::copy(lengthsOf[prefix], values.begin());
    } else if (known("_starts")) {
      std::exclusive_scan(lengthsOf[prefix].begin(), lengthsOf[prefix].end(), values.begin(), 0);
    } else if (known("_positions")) {
      size_t next = 0;
      for (int32_t length : lengthsOf[prefix])
        for (int32_t place = 0; place < length && next < values.size(); ++place)
          values[next++] = place;
    } else if ((port.name == "position" || port.name == "cache_rows") && lengthsOf.contains("cache")) {
      // The newest token of each sequence: its place in the sequence, and in the cache.
      int32_t start = 0;
      for (size_t i = 0; i < values.size(); start += lengthsOf["cache"][i++])
        values[i] = (port.name == "position" ? 0 : start) + lengthsOf["cache"][i] - 1;
    } else if (port.name == kSentences) {
      size_t next = 0;
      for (int32_t count : lengthsOf[kSentences])
        for (int32_t place = 0; place < count; ++place)
          values[next++] = place;
    } else if (port.name == "seen_rows" || port.name == "seen_tokens") {
      // Tokens that the sequences have, distributed over them in turns: no pair of a sequence and a token comes twice.
      auto sequences = size_t(extentOf(this->port("token")->dims[0]));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = int32_t(port.name == "seen_rows" ? i % sequences : i / sequences % size_t(port.valueLimit));
    } else {
      for (int32_t &value : values)
        value = port.valueLimit > 0 ? int32_t(random() % uint64_t(port.valueLimit)) : 0;
    }
  }

  const EntryInfo &entry;
  std::mt19937 random;
  std::vector<std::string> prefixes;
  std::map<std::string, int64_t, std::less<>> extents; // of sizes that are not at their maximum
  std::map<std::string, std::vector<int32_t>> lengthsOf;
};

} // namespace

Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry, const RandomInputOptions &options) {
  InputMaker maker(entry, options);
  std::vector<NamedTensor> inputs;
  for (const PortInfo &port : entry.inputs) {
    HEDDLE_ASSIGN(NamedTensor input, maker.make(port));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

} // namespace heddle::run
