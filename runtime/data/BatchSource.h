// The order in which a training run sees its corpus. It depends only on the seed, the epoch and the window, so a
// training run can resume from a cursor. Memory holds two windows, however large the corpus is.
//
// An epoch is all blocks in a new order. A window is as many blocks as hold `windowLines` lines. Its examples are
// shuffled, sorted into buckets by length and cut into batches, and then the batches are shuffled. Bucket bounds are
// powers of two: sequences of a batch are then similar enough in length to cost about the same, and without padding
// nothing requires equal lengths. With batches of a single length, each step would see a different kind of sentence,
// and training would get worse. Sequences without a source are not sorted into buckets.
#pragma once

#include "runtime/data/Batches.h"

#include <atomic>
#include <future>
#include <string>

namespace heddle {

// A position in the training data: `batch` batches of window `window` of epoch `epoch` have been served.
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

// Counts of a whole batch.
struct BatchTotals {
  int64_t sourceTokens = 0, targetTokens = 0, labels = 0, predictions = 0, sentences = 0;

  void add(const Batch &batch);
  void add(const BatchTotals &other);
};

// One rank's part of a batch. If the rank's share is empty, the part holds a sequence of another rank's share, which
// does not count: `counts` is false.
struct BatchPart {
  Batch batch;
  BatchTotals whole; // totals of all parts
  bool counts = true;
};

// Serves the corpus endlessly. A background thread reads and encodes the next window while the current one is served.
class BatchSource {
public:
  // `corpus` has at least one block and outlives this. Reading starts at once.
  BatchSource(const ExampleBlocks &corpus, BatchOptions options, DataCursor start = {});
  ~BatchSource();
  BatchSource(const BatchSource &) = delete;
  BatchSource &operator=(const BatchSource &) = delete;

  // Fails if the corpus cannot be read or has no example to serve.
  Result<Batch> next();
  // Like next(), but returns only the sequences of one rank: consecutive ones, with about as many tokens as other ranks
  // get.
  Result<BatchPart> nextPart(uint32_t part, uint32_t parts);
  const DataCursor &cursor() const { return place; }

  // A remark about the text for the user: after the first window, and after the first whole epoch. Empty if nothing new
  // was read since the last call.
  std::string takeRemark();
  bool isWarning() const { return seen.isWorthAWarning(); } // about the remark

private:
  struct Window {
    Examples examples;
    std::vector<uint32_t> order; // the examples in the order in which they are served
    std::vector<size_t> ends;    // for each batch, its end in `order`
    CorpusReport report;
  };

  uint64_t windowBlocks() const;
  uint64_t windowsOfEpoch() const;
  Result<Window> readWindow(uint64_t epoch, uint64_t index) const;
  void readAhead(uint64_t epoch, uint64_t index);
  Status enter();
  Result<std::pair<size_t, size_t>> advance(); // the next batch: [begin, end) in the window's order

  const ExampleBlocks &corpus;
  BatchOptions options;
  DataCursor place;
  Window window;
  bool entered = false;
  CorpusReport seen;
  uint64_t windowsSeen = 0;
  std::string remark;
  std::atomic<bool> abandoned = false;
  std::future<Result<Window>> ahead; // last: its destructor waits for the thread, which uses the members above
};

// Splits sequences into `parts` runs of similar cost. Returns where each part begins, and the end of the last one.
// `costs` has the tokens of each sequence.
std::vector<size_t> splitSequences(std::span<const int64_t> costs, uint32_t parts);

// Cuts the examples into batches as described above. `order` receives all examples, `ends` the end of each batch in it.
void planBatches(const Examples &examples, const BatchOptions &options, uint64_t epoch, uint64_t window,
                 std::vector<uint32_t> &order, std::vector<size_t> &ends);

} // namespace heddle
