#include "tools/heddle-run/text/Batches.h"

namespace heddle::run {

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
