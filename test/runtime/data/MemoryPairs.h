// A corpus in memory, in blocks of a few lines.
#pragma once

#include "runtime/data/Corpus.h"

#include <algorithm>

namespace heddle::test {

struct MemoryPairs final : ExampleBlocks {
  explicit MemoryPairs(uint64_t perBlock) : perBlock(perBlock) {}

  size_t blocks() const override { return (pairs.size() + perBlock - 1) / perBlock; }
  uint64_t linesPerBlock() const override { return perBlock; }
  const std::string &fingerprint() const override { return print; }
  Status read(size_t block, Draw, Examples &into, CorpusReport &report) const override {
    for (size_t i = block * perBlock; i < std::min<size_t>(pairs.size(), (block + 1) * perBlock); ++i) {
      ++report.read;
      into.add(pairs[i]);
    }
    return Success();
  }

  Examples pairs;
  uint64_t perBlock;
  std::string print = "corpus";
};

} // namespace heddle::test
