// One step of decoding: the part of a model's `logits` that depends on the newest tokens, computed only for these
// tokens.
#pragma once

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace mlir::heddle {

inline constexpr StringLiteral kSequences = "sequences";
inline constexpr StringLiteral kCacheLength = "cache_length";

/// The ops that `encode` and the decoding steps compute, and the values that are kept from call to call.
struct DecodingPlan {
  /// The rows of a value that later steps read, for all tokens that a call may hold. For a scan's last state, these are
  /// the states after each token.
  struct Cache {
    Value value; // of the model's function
    std::string name;
    RankedTensorType type;
    bool ofMemory; // written by `encode`, not by steps
  };

  /// Fails, after an error at the op, if an op needs tokens that a step does not know.
  static FailureOr<DecodingPlan> make(const ModelFunctions &functions);

  const Cache *findCache(Value value) const;
  /// Returns how many earlier tokens a step looks back at: one for scans, and as many as windows reach.
  int64_t getReach() const;
  /// Maps the memory's arguments of `logits` to values in `entry`.
  void mapMemory(EntryBuilder &entry) const;
  /// Inlines into `entry` the ops that compute `user`'s operands only from weights and constants.
  void inlineConstants(EntryBuilder &entry, Operation &user) const;

  ModelFunctions functions;
  Value logits; // the result of `functions.logits`
  StringRef sourceTokens, targetTokens;
  int64_t maxTokens = 0, maxSequences = 0, maxLength = 0;
  int64_t cacheRows = 0;                       // of the caches with a row for each token that is decoded
  std::vector<Operation *> memoryOps, stepOps; // of `logits`, in their order
  std::vector<Cache> caches;

private:
  explicit DecodingPlan(const ModelFunctions &functions) : functions(functions) {}
  void addCache(Value value, bool ofMemory);
  LogicalResult addStates(ScanOp scan);
  LogicalResult addWindow(UnfoldOp unfold);

  llvm::DenseSet<Value> ofTokens, ofMemory;
};

/// The inputs of a step, with a row for each new token.
struct StepInputs {
  StringRef size = kSequences; // names the number of rows
  Value token, position;
  Value starts, lengths;          // of the queries, one token each
  Value rows;                     // the cache rows of the new tokens
  Value pastStarts, pastLengths;  // of the cached tokens, including the newest
  Value history = {};             // the rows of the cached tokens, if they are not contiguous
  SmallVector<Value> before = {}; // the cache rows of the tokens before, the nearest first;
                                  // any rows, if there are no such tokens
};

class StepBuilder {
public:
  StepBuilder(EntryBuilder &entry, const DecodingPlan &plan, const StepInputs &inputs)
      : entry(entry), plan(plan), inputs(inputs) {}

  /// Returns the logits of the newest tokens, or fails after an error.
  FailureOr<Value> build();

private:
  struct Past {
    Value starts, lengths;
  };

  LogicalResult buildOp(Operation &op);
  LogicalResult buildRowwise(Operation &op);
  LogicalResult buildLocate(LocateOp op);
  LogicalResult buildScores(ScoresOp op);
  LogicalResult buildMask(MaskOp op);
  LogicalResult buildContext(ContextOp op);
  LogicalResult buildScan(ScanOp op);
  void buildWindow(UnfoldOp op);
  bool weighsOwnTokens(Operation &ofPairs) const;
  Value beginOf(Value ofSequences);
  Value stateBefore(const DecodingPlan::Cache &cache, Value begin, Location where);
  FailureOr<Past> pastOfWeights(ContextOp op) const;
  Value keysOf(Value value);
  FailureOr<Past> findPast(ScoresOp scores);
  Past lastOf(int64_t count, Location where);
  Type stepType(Type type, StringRef of) const;
  Type stepType(Type type) const { return stepType(type, plan.targetTokens); }
  Value sourceStarts(), sourceLengths();

  EntryBuilder &entry;
  const DecodingPlan &plan;
  const StepInputs &inputs;
  llvm::DenseMap<Value, Value> written; // for a value of the model, its cache with the newest tokens in it
  llvm::DenseMap<Operation *, Past> pastOfMask;
  std::map<int64_t, Past> windows;
  Operation *places = nullptr; // an op that uses the indices of keys
};

/// Returns true if the op's results are lengths of sequences, for which steps use the maximum.
bool isLength(Operation *op);

/// Returns true if an op gives each token the row of its sequence.
bool isSpread(Operation *op);

/// Returns the indices of the states that a scan changes.
SmallVector<size_t> getChangingStates(ScanOp scan);

/// Writes `rows` to the cache at `indices` and returns the updated cache.
Value updateCache(EntryBuilder &entry, const DecodingPlan::Cache &cache, Value indices, Value rows);

} // namespace mlir::heddle
