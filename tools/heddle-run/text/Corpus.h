// A parallel corpus as token identifiers.
#pragma once

#include "tools/heddle-run/text/Tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace heddle::run {

// Sentence pairs in two flat arrays: a corpus of millions of pairs costs four bytes a token and not an allocation each.
class SentencePairs {
public:
  void add(std::span<const int32_t> source, std::span<const int32_t> target);

  size_t size() const { return sourceEnds.size(); }
  bool empty() const { return sourceEnds.empty(); }
  std::span<const int32_t> source(size_t pair) const { return slice(sourceIds, sourceEnds, pair); }
  std::span<const int32_t> target(size_t pair) const { return slice(targetIds, targetEnds, pair); }

  // Tells two corpora apart: a resumed training must see the one that it began with.
  uint64_t fingerprint() const;

private:
  static std::span<const int32_t> slice(const std::vector<int32_t> &ids, const std::vector<uint64_t> &ends,
                                        size_t pair) {
    uint64_t begin = pair == 0 ? 0 : ends[pair - 1];
    return std::span(ids).subspan(begin, ends[pair] - begin);
  }

  std::vector<int32_t> sourceIds, targetIds;
  std::vector<uint64_t> sourceEnds, targetEnds;
};

// What was read and what was left out, and why.
struct CorpusReport {
  uint64_t read = 0;
  uint64_t blank = 0;    // an empty line on either side
  uint64_t overLong = 0; // more tokens than one sequence may have
  uint64_t invalidUtf8 = 0;
  uint64_t firstInvalidLine = 0;
  std::string firstInvalidFile;

  uint64_t skipped() const { return blank + overLong + invalidUtf8; }
  // "40000 pairs", "39990 of 40000 pairs; skipped 8 with a blank line and 2 longer than 64 tokens"
  std::string describe(int64_t maximumLength) const;
};

struct Corpus {
  SentencePairs pairs;
  CorpusReport report;
};

// Encodes two files whose line n translates one another. `maximumLength` counts the mark at a sentence's begin or end.
Result<Corpus> readCorpus(const std::filesystem::path &source, const std::filesystem::path &target,
                          const Tokenizer &tokenizer, int64_t maximumLength);

} // namespace heddle::run
