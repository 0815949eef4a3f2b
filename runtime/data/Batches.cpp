#include "runtime/data/Batches.h"

#include <algorithm>

namespace heddle {

void PackedSequences::add(int64_t length) {
  starts.push_back(int32_t(tokens()));
  lengths.push_back(int32_t(length));
  for (int64_t i = 0; i < length; ++i)
    positions.push_back(int32_t(i));
}

void NeighbourLists::add(int64_t nodes, std::span<const Edge> edges) {
  auto first = int64_t(degrees.size());
  for (std::vector<int32_t> *counts : {&degrees, &uses})
    counts->resize(size_t(first + nodes));
  for (std::vector<int32_t> *list : {&neighbours, &users, &slots})
    list->resize(size_t((first + nodes) * most));
  for (const Edge &edge : edges) {
    int64_t from = first + edge.from, to = first + edge.to;
    int32_t &degree = degrees[size_t(to)], &use = uses[size_t(from)];
    neighbours[size_t(to * most + degree)] = int32_t(from);
    users[size_t(from * most + use)] = int32_t(to);
    slots[size_t(from * most + use)] = degree;
    ++degree, ++use;
  }
}

template <typename T> static void append(std::vector<T> &all, std::span<const T> more) {
  all.insert(all.end(), more.begin(), more.end());
}

void SourceBatch::add(const Example &example) {
  int64_t rows = example.sourceRows(marks);
  if (marks.neighbours > 0)
    lists.add(rows, example.edges);
  if (marks.sentences > 0) {
    sentences.add(int64_t(example.sentences.size()));
    for (int32_t length : example.sentences)
      words.add(length);
  }
  layout.add(rows);
  append(tokens, example.source);
  append(pixels, example.pixels);
  if (!marks.hasTypes)
    return;
  for (size_t i = 0; i < example.source.size(); ++i)
    types.push_back(example.secondBegin > 0 && int32_t(i) >= example.secondBegin ? 1 : 0);
}

void Batch::add(const Example &example) {
  for (int32_t token : example.labelled)
    labelled.push_back(int32_t(source.layout.tokens()) + token);
  if (!example.partner.empty())
    addPair(example);
  else if (!example.source.empty() || !example.pixels.empty())
    source.add(example);
  if (!example.right.empty())
    right.add({.source = example.right});
  append(labels, example.labels);
  append(grades, example.grade);
  append(follows, example.follows);
  if (example.target.empty())
    return;
  addTarget(example.target, example.learnt);
  if (example.other.empty())
    return;
  auto chosen = int32_t(target.sequences()) - 1;
  addTarget(example.other, example.otherLearnt);
  partner.insert(partner.end(), {chosen + 1, chosen});
  preferred.insert(preferred.end(), {1, -1});
}

void Batch::addPair(const Example &example) {
  auto pair = int32_t(pairs.tokens()), left = int32_t(source.layout.sequences());
  for (std::span<const int32_t> text : {example.source, example.partner})
    source.add({.source = text});
  pairLeft.push_back(left);
  pairRight.push_back(left + 1);
  if (pair == 0)
    pairs.add(0);
  pairs.positions.push_back(pair);
  ++pairs.lengths.front();
  if (example.grade.empty())
    labels.push_back(pair);
}

void Batch::addTarget(std::span<const int32_t> sequence, std::span<const TokenRange> learnt) {
  bool countsAll = learnt.empty() || (learnt.size() == 1 && learnt[0].begin <= 1 && learnt[0].end == sequence.size());
  if (!countsAll || !weights.empty()) {
    size_t first = size_t(target.tokens()); // the sequence's first prediction; its prediction i is token i + 1
    weights.resize(first, 1);
    weights.resize(first + sequence.size() - 1, countsAll ? 1.0f : 0.0f);
    for (const TokenRange &range : learnt)
      for (size_t token = std::max<size_t>(range.begin, 1); token < range.end; ++token)
        weights[first + token - 1] = 1;
  }
  target.add(int64_t(sequence.size()) - 1);
  append(targetIn, sequence.first(sequence.size() - 1));
  append(targetOut, sequence.subspan(1));
}

int64_t Batch::predictions() const {
  if (!hasTarget())
    return int64_t(labels.size() + grades.size());
  if (!partner.empty())
    return preferences();
  return weights.empty() ? target.tokens() : std::ranges::count(weights, 1.0f);
}

bool Batch::hasRoomFor(const Example &example, const BatchLimits &limits) const {
  int64_t rows = hasTarget() ? target.tokens() : isOfPairs() ? right.layout.tokens() : predictions();
  return sequences() + example.sequences() <= limits.maximumSequences &&
         source.layout.tokens() + example.sourceRows(source.marks) <= limits.maximumTokens &&
         rows + example.targetRows() <= limits.maximumTokens;
}

std::vector<Batch> packInOrder(const Examples &examples, const BatchLimits &limits) {
  std::vector<Batch> batches;
  for (size_t i = 0; i < examples.size(); ++i) {
    if (batches.empty() || !batches.back().hasRoomFor(examples[i], limits))
      batches.emplace_back(limits.marks);
    batches.back().add(examples[i]);
  }
  return batches;
}

} // namespace heddle
