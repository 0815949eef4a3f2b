// The Transformer of "Attention Is All You Need" (Vaswani et al., 2017). Numbers in parentheses are its sections.
#ifndef HEDDLE_COMPILER_IMPORT_TRANSFORMER_H
#define HEDDLE_COMPILER_IMPORT_TRANSFORMER_H

#include "compiler/Import/Graph.h"

#include <functional>

namespace mlir::heddle {

/// The sequences of a token-packed batch. `longest` names the run-time size that holds the longest one's length, or is
/// empty where each has one token.
struct Sequences {
  Value starts, lengths;
  StringRef longest;
};

/// The tokens of a batch with their places in their sequences. `types` is null where all are of one kind.
struct Tokens {
  Value ids, positions;
  Sequences sequences;
  Value types = {};
};

/// What attention attends to. With `rows` a sequence's keys need not be neighbours: row s of it has the rows of
/// sequence s, and `sequences` says which part of that row counts.
struct Memory {
  Value keys, values;
  Sequences sequences;
  Value rows = {};
};

/// Which keys of its sequence a query sees: none after itself (3.2.3), none further than `radius` from it (4).
struct Sight {
  bool causal = false;
  std::optional<int64_t> radius;
};

class Transformer {
public:
  Transformer(Graph &graph, const Description &description) : graph(graph), d(description) {}

  /// Where dropout's masks come from; unless it is set, there is no dropout.
  struct Randomness {
    Value seed, step;
  };
  void train(Randomness source) { randomness = source; }
  void infer() { randomness.reset(); }

  /// Is told of each attention, by name, while it is set; `attend` is that attention with other values in the place of
  /// its own.
  using Watcher = std::function<void(StringRef name, function_ref<Value(Value values)> attend)>;
  void watch(Watcher watcher) { this->watcher = std::move(watcher); }

  /// The encoder (left of Figure 1), tensor<tokens x d_model>.
  Value encode(const Tokens &source);

  /// The decoder (right of Figure 1) up to the logits, tensor<tokens x vocab_size>, for whole target sentences. A
  /// decoder alone has no `encoded`, nor the layers that look at it.
  Value decode(const Tokens &target, Value encoded, const Sequences &source);

  /// What the head makes of hidden states, tensor<tokens x vocab_size>.
  Value logits(Value hidden);

  /// One vector a sequence: tanh of a linear transformation of its first token's hidden state.
  Value pool(Value hidden, Value starts);

  /// Gives a decoder layer, named by its prefix, the keys and values of one of its attentions; `x` is the attention's
  /// input.
  using MemoryOf = function_ref<Memory(StringRef layer, Value x)>;

  /// The same decoder with keys and values from elsewhere, for one token a sequence. `cross` is null for a decoder
  /// alone.
  Value decodeStep(const Tokens &target, MemoryOf self, MemoryOf cross);

  /// The key and value projections of `x` for the attention called `name` (3.2.2).
  Value keys(const Twine &name, Value x);
  Value values(const Twine &name, Value x);

  /// What self-attention sees from each sequence's last token: all of the sequence, or its end.
  Sequences seenFromLast(const Sequences &sequences);

  static std::string decoderLayer(int64_t index) { return ("decoder." + Twine(index)).str(); }

private:
  using Sublayer = function_ref<Value(Value)>;

  Value embed(const Tokens &tokens, StringRef table);
  Value runDecoder(const Tokens &target, Sight sight, MemoryOf self, MemoryOf cross);
  Value activate(Value x);
  Value residual(const Twine &norm, Value x, Sublayer sublayer);
  Value multiHeadAttention(const std::string &name, Value x, const Sequences &queries, Sight sight,
                           function_ref<Memory(Value)> memory);
  Value scaledDotProductAttention(Value query, const Sequences &queries, const Memory &memory, Sight sight);
  Value mask(Value scores, LocateOp queries, const Sequences &keys, Sight sight);
  Value feedForward(const std::string &name, Value x);
  Value linear(const Twine &name, Value x, int64_t outputs);
  Value layerNorm(const Twine &name, Value x);
  Value dropout(Value x, double rate, StringRef key);
  Value embeddingTable(StringRef name);

  Graph &graph;
  const Description &d;
  std::optional<Randomness> randomness;
  Watcher watcher;
};

} // namespace mlir::heddle

#endif
