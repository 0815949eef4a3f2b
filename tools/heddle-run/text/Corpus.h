// A parallel corpus as token identifiers.
#pragma once

#include "tools/heddle-run/text/LineBlocks.h"
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
  uint64_t firstInvalidLine = 0; // the smallest of those seen
  std::string firstInvalidFile;

  void add(const CorpusReport &other);
  uint64_t skipped() const { return blank + overLong + invalidUtf8; }
  // "40000 pairs", "39990 of 40000 pairs; skipped 8 with a blank line and 2 longer than 64 tokens"
  std::string describe(int64_t maximumLength) const;
};

// A corpus whose pairs are read a block at a time, in any order.
class PairBlocks {
public:
  virtual ~PairBlocks() = default;

  virtual size_t blocks() const = 0;
  virtual uint64_t linesPerBlock() const = 0;

  // Tells two corpora apart: a resumed training must see the one that it began with.
  virtual const std::string &fingerprint() const = 0;

  // Appends a block's pairs, and to the report what was left out. Called from one thread at a time.
  virtual Status read(size_t block, SentencePairs &pairs, CorpusReport &report) const = 0;
};

// That of two text files.
class TextPairs final : public PairBlocks {
public:
  // `maximumLength` counts the mark at a sentence's begin or end. Text and tokenizer outlive this.
  TextPairs(const LineBlocks &text, const Tokenizer &tokenizer, int64_t maximumLength)
      : text(text), tokenizer(tokenizer), maximumLength(maximumLength) {}

  size_t blocks() const override { return text.blocks(); }
  uint64_t linesPerBlock() const override { return text.linesPerBlock(); }
  const std::string &fingerprint() const override { return text.fingerprint(); }
  Status read(size_t block, SentencePairs &pairs, CorpusReport &report) const override;

private:
  const LineBlocks &text;
  const Tokenizer &tokenizer;
  int64_t maximumLength;
};

struct Corpus {
  SentencePairs pairs;
  CorpusReport report;
};

// All pairs of two files, in memory.
Result<Corpus> readCorpus(const LineBlocks &text, const Tokenizer &tokenizer, int64_t maximumLength);

} // namespace heddle::run
