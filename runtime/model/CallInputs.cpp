#include "runtime/model/CallInputs.h"

namespace heddle {

void CallInputs::addSequences(std::string_view side, const PackedSequences &sequences) {
  addTo(side, "_positions", sequences.positions);
  addTo(side, "_starts", sequences.starts);
  addTo(side, "_lengths", sequences.lengths);
}

void CallInputs::addSide(std::string_view side, const SourceBatch &texts) {
  const NeighbourLists &lists = texts.lists;
  const ImageShape &image = texts.marks.image;
  addTo(side, "", texts.tokens);
  addTo(side, "_types", texts.types);
  addTo(side, "_pixels", texts.pixels, image.channels);
  addSequences(side, texts.layout);
  addTo(side, "_neighbours", lists.neighbours, lists.most);
  addTo(side, "_degrees", lists.degrees);
  addTo(side, "_users", lists.users, lists.most);
  addTo(side, "_slots", lists.slots, lists.most);
  addTo(side, "_uses", lists.uses);
  addTo(side, "_sentences", texts.sentences.layout.positions);
  addTo(side, "_sentences_starts", texts.sentences.layout.starts);
  addTo(side, "_sentences_lengths", texts.sentences.layout.lengths);
  addTo(side, "_words_starts", texts.sentences.wordStarts);
  addTo(side, "_words_lengths", texts.sentences.wordLengths);
  for (int64_t stride : image.strides) {
    PackedSequences &images = strided.emplace_back();
    for (int64_t i = 0; i < texts.layout.sequences(); ++i)
      images.add(image.height / stride * (image.width / stride));
    addSequences(str(side, "_stride", stride), images);
  }
}

CallInputs &CallInputs::addText(const Batch &batch) {
  if (batch.hasSource())
    addSide(batch.isOfPairs() ? "left" : "source", batch.source);
  if (batch.isOfPairs())
    addSide("right", batch.right);
  addTo("target", "_in", batch.targetIn);
  addSequences("target", batch.target);
  return *this;
}

CallInputs &CallInputs::addBatch(const Batch &batch) {
  const char *of = batch.isOfPairs() ? "pair" : "source";
  addTo("target", "_out", batch.targetOut);
  addTo(of, "_labelled", batch.labelled);
  addTo(of, "_follows", batch.follows);
  addTo(of, "_label", batch.labels);
  addTo(of, "_grade", batch.grades);
  return addText(batch);
}

} // namespace heddle
