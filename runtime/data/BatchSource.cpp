#include "runtime/data/BatchSource.h"

#include "runtime/core/Span.h"
#include "runtime/data/OrderRandom.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <system_error>
#include <utility>

namespace heddle {
namespace {

// The window number used to draw the order of an epoch's blocks. No real window has it.
constexpr uint64_t kBlockOrder = ~uint64_t(0);

} // namespace

void planBatches(const Examples &examples, const BatchOptions &options, uint64_t epoch, uint64_t window,
                 std::vector<uint32_t> &order, std::vector<size_t> &ends) {
  OrderRandom random(options.seed, epoch, window);
  std::vector<uint32_t> sorted(examples.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  random.shuffle(sorted);
  // A plain sequence has to learn where it ends. In a batch of similar lengths, all sequences would seem to end there.
  const Marks &marks = options.limits.marks;
  auto bucket = [&](uint32_t index) {
    Example example = examples[index];
    int64_t rows = example.sourceRows(marks);
    return rows == 0 ? 0 : std::bit_width(uint64_t(std::max(rows, example.targetRows())));
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return bucket(a) < bucket(b); });

  // The same limits as Batch::hasRoomFor, without building the batches.
  std::vector<std::pair<size_t, size_t>> batches;
  int64_t sourceTokens = 0, targetTokens = 0, sequences = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    Example example = examples[sorted[i]];
    int64_t source = example.sourceRows(marks), target = example.targetRows();
    if (batches.empty() || sequences + example.sequences() > options.limits.maximumSequences ||
        sourceTokens + source > options.limits.maximumTokens || targetTokens + target > options.limits.maximumTokens) {
      batches.emplace_back(i, i);
      sourceTokens = targetTokens = sequences = 0;
    }
    sequences += example.sequences();
    sourceTokens += source;
    targetTokens += target;
    batches.back().second = i + 1;
  }
  random.shuffle(batches);

  order.clear();
  ends.clear();
  for (auto [begin, end] : batches) {
    order.insert(order.end(), sorted.begin() + ptrdiff_t(begin), sorted.begin() + ptrdiff_t(end));
    ends.push_back(order.size());
  }
}

BatchSource::BatchSource(const ExampleBlocks &corpus, BatchOptions options, DataCursor start)
    : corpus(corpus), options(options), place(start) {
  assert(corpus.blocks() != 0 && "nothing to serve");
  if (place.window >= windowsOfEpoch())
    place = {place.epoch + 1, 0, 0};
  readAhead(place.epoch, place.window);
}

BatchSource::~BatchSource() { abandoned = true; }

uint64_t BatchSource::windowBlocks() const {
  return std::max<uint64_t>(1, options.windowLines / std::max<uint64_t>(1, corpus.linesPerBlock()));
}

uint64_t BatchSource::windowsOfEpoch() const { return (corpus.blocks() + windowBlocks() - 1) / windowBlocks(); }

Result<BatchSource::Window> BatchSource::readWindow(uint64_t epoch, uint64_t index) const {
  nameThread("text reader");
  Span span("read window");
  span.with("epoch", int64_t(epoch)).with("window", int64_t(index));
  std::vector<uint32_t> blocks(corpus.blocks());
  std::iota(blocks.begin(), blocks.end(), 0u);
  OrderRandom(options.seed, epoch, kBlockOrder).shuffle(blocks);
  size_t begin = index * windowBlocks(), end = std::min(begin + windowBlocks(), blocks.size());
  // Blocks are read in the order in which they lie on disk; the window is shuffled anyway.
  std::sort(blocks.begin() + ptrdiff_t(begin), blocks.begin() + ptrdiff_t(end));
  Window result;
  for (size_t i = begin; i < end && !abandoned; ++i)
    HEDDLE_CHECK(corpus.read(blocks[i], {options.seed, epoch}, result.examples, result.report));
  Span plan("make batches");
  plan.with("examples", int64_t(result.examples.size()));
  planBatches(result.examples, options, epoch, index, result.order, result.ends);
  return result;
}

void BatchSource::readAhead(uint64_t epoch, uint64_t index) {
  auto read = [this, epoch, index] { return readWindow(epoch, index); };
  try {
    ahead = std::async(std::launch::async, read);
  } catch (const std::system_error &) { // no thread available: read when needed
    ahead = std::async(std::launch::deferred, read);
  }
}

