#include "tools/heddle-run/call/RandomInputs.h"

#include "runtime/core/Log.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>

namespace heddle::run {
namespace {

// The approximate length of a sentence in the paper's English-German corpus, in tokens.
constexpr int64_t kSentenceTokens = 25;

// The largest value of integers about which nothing is known. The smallest is 1, as they may be divisors.
constexpr uint32_t kBlindLargest = 7;

// Draws lengths around their mean. Each is in [1, longest], and their sum is `tokens` if that is possible.
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
      if (port.role == "lengths" && port.of != kSentences && port.of != kWords)
        prefixes.push_back(port.of);
    findSequences();
    chooseSequences(options.sequences);
    if (options.sequences > most)
      log(LogLevel::Warning, str("the entry '", entry.name, "' takes ", most,
                                 most == 1 ? " sequence at most, and gets one" : " sequences at most, and gets as many",
                                 " instead of ", options.sequences));
    for (const std::string &prefix : prefixes) {
      int64_t sequences = extentOf(lengthsPort(prefix).dims[0]);
      std::vector<int32_t> &lengths = lengthsOf[prefix] =
          isOfImages(prefix) ? std::vector<int32_t>(size_t(sequences), int32_t(longest(prefix)))
                             : drawLengths(sequences, tokens(prefix), longest(prefix), random);
      // The size of the tokens is the sum of the sequences' lengths.
      for (const PortInfo &other : entry.inputs)
        for (const DimInfo &dim : other.dims)
          if (dim.size == prefix + "_tokens")
            extents[dim.size] = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
      fitExtents(prefix, lengths);
    }
    if (const PortInfo *sentences = find(kSentences, "positions"))
      divideIntoSentences(sentences->valueLimit);
  }

  Result<NamedTensor> make(const PortInfo &port) {
    Shape shape;
    for (const DimInfo &dim : port.dims)
      shape.push_back(extentOf(dim));
    HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(port.type, shape));
    bool isBlind = false;
    if (port.type == ElementType::F32) {
      std::span<float> values = tensor.values<float>();
      for (float &value : values)
        value = values.size() == 1 ? float(1 + random() % 1000) * 1e-6f : float(random()) * 0x1p-31f - 1;
    } else {
      isBlind = !fill(port, tensor.values<int32_t>());
    }
    return NamedTensor{port.name, std::move(tensor), isBlind};
  }

