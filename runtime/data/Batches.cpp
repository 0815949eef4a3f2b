#include "runtime/data/Batches.h"

#include <algorithm>

namespace heddle {

void PackedSequences::add(int64_t length) {
  starts.push_back(int32_t(tokens()));
  lengths.push_back(int32_t(length));
  for (int64_t i = 0; i < length; ++i)
    positions.push_back(int32_t(i));
}

void SourceBatch::add(std::span<const int32_t> sentence, std::span<const float> image) {
  layout.add(marks.sourceRows(sentence.size()));
  pixels.insert(pixels.end(), image.begin(), image.end());
  if (marks.image.pixels() > 0)
    return;
  tokens.insert(tokens.end(), sentence.begin(), sentence.end());
  if (marks.endsSources)
    tokens.push_back(marks.end);
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

void SentenceLists::add(int64_t firstToken, std::span<const int32_t> sentences) {
  layout.add(int64_t(sentences.size()));
  for (int32_t length : sentences) {
    wordStarts.push_back(int32_t(firstToken));
    wordLengths.push_back(length);
    firstToken += length;
  }
}

void SourceBatch::addWhole(std::span<const int32_t> text, const Structure &structure) {
  if (structure.pixelCount > 0) {
    layout.add(structure.pixelCount);
    pixels.insert(pixels.end(), structure.pixels.begin(), structure.pixels.end());
    return;
  }
  if (marks.neighbours > 0)
    lists.add(int64_t(text.size()), structure.edges);
  if (marks.sentences > 0)
    sentences.add(layout.tokens(), structure.sentences);
  layout.add(int64_t(text.size()));
  tokens.insert(tokens.end(), text.begin(), text.end());
  if (!marks.hasTypes)
    return;
  int32_t type = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    types.push_back(type);
    if (text[i] == marks.end)
      type = 1;
  }
}

void Batch::add(std::span<const int32_t> sourceSentence, std::span<const int32_t> targetSentence,
                std::span<const float> image) {
  source.add(sourceSentence, image);
  target.add(int64_t(targetSentence.size()) + 1);
  targetIn.push_back(source.marks.begin);
  targetIn.insert(targetIn.end(), targetSentence.begin(), targetSentence.end());
  targetOut.insert(targetOut.end(), targetSentence.begin(), targetSentence.end());
  targetOut.push_back(source.marks.end);
}

void Batch::add(std::span<const int32_t> sequence, std::span<const TokenRange> learnt) {
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
  targetIn.insert(targetIn.end(), sequence.begin(), sequence.end() - 1);
  targetOut.insert(targetOut.end(), sequence.begin() + 1, sequence.end());
}

void Batch::addLabelled(Labelling kind, std::span<const int32_t> text, std::span<const int32_t> textLabels,
                        const Structure &structure) {
  auto first = int32_t(source.layout.tokens());
  source.addWhole(text, structure);
  for (size_t i = 0; i < textLabels.size(); ++i) {
    if (textLabels[i] < 0)
      continue;
    labels.push_back(textLabels[i]);
    if (kind != Labelling::Texts)
      labelled.push_back(first + int32_t(i));
  }
}

void Batch::addPair(const Examples &examples, size_t example) {
  source.addWhole(examples.source(example));
  right.addWhole(examples.other(example));
  if (examples.labelling() == Labelling::Grades)
    grades.push_back(examples.grade(example));
  else
    labels.push_back(examples.target(example)[0]);
}

void Batch::add(const Examples &examples, size_t example) {
  if (heddle::isOfPairs(examples.labelling()))
    return addPair(examples, example);
  if (examples.labelling() == Labelling::Hidden)
    follows.push_back(examples.follows(example));
  if (examples.labelling() != Labelling::None)
    addLabelled(examples.labelling(), examples.source(example), examples.target(example), examples.structure(example));
  else if (examples.hasSource(example))
    add(examples.source(example), examples.target(example), examples.image(example));
  else
    add(examples.target(example), examples.learnt(example));
}

int64_t Batch::predictions() const {
  if (!hasTarget())
    return int64_t(labels.size() + grades.size());
  return weights.empty() ? target.tokens() : std::ranges::count(weights, 1.0f);
}

bool Batch::hasRoomFor(int64_t sourceTokens, int64_t targetTokens, const BatchLimits &limits) const {
  return sequences() < limits.maximumSequences && source.layout.tokens() + sourceTokens <= limits.maximumTokens &&
         (hasTarget()   ? target.tokens()
          : isOfPairs() ? right.layout.tokens()
                        : predictions()) +
                 targetTokens <=
             limits.maximumTokens;
}

std::vector<Batch> packInOrder(const Examples &examples, const BatchLimits &limits) {
  std::vector<Batch> batches;
  for (size_t example = 0; example < examples.size(); ++example) {
    if (batches.empty() ||
        !batches.back().hasRoomFor(examples.sourceTokens(example), examples.targetTokens(example), limits))
      batches.emplace_back(limits.marks);
    batches.back().add(examples, example);
  }
  return batches;
}

} // namespace heddle
