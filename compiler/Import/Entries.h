// The entry points of a Transformer's artifact and the state that they share.
#ifndef HEDDLE_COMPILER_IMPORT_ENTRIES_H
#define HEDDLE_COMPILER_IMPORT_ENTRIES_H

#include "compiler/Import/Transformer.h"

namespace mlir::heddle {

class Entries {
public:
  Entries(Graph &graph, const Description &description)
      : graph(graph), d(description), transformer(graph, description) {}

  /// Fills the module. An entry's ports, in order, are what docs and runtime know it by.
  void build();

private:
  void declareSizes();
  void declareState();

  FloatAttr averageDecay();    // of the weights; null: there is none
  IntegerAttr scaleInterval(); // of the loss's scale; null: it has none
  void buildTrainStep();
  void buildAccumulateStep();
  void buildApplyStep();
  void buildEval();
  void buildLogits();
  void buildExplain();
  void buildEncode();
  void buildDecodeStep();
  void buildHidden();
  void buildBeamStep();
  void buildInit();

  /// A batch of sentence pairs, or of target sentences where there is no encoder. `targetIn` is what the decoder reads
  /// and `targetOut` what it should say: the same sentence, a token later (teacher forcing).
  struct Batch {
    Tokens source, targetIn;
    Value targetOut; // null without labels
  };
  Batch addBatch(bool labels = true);
  Tokens addSource();
  /// The logits with that of padding, which is no word, at minus infinity.
  Value withoutPadding(Value logits);
  Sequences addSequences(StringRef side, StringRef sequences, StringRef longest);
  Value trainingLoss(StringRef step);
  Value decode(const Batch &batch);
  Value addOneHot(StringRef side, StringRef tokens);

  /// The name of a cache of a decoder layer's attention.
  static std::string cache(StringRef layer, StringRef attention, StringRef part);
  /// The logits of one token for each sequence, whose keys and values go to `rows` of the self-attention caches. It
  /// sees what `past` and, unless it is null, `history` say of these (Memory::rows), and of the cross-attention caches
  /// what `source` says.
  Value decodeToken(const Tokens &token, Value rows, const Sequences &past, Value history, const Sequences &source);
  Value continueHistory(Value parent, Value position, Value row);
  /// Puts `rows` into the cache at `indices` and returns the cache as it then is.
  Value updateCache(StringRef name, Value indices, Value rows);

  Graph &graph;
  const Description &d;
  Transformer transformer;
};

} // namespace mlir::heddle

#endif
