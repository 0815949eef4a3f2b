#include "compiler/Import/Transformer.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Unfused scores have room for a multiple of so many keys, whose rows then divide into registers and steps.
static constexpr int64_t kKeyUnit = 16;

//===-- The two stacks (3.1, Figure 1) --------------------------------------------------------------------------===//

Value Transformer::encode(const Tokens &source) {
  Value x = embed(source, "source_embedding");
  for (int64_t i = 0; i < d.encoderLayers; ++i) {
    std::string layer = ("encoder." + Twine(i)).str();
    x = residual(layer + ".norm1", x, [&](Value x) {
      return multiHeadAttention(layer + ".self", x, source.sequences, {false, d.attentionRadius()}, [&](Value x) {
        return Memory{keys(layer + ".self", x), values(layer + ".self", x), source.sequences};
      });
    });
    x = residual(layer + ".norm2", x, [&](Value x) { return feedForward(layer + ".feed_forward", x); });
  }
  return d.preNorm() ? layerNorm("encoder.norm", x) : x;
}

Value Transformer::decode(const Tokens &target, Value encoded, const Sequences &source) {
  auto self = [&](StringRef layer, Value x) {
    return Memory{keys(layer + ".self", x), values(layer + ".self", x), target.sequences};
  };
  auto cross = [&](StringRef layer, Value x) {
    return Memory{keys(layer + ".cross", encoded), values(layer + ".cross", encoded), source};
  };
  return runDecoder(target, {/*causal=*/true, d.attentionRadius()}, self, d.hasEncoder() ? MemoryOf(cross) : nullptr);
}

Value Transformer::decodeStep(const Tokens &target, MemoryOf self, MemoryOf cross) {
  // The memory holds what the query's token sees and nothing else, so there is nothing to hide.
  return runDecoder(target, {}, self, cross);
}

Value Transformer::runDecoder(const Tokens &target, Sight sight, MemoryOf self, MemoryOf cross) {
  Value x = embed(target, "target_embedding");
  for (int64_t i = 0; i < d.decoderLayers; ++i) {
    std::string layer = decoderLayer(i);
    x = residual(layer + ".norm1", x, [&](Value x) {
      return multiHeadAttention(layer + ".self", x, target.sequences, sight, [&](Value x) { return self(layer, x); });
    });
    if (cross)
      x = residual(layer + ".norm2", x, [&](Value x) {
        return multiHeadAttention(layer + ".cross", x, target.sequences, {}, [&](Value x) { return cross(layer, x); });
      });
    x = residual(layer + (cross ? ".norm3" : ".norm2"), x,
                 [&](Value x) { return feedForward(layer + ".feed_forward", x); });
  }
  return logits(d.preNorm() ? layerNorm("decoder.norm", x) : x);
}

/// LayerNorm(x + Dropout(Sublayer(x))) (3.1, 5.4), or with the norm moved to the sub-layer's input.
Value Transformer::residual(const Twine &norm, Value x, Sublayer sublayer) {
  std::string name = (norm + ".residual").str();
  auto addTo = [&](Value x, Value y) {
    Graph::At at(graph, "norm", name);
    return graph.add(x, dropout(y, d.dropout, "dropout"));
  };
  if (d.preNorm())
    return addTo(x, sublayer(layerNorm(norm, x)));
  return layerNorm(norm, addTo(x, sublayer(x)));
}

//===-- Attention (3.2) -----------------------------------------------------------------------------------------===//

Value Transformer::multiHeadAttention(const std::string &name, Value x, const Sequences &queries, Sight sight,
                                      function_ref<Memory(Value)> memory) {
  Graph::At at(graph, "heads", name);
  Value query = linear(name + ".query", x, d.dModel);
  Memory seen = memory(x);
  auto attend = [&](Value values) {
    return scaledDotProductAttention(query, queries, {seen.keys, values, seen.sequences, seen.rows}, sight);
  };
  if (watcher)
    watcher(name, attend);
  return linear(name + ".output", attend(seen.values), d.dModel);
}

Value Transformer::keys(const Twine &name, Value x) { return linear(name + ".key", x, d.dModel); }
Value Transformer::values(const Twine &name, Value x) { return linear(name + ".value", x, d.dModel); }