private:
  static constexpr const char *kSentences = "source_sentences", *kWords = "source_words";
  static constexpr int32_t kSentenceWords = 8;
  // Suffix of the names of sequences whose lengths have no role; no other input's name begins like them.
  static constexpr const char *kOwn = ":";

  // Divides each text into sentences of a few words; the last sentence may have more.
  void divideIntoSentences(int64_t most) {
    for (int32_t length : lengthsOf["source"]) {
      auto count = std::clamp<int32_t>(length / kSentenceWords, 1, int32_t(most));
      lengthsOf[kSentences].push_back(count);
      for (int32_t i = 0; i < count; ++i)
        lengthsOf[kWords].push_back(i + 1 < count ? kSentenceWords : length - kSentenceWords * i);
    }
    extents[kSentences] = int64_t(lengthsOf[kWords].size());
  }

  const PortInfo *port(const std::string &name) const {
    auto found = std::find_if(entry.inputs.begin(), entry.inputs.end(), [&](auto &port) { return port.name == name; });
    return found == entry.inputs.end() ? nullptr : &*found;
  }
  const PortInfo *find(std::string_view of, std::string_view role) const {
    auto found = std::ranges::find_if(entry.inputs, [&](auto &port) { return port.of == of && port.role == role; });
    return found == entry.inputs.end() ? nullptr : &*found;
  }

  // Finds sequences with names of their own: pairs of inputs that give the first row and the number of rows of each.
  void findSequences() {
    for (const RowsInfo &rows : entry.rows) {
      if (!areSequences(rows))
        continue;
      const PortInfo &count = *port(rows.count->input);
      std::string prefix = count.role == "lengths" ? count.of : count.name + kOwn;
      if (count.role != "lengths") {
        if (std::ranges::find(prefixes, prefix) == prefixes.end())
          prefixes.push_back(prefix);
      }
      prefixOfStarts.try_emplace(rows.first->input, prefix);
    }
  }

  bool areSequences(const RowsInfo &rows) const {
    if (!rows.first || !rows.count || rows.first->input.empty() || rows.count->input.empty() ||
        rows.first->number != 0 || rows.count->number != 0 || rows.first->input == rows.count->input)
      return false;
    const DimInfo &first = port(rows.first->input)->dims[0], &count = port(rows.count->input)->dims[0];
    return first.size == count.size && first.extent == count.extent;
  }

  const PortInfo &lengthsPort(const std::string &prefix) const {
    return prefix.ends_with(kOwn) ? *port(prefix.substr(0, prefix.size() - 1)) : *find(prefix, "lengths");
  }

  // Sizes that belong to sequences with names of their own are as large as those need.
  void fitExtents(const std::string &prefix, const std::vector<int32_t> &lengths) {
    const PortInfo &port = lengthsPort(prefix);
    if (!port.longest.size.empty())
      extents[port.longest.size] = std::ranges::max(lengths);
    for (const RowsInfo &rows : entry.rows)
      if (areSequences(rows) && rows.count->input + kOwn == prefix && !rows.rows.size.empty() &&
          rows.rows.size != port.dims[0].size) {
        int64_t &extent = extents[rows.rows.size];
        extent = std::max(extent, std::accumulate(lengths.begin(), lengths.end(), int64_t(0)));
      }
  }

  int64_t extentOf(const DimInfo &dim) const {
    auto found = extents.find(dim.size);
    return found == extents.end() ? dim.extent : found->second;
  }

  // Returns the most tokens that the sequences called `prefix` may have together. longest() is the limit of a single
  // one.
  int64_t tokens(const std::string &prefix) const {
    for (const PortInfo &other : entry.inputs)
      for (const DimInfo &dim : other.dims)
        if (dim.size == prefix + "_tokens")
          return dim.extent;
    if (prefix == "group") // hypotheses, of which there are as many as sequences in the batch
      return extentOf(port("score")->dims[0]);
    if (const PortInfo *row = port("cache_row"); row && prefix == "cache") // any row of the cache
      return row->valueLimit;
    const PortInfo *starts = find(prefix, "starts"); // a start may lie one past the last token
    if (starts && starts->valueLimit > 1)
      return starts->valueLimit - 1;
    const PortInfo &lengths = lengthsPort(prefix);
    std::optional<int64_t> room;
    for (const RowsInfo &rows : entry.rows)
      if (areSequences(rows) && rows.count->input == lengths.name) {
        int64_t limit = port(rows.first->input)->valueLimit;
        int64_t here = limit > 1 ? std::min(extentOf(rows.rows), limit - 1) : extentOf(rows.rows);
        room = std::min(room.value_or(here), here);
      }
    return std::max<int64_t>(room.value_or(lengths.dims[0].extent), 1);
  }
  int64_t longest(const std::string &prefix) const {
    int64_t limit = limitOf(lengthsPort(prefix));
    int64_t length = limit > 1 ? limit - 1 : tokens(prefix);
    const PortInfo *positions = prefix == "cache" ? port("position") : find(prefix, "positions");
    return positions && positions->valueLimit > 0 ? std::min(length, positions->valueLimit) : length;
  }

  // Returns the exclusive upper bound of an input's numbers, from its limit and the rows that it selects; 0 if nothing
  // bounds them.
  int64_t limitOf(const PortInfo &port) const {
    int64_t limit = port.valueLimit;
    auto tighten = [&](int64_t other) { limit = std::max<int64_t>(limit > 0 ? std::min(limit, other) : other, 1); };
    if (port.longest.extent > 0)
      tighten(port.longest.extent + 1);
    for (const RowsInfo &rows : entry.rows) {
      if (rows.list == port.name)
        tighten(extentOf(rows.listed));
      if (!rows.first || !rows.count)
        continue;
      int64_t room = extentOf(rows.rows) - rows.first->number - rows.count->number;
      if (rows.first->input == port.name && rows.count->input.empty())
        tighten(room + 1);
      else if (rows.count->input == port.name && rows.first->input.empty())
        tighten(room + 1);
    }
    return limit;
  }

  // All images have the same number of pixels.
  bool isOfImages(const std::string &prefix) const { return find(prefix, "pixels") != nullptr; }

  // Chooses the number of sequences so that their tokens fit and can fill the token size.
  void chooseSequences(int64_t wanted) {
    for (const std::string &prefix : prefixes) {
      const DimInfo &dim = lengthsPort(prefix).dims[0];
      if (dim.size.empty() || prefix == "query") // a decoding step has one token per sequence
        continue;
      int64_t least = (tokens(prefix) + longest(prefix) - 1) / longest(prefix);
      int64_t count = std::max(least, tokens(prefix) / kSentenceTokens), room = tokens(prefix);
      if (isOfImages(prefix)) {
        room /= longest(prefix);
        count = dim.extent;
      }
      room = std::max<int64_t>(std::min(dim.extent, room), 1);
      most = std::min(most, room);
      count = std::clamp<int64_t>(wanted ? wanted : count, 1, room);
      auto [known, isNew] = extents.try_emplace(dim.size, count);
      known->second = std::min(known->second, count);
    }
  }

  // Fills an input. Returns false if nothing is known about its valid range.
  bool fill(const PortInfo &port, std::span<int32_t> values) {
    std::string prefix = port.of;
    auto known = [&](std::string_view role) { return port.role == role && lengthsOf.contains(prefix); };
    auto named = prefixOfStarts.find(port.name);
    if (known("lengths")) {
      std::ranges::copy(lengthsOf[prefix], values.begin());
    } else if (lengthsOf.contains(port.name + kOwn)) {
      std::ranges::copy(lengthsOf[port.name + kOwn], values.begin());
    } else if (known("starts") || (named != prefixOfStarts.end() && lengthsOf.contains(prefix = named->second))) {
      std::exclusive_scan(lengthsOf[prefix].begin(), lengthsOf[prefix].end(), values.begin(), 0);
    } else if (known("positions")) {
      size_t next = 0;
      for (int32_t length : lengthsOf[prefix])
        for (int32_t place = 0; place < length && next < values.size(); ++place)
          values[next++] = place;
    } else if ((port.name == "position" || port.name == "cache_rows") && lengthsOf.contains("cache")) {
      // The newest token of each sequence: its position in the sequence, and its row in the cache.
      int32_t start = 0;
      for (size_t i = 0; i < values.size(); start += lengthsOf["cache"][i++])
        values[i] = (port.name == "position" ? 0 : start) + lengthsOf["cache"][i] - 1;
    } else if (port.name == "seen_rows" || port.name == "seen_tokens") {
      // The sequences take the tokens in turns, so that no pair of a sequence and a token occurs twice.
      auto sequences = size_t(extentOf(this->port("token")->dims[0]));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = int32_t(port.name == "seen_rows" ? i % sequences : i / sequences % size_t(port.valueLimit));
    } else if (port.name == "top_k" || port.name == "key_high" || port.name == "key_low") {
      std::ranges::fill(values, 0); // draw from all tokens; any key will do
    } else {
      int64_t limit = limitOf(port);
      for (int32_t &value : values)
        value = int32_t(limit > 0 ? random() % uint64_t(limit) : 1 + random() % kBlindLargest);
      return limit > 0;
    }
    return true;
  }

  const EntryInfo &entry;
  std::mt19937 random;
  std::vector<std::string> prefixes;
  std::map<std::string, std::string, std::less<>> prefixOfStarts; // by the input that has the sequences' starts
  int64_t most = std::numeric_limits<int64_t>::max();             // the most sequences that there is room for
  std::map<std::string, int64_t, std::less<>> extents;            // of sizes that are below their maximum
  std::map<std::string, std::vector<int32_t>> lengthsOf;
};

} // namespace

Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry, const RandomInputOptions &options) {
  InputMaker maker(entry, options);
  std::vector<NamedTensor> inputs;
  for (const PortInfo &port : entry.inputs) {
    HEDDLE_ASSIGN(inputs.emplace_back(), maker.make(port));
  }
  return inputs;
}

std::string warningOfBlind(const std::string &entry, const std::vector<NamedTensor> &inputs) {
  std::string names;
  for (const NamedTensor &input : inputs)
    if (input.isBlind)
      names += str(names.empty() ? "" : ", ", "'", input.name, "'");
  return names.empty()
             ? ""
             : str("entry '", entry, "': nothing says what the numbers of ", names, " may be, so they are 1 to ",
                   kBlindLargest, " at random; give each a heddle.limit if others matter");
}

} // namespace heddle::run