// Takes the window that was read ahead and starts reading the next one.
Status BatchSource::enter() {
  {
    Span span("wait for text");
    HEDDLE_ASSIGN(window, ahead.get());
  }
  bool last = place.window + 1 == windowsOfEpoch();
  readAhead(last ? place.epoch + 1 : place.epoch, last ? 0 : place.window + 1);
  entered = true;

  if (windowsSeen < windowsOfEpoch()) // afterwards the same text would be counted twice
    seen.add(window.report);
  ++windowsSeen;
  if (windowsSeen == 1 || windowsSeen == windowsOfEpoch())
    remark = seen.describe(options.limits.maximumLength) +
             (windowsSeen == windowsOfEpoch() ? "" : str(" in the first of ", windowsOfEpoch(), " windows"));
  return Success();
}

Result<std::pair<size_t, size_t>> BatchSource::advance() {
  if (!entered)
    HEDDLE_CHECK(enter());
  for (uint64_t windows = 0; place.batch >= window.ends.size(); ++windows) {
    if (windows > windowsOfEpoch())
      return makeError(ErrorKind::InvalidArgument, "the training text leaves no ", seen.unit, " to use (",
                       seen.describe(options.limits.maximumLength), ").");
    place.batch = 0;
    if (++place.window == windowsOfEpoch()) {
      place.window = 0;
      ++place.epoch;
    }
    HEDDLE_CHECK(enter());
  }
  size_t begin = place.batch == 0 ? 0 : window.ends[place.batch - 1];
  return std::pair(begin, window.ends[place.batch++]);
}

Result<Batch> BatchSource::next() {
  HEDDLE_ASSIGN(auto range, advance());
  Batch batch(options.limits.marks);
  for (size_t i = range.first; i < range.second; ++i)
    batch.add(window.examples[window.order[i]]);
  return batch;
}

Result<BatchPart> BatchSource::nextPart(uint32_t part, uint32_t parts) {
  HEDDLE_ASSIGN(auto range, advance());
  BatchPart result{Batch(options.limits.marks)};
  std::vector<int64_t> costs;
  Batch whole(options.limits.marks);
  for (size_t i = range.first; i < range.second; ++i) {
    Example example = window.examples[window.order[i]];
    whole.add(example);
    costs.push_back(example.sourceRows(options.limits.marks) + example.targetRows());
  }
  result.whole.add(whole);
  if (parts == 1) {
    result.batch = std::move(whole);
    return result;
  }
  std::vector<size_t> begins = splitSequences(costs, parts);
  size_t begin = begins[part], end = begins[part + 1];
  if (begin == end) {
    result.counts = false;
    begin = 0, end = 1;
  }
  for (size_t i = begin; i < end; ++i)
    result.batch.add(window.examples[window.order[range.first + i]]);
  return result;
}

void BatchTotals::add(const Batch &batch) {
  sourceTokens += batch.source.layout.tokens() + batch.right.layout.tokens();
  targetTokens += batch.target.tokens();
  labels += int64_t(batch.labels.size() + batch.grades.size());
  predictions += batch.predictions();
  sentences += int64_t(batch.follows.size());
}

void BatchTotals::add(const BatchTotals &other) {
  sourceTokens += other.sourceTokens;
  targetTokens += other.targetTokens;
  labels += other.labels;
  predictions += other.predictions;
  sentences += other.sentences;
}

std::vector<size_t> splitSequences(std::span<const int64_t> costs, uint32_t parts) {
  int64_t all = std::accumulate(costs.begin(), costs.end(), int64_t(0)), before = 0;
  std::vector<size_t> begins{0};
  for (size_t i = 0; i < costs.size(); ++i) {
    // A sequence belongs to the part that contains its middle.
    auto part = size_t((2 * before + costs[i]) * int64_t(parts) / std::max<int64_t>(2 * all, 1));
    while (begins.size() <= std::min<size_t>(part, parts - 1))
      begins.push_back(i);
    before += costs[i];
  }
  begins.resize(parts + 1, costs.size());
  return begins;
}

std::string BatchSource::takeRemark() { return std::exchange(remark, {}); }

} // namespace heddle