/// softmax(Q K^T / sqrt(d_k)) V of each head (3.2.1), one op for each symbol: making one op of it is `fuse-attention`'s
/// work.
Value Transformer::scaledDotProductAttention(Value query, const Sequences &queries, const Memory &memory, Sight sight) {
  int64_t headWidth = d.dModel / d.heads;
  const Sequences &keys = memory.sequences;
  RankedTensorType tokens = typeOf(query);
  auto room = static_cast<int64_t>(llvm::alignTo(d.maxLength, kKeyUnit));
  auto pairs = RankedTensorType::get({tokens.getDimSize(0), d.heads, room}, graph.f32(), tokens.getEncoding());
  // Where each query is: before the scores, so that the mask can be part of their kernel.
  RankedTensorType perQuery = getDimType(tokens, 0, graph.i32());
  auto located = graph.create<LocateOp>(perQuery, perQuery, queries.starts, queries.lengths, queries.longest);
  Value scores = graph.create<ScoresOp>(pairs, query, memory.keys, memory.rows, queries.starts, queries.lengths,
                                        keys.starts, keys.lengths, queries.longest, keys.longest);
  scores = graph.scale(scores, 1 / std::sqrt(static_cast<double>(headWidth)));
  if (d.attentionSoftCap > 0) {
    Graph::At at(graph, "attention_soft_cap");
    Value part = graph.create<math::TanhOp>(graph.scale(scores, 1 / d.attentionSoftCap));
    scores = graph.scale(part, d.attentionSoftCap);
  }
  Value weights = graph.create<SoftmaxOp>(mask(scores, located, keys, sight));
  weights = dropout(weights, d.attentionDropout, "attention_dropout");
  return graph.create<ContextOp>(tokens, weights, memory.values, memory.rows, queries.starts, queries.lengths,
                                 keys.starts, keys.lengths, queries.longest, keys.longest);
}

/// A query sees the keys of its own sentence, as far as `sight` goes. Each condition is linear in the two indices, from
/// which kernels learn what tiles they need not visit.
Value Transformer::mask(Value scores, LocateOp queries, const Sequences &keys, Sight sight) {
  auto op = graph.create<MaskOp>(scores.getType(), scores, queries.getPosition(), queries.getSequence(), keys.lengths,
                                 graph.number(-std::numeric_limits<double>::infinity()));
  if (!sight.causal && !sight.radius)
    return op;
  OpBuilder::InsertionGuard guard(graph.builder);
  Location where = op.getLoc();
  Block *block = graph.builder.createBlock(&op.getMask(), {}, {graph.i32(), graph.i32()}, {where, where});
  Value query = block->getArgument(0), key = block->getArgument(1);
  Value counts;
  auto require = [&](Value low, Value high) {
    Value holds = graph.create<arith::CmpIOp>(arith::CmpIPredicate::sle, low, high);
    counts = counts ? graph.create<arith::AndIOp>(counts, holds) : holds;
  };
  if (sight.causal)
    require(key, query);
  if (sight.radius) {
    Graph::At at(graph, "attention_window");
    Value radius = graph.create<arith::ConstantOp>(graph.builder.getI32IntegerAttr(*sight.radius));
    require(graph.create<arith::SubIOp>(query, key), radius);
    if (!sight.causal)
      require(graph.create<arith::SubIOp>(key, query), radius);
  }
  graph.create<YieldOp>(ValueRange{counts});
  return op;
}

Sequences Transformer::seenFromLast(const Sequences &sequences) {
  std::optional<int64_t> radius = d.attentionRadius();
  if (!radius)
    return sequences;
  Graph::At at(graph, "attention_window", "window");
  Value most = graph.fill(typeOf(sequences.lengths), *radius + 1);
  Value lengths = graph.create<arith::MinSIOp>(sequences.lengths, most);
  Value hidden = graph.create<arith::SubIOp>(sequences.lengths, lengths);
  return {graph.create<arith::AddIOp>(sequences.starts, hidden), lengths, sequences.longest};
}

//===-- Other layers --------------------------------------------------------------------------------------------===//

/// max(0, x W1 + b1) W2 + b2 (3.3), or another activation in the maximum's place.
Value Transformer::feedForward(const std::string &name, Value x) {
  Graph::At at(graph, "d_ff", name);
  return linear(name + ".outer", activate(linear(name + ".inner", x, d.dFF)), d.dModel);
}

Value Transformer::activate(Value x) {
  RankedTensorType type = typeOf(x);
  auto mul = [&](Value a, Value b) -> Value { return graph.create<arith::MulFOp>(a, b); };
  auto onePlus = [&](Value a) { return graph.add(a, graph.fill(type, 1)); };
  if (d.activation == "relu")
    return graph.create<arith::MaximumFOp>(x, graph.fill(type, 0));
  // The others are x times a distribution function: the logistic one, which is (1 + tanh(x/2)) / 2 and so has no
  // exponential that could overflow, the normal one, or an approximation of the normal one.
  if (d.activation == "swish")
    return mul(graph.scale(x, 0.5), onePlus(graph.create<math::TanhOp>(graph.scale(x, 0.5))));
  if (d.activation == "gelu")
    return mul(graph.scale(x, 0.5), onePlus(graph.create<math::ErfOp>(graph.scale(x, std::sqrt(0.5)))));
  Value cubic = mul(x, onePlus(graph.scale(mul(x, x), 0.044715)));
  return mul(graph.scale(x, 0.5), onePlus(graph.create<math::TanhOp>(graph.scale(cubic, std::sqrt(2 / M_PI)))));
}

