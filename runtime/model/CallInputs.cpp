#include "runtime/model/CallInputs.h"

namespace heddle {

CallInputs &CallInputs::addSource(const SourceBatch &source) {
  if (!source.types.empty())
    add("source_types", source.types);
  if (const NeighbourLists &lists = source.lists; lists.most > 0)
    addMatrix("source_neighbours", std::span(lists.neighbours), lists.most)
        .add("source_degrees", lists.degrees)
        .addMatrix("source_users", std::span(lists.users), lists.most)
        .addMatrix("source_slots", std::span(lists.slots), lists.most)
        .add("source_uses", lists.uses);
  if (source.marks.sentences > 0)
    add("source_sentences", source.sentences.layout.positions)
        .add("source_sentences_starts", source.sentences.layout.starts)
        .add("source_sentences_lengths", source.sentences.layout.lengths)
        .add("source_words_starts", source.sentences.wordStarts)
        .add("source_words_lengths", source.sentences.wordLengths);
  if (const ImageShape &image = source.marks.image; image.pixels() > 0)
    addImages(source, image);
  else
    add("source", source.tokens);
  return add("source_positions", source.layout.positions)
      .add("source_starts", source.layout.starts)
      .add("source_lengths", source.layout.lengths);
}

CallInputs &CallInputs::addImages(const SourceBatch &source, const ImageShape &image) {
  for (int64_t stride : image.strides) {
    PackedSequences &images = strided.emplace_back();
    for (int64_t i = 0; i < source.layout.sequences(); ++i)
      images.add(image.height / stride * (image.width / stride));
    auto named = [&](const char *port) -> std::string_view {
      return names.emplace_back(str("source_stride", stride, port));
    };
    add(named("_positions"), images.positions)
        .add(named("_starts"), images.starts)
        .add(named("_lengths"), images.lengths);
  }
  return addMatrix("source_pixels", std::span(source.pixels), image.channels);
}

CallInputs &CallInputs::addPairs(const SourceBatch &left, const SourceBatch &right) {
  return add("left", left.tokens)
      .add("left_positions", left.layout.positions)
      .add("left_starts", left.layout.starts)
      .add("left_lengths", left.layout.lengths)
      .add("right", right.tokens)
      .add("right_positions", right.layout.positions)
      .add("right_starts", right.layout.starts)
      .add("right_lengths", right.layout.lengths);
}

CallInputs &CallInputs::addTarget(const Batch &batch) {
  return add("target_in", batch.targetIn)
      .add("target_positions", batch.target.positions)
      .add("target_starts", batch.target.starts)
      .add("target_lengths", batch.target.lengths);
}

CallInputs &CallInputs::addBatch(const Batch &batch) {
  if (batch.isOfPairs()) {
    addPairs(batch.source, batch.right);
    return batch.grades.empty() ? add("pair_label", batch.labels)
                                : add("pair_grade", std::span<const float>(batch.grades));
  }
  if (batch.hasSource())
    addSource(batch.source);
  if (batch.hasTarget())
    return addTarget(batch).add("target_out", batch.targetOut);
  if (!batch.labelled.empty())
    add("source_labelled", batch.labelled);
  if (!batch.follows.empty())
    add("source_follows", batch.follows);
  return add("source_label", batch.labels);
}

} // namespace heddle
