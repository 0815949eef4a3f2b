// The order in which a training run sees its corpus. It is drawn from the seed, the epoch and the window alone, so that
// a cursor is all that a resumed training run needs, and memory holds two windows however large the corpus is.
//
// An epoch is all blocks in a new order. A window is as many of them as hold `windowLines` lines; its examples are
// shuffled, put into buckets by length, cut into batches, and the batches are shuffled. A bucket is a power of two
// wide: lengths in a batch are alike enough for its sequences to cost alike, and there is no padding for which they
// should be equal; batches of one length alone would make each step see another kind of sentence, and training worse.
// Sequences without a source are not put into buckets.
#pragma once

#include "runtime/text/Batches.h"

#include <atomic>
#include <future>
#include <string>

namespace heddle {

// What is used up: `batch` batches of the `window`-th window of the `epoch`-th order.
struct DataCursor {
  uint64_t epoch = 0;
  uint64_t window = 0;
  uint64_t batch = 0;

  bool operator==(const DataCursor &) const = default;
};

struct BatchOptions {
  BatchLimits limits;
  uint64_t seed = 1;
  uint64_t windowLines = 1 << 16;
};

// What a batch has in all.
struct BatchTotals {
  int64_t sourceTokens = 0, targetTokens = 0, labels = 0, predictions = 0, sentences = 0;

  void add(const Batch &batch);
  void add(const BatchTotals &other);
};

// A part of a batch, for one of several ranks. Where a rank's share of a batch is empty, it gets a sequence of another
// share, which does not count.
struct BatchPart {
  Batch batch;
  BatchTotals whole; // of all parts
  bool counts = true;
};

// Serves the corpus for ever. A thread of its own reads and encodes the next window while one is served.
class BatchSource {
public:
  // `corpus` has at least one block and outlives this. Reading begins at once.
  BatchSource(const ExampleBlocks &corpus, BatchOptions options, DataCursor start = {});
  ~BatchSource();
  BatchSource(const BatchSource &) = delete;
  BatchSource &operator=(const BatchSource &) = delete;

  // Fails where the corpus cannot be read, or has no example to serve.
  Result<Batch> next();
  // The same, and of it the sequences of one of several ranks: neighbours, with about as many tokens as those of the
  // others.
  Result<BatchPart> nextPart(uint32_t part, uint32_t parts);
  const DataCursor &cursor() const { return place; }

  // What there is to say of the text: of the first window that was read, and of a first whole epoch. Empty when nothing
  // new was read since.
  std::string takeRemark();
  bool isWarning() const { return seen.isWorthAWarning(); } // the remark

private:
  struct Window {
    Examples examples;
    std::vector<uint32_t> order; // of the examples
    std::vector<size_t> ends;    // of the batches, in `order`
    CorpusReport report;
  };

  uint64_t windowBlocks() const;
  uint64_t windowsOfEpoch() const;
  Result<Window> readWindow(uint64_t epoch, uint64_t index) const;
  void readAhead(uint64_t epoch, uint64_t index);
  Status enter();
  Result<std::pair<size_t, size_t>> advance(); // the examples of the next batch, by their places in the window's order

  const ExampleBlocks &corpus;
  BatchOptions options;
  DataCursor place;
  Window window;
  bool entered = false;
  CorpusReport seen;
  uint64_t windowsSeen = 0;
  std::string remark;
  std::atomic<bool> abandoned = false;
  std::future<Result<Window>> ahead; // last, so that what it uses outlives it
};

// Where the parts of so many sequences begin, and the last one ends, that cost alike: `costs` has the tokens of each
// sequence.
std::vector<size_t> splitSequences(std::span<const int64_t> costs, uint32_t parts);

// Cuts the examples into batches as described above: `order` gets all of them, `ends` where each batch ends in it.
void planBatches(const Examples &examples, const BatchOptions &options, uint64_t epoch, uint64_t window,
                 std::vector<uint32_t> &order, std::vector<size_t> &ends);

} // namespace heddle
