#include "tools/heddle-run/text/Batches.h"

#include <cassert>
#include <numeric>
#include <utility>

namespace heddle::run {
namespace {

// The standard library leaves the algorithm of std::shuffle open; a training must draw the same order everywhere.
class OrderRandom {
public:
  OrderRandom(uint64_t seed, uint64_t epoch) : state(mix(seed) ^ mix(epoch + 0x632be59bd9b4e019)) {}

  uint64_t below(uint64_t bound) { return uint64_t((unsigned __int128)(mix(state += kStep)) * bound >> 64); }

private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mix(uint64_t z) {
    z += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state;
};

} // namespace

void PackedSequences::add(int64_t length) {
  starts.push_back(int32_t(tokens()));
  lengths.push_back(int32_t(length));
  for (int64_t i = 0; i < length; ++i)
    positions.push_back(int32_t(i));
}

void SourceBatch::add(std::span<const int32_t> sentence) {
  layout.add(int64_t(sentence.size()) + 1);
  tokens.insert(tokens.end(), sentence.begin(), sentence.end());
  tokens.push_back(marks.end);
}

void Batch::add(std::span<const int32_t> sourceSentence, std::span<const int32_t> targetSentence) {
  source.add(sourceSentence);
  target.add(int64_t(targetSentence.size()) + 1);
  targetIn.push_back(source.marks.begin);
  targetIn.insert(targetIn.end(), targetSentence.begin(), targetSentence.end());
  targetOut.insert(targetOut.end(), targetSentence.begin(), targetSentence.end());
  targetOut.push_back(source.marks.end);
}

bool Batch::hasRoomFor(std::span<const int32_t> sourceSentence, std::span<const int32_t> targetSentence,
                       const BatchLimits &limits) const {
  return target.sequences() < limits.maximumSequences &&
         source.layout.tokens() + int64_t(sourceSentence.size()) + 1 <= limits.maximumTokens &&
         target.tokens() + int64_t(targetSentence.size()) + 1 <= limits.maximumTokens;
}

BatchSource::BatchSource(const SentencePairs &pairs, BatchLimits limits, uint64_t seed, DataCursor start)
    : pairs(&pairs), limits(limits), seed(seed), place(start) {
  assert(!pairs.empty() && "nothing to serve");
  draw();
}

void BatchSource::draw() {
  order.resize(pairs->size());
  std::iota(order.begin(), order.end(), 0u);
  OrderRandom random(seed, place.epoch);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
}

Batch BatchSource::next() {
  if (place.next >= order.size()) {
    ++place.epoch;
    place.next = 0;
    draw();
  }
  Batch batch(limits.marks);
  while (place.next < order.size()) {
    uint32_t pair = order[place.next];
    // A first pair always goes in: a corpus holds none that is too long for a call.
    if (!batch.targetIn.empty() && !batch.hasRoomFor(pairs->source(pair), pairs->target(pair), limits))
      break;
    batch.add(pairs->source(pair), pairs->target(pair));
    ++place.next;
  }
  return batch;
}

std::vector<Batch> packInOrder(const SentencePairs &pairs, const BatchLimits &limits) {
  std::vector<Batch> batches;
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    if (batches.empty() || !batches.back().hasRoomFor(pairs.source(pair), pairs.target(pair), limits))
      batches.emplace_back(limits.marks);
    batches.back().add(pairs.source(pair), pairs.target(pair));
  }
  return batches;
}

} // namespace heddle::run