/// The token's embedding times sqrt(d_model) (3.4), plus its position's encoding (3.5) and its type's embedding, with
/// dropout on the sum (5.4).
Value Transformer::embed(const Tokens &tokens, StringRef table) {
  Graph::At at(graph, "vocab_size", "embedding");
  RankedTensorType type = getTypeOfDims({{typeOf(tokens.ids), 0}, {typeOf(embeddingTable(table)), 1}}, graph.f32());
  Value x = graph.create<EmbeddingOp>(type, tokens.ids, embeddingTable(table));
  if (d.scaleEmbeddings)
    x = graph.scale(x, std::sqrt(static_cast<double>(d.dModel)));
  {
    Graph::At at(graph, "positions", "positions");
    Value position;
    if (d.learnedPositions())
      position = graph.create<EmbeddingOp>(
          type, tokens.positions,
          graph.weight("positions", {d.maxLength, d.dModel}, Initializer::normal(1 / std::sqrt(d.dModel))));
    else
      position = graph.create<SinusoidOp>(type, tokens.positions, d.positions == "sinusoidal-halves");
    x = graph.add(x, position);
  }
  if (tokens.types) {
    Graph::At at(graph, "token_types", "token types");
    Value types = graph.weight("token_types", {d.tokenTypes, d.dModel}, Initializer::normal(1 / std::sqrt(d.dModel)));
    x = graph.add(x, graph.create<EmbeddingOp>(type, tokens.types, types));
  }
  if (d.embeddingNorm)
    x = layerNorm("embedding.norm", x);
  return dropout(x, d.dropout, "dropout");
}

/// The linear transformation before the softmax, which is the embedding's transpose (3.4).
Value Transformer::logits(Value x) {
  if (d.head == "transform") {
    Graph::At at(graph, "head", "head");
    x = layerNorm("head.norm", activate(linear("head", x, d.dModel)));
  }
  Graph::At at(graph, "vocab_size", "logits");
  Value table = embeddingTable("projection");
  RankedTensorType type = getTypeOfDims({{typeOf(x), 0}, {typeOf(table), 0}}, graph.f32());
  Value product = graph.create<MatmulOp>(type, x, table, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  if (!d.outputBias)
    return product;
  Graph::At bias(graph, "output_bias", "logits");
  return graph.add(product, graph.broadcast(graph.weight("output.bias", {d.vocabSize}, Initializer::zeros()), type));
}

Value Transformer::pool(Value hidden, Value starts) {
  Graph::At at(graph, "pooler", "pooler");
  RankedTensorType type = getTypeOfDims({{typeOf(starts), 0}, {typeOf(hidden), 1}}, graph.f32());
  Value first = graph.create<EmbeddingOp>(type, starts, hidden);
  return graph.create<math::TanhOp>(linear("pooler", first, d.dModel));
}

/// One matrix for all three uses, unless the description asks for three (3.4). Its rows, times sqrt(d_model), start out
/// with elements of variance 1.
Value Transformer::embeddingTable(StringRef name) {
  return graph.weight(d.shareEmbeddings ? "embedding" : name, {d.vocabSize, d.dModel},
                      Initializer::normal(1 / std::sqrt(d.dModel)));
}

Value Transformer::linear(const Twine &name, Value x, int64_t outputs) {
  std::string layer = name.str();
  Graph::At at(graph, "d_model", layer);
  int64_t inputs = typeOf(x).getDimSize(1);
  Value weight = graph.weight(layer + ".weight", {inputs, outputs}, Initializer::xavier(inputs, outputs));
  Value bias = graph.weight(layer + ".bias", {outputs}, Initializer::zeros());
  RankedTensorType type = getTypeOfDims({{typeOf(x), 0}, {typeOf(weight), 1}}, graph.f32());
  Value product = graph.create<MatmulOp>(type, x, weight, /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  return graph.add(product, graph.broadcast(bias, type));
}

Value Transformer::layerNorm(const Twine &name, Value x) {
  std::string layer = name.str();
  Graph::At at(graph, "norm", layer);
  Value gamma = graph.weight(layer + ".gamma", {d.dModel}, Initializer::ones());
  Value beta = graph.weight(layer + ".beta", {d.dModel}, Initializer::zeros());
  RankedTensorType perToken = getDimType(typeOf(x), 0, graph.f32());
  return graph
      .create<LayerNormOp>(TypeRange{x.getType(), perToken, perToken}, x, gamma, beta, graph.number(d.layerNormEpsilon))
      .getResult();
}

Value Transformer::dropout(Value x, double rate, StringRef key) {
  if (!randomness || rate == 0)
    return x;
  Graph::At at(graph, key, "dropout");
  return graph.create<DropoutOp>(x.getType(), x, randomness->seed, randomness->step, graph.number(rate),
                                 graph.whole(graph.nextStream()));
}
