// One step of decoding: the part of a model's `logits` that depends on the newest tokens, computed for these alone.
#ifndef HEDDLE_COMPILER_DERIVE_STEPBUILDER_H
#define HEDDLE_COMPILER_DERIVE_STEPBUILDER_H

#include "compiler/Derive/EntryBuilder.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace mlir::heddle {

inline constexpr StringLiteral kSequences = "sequences";
inline constexpr StringLiteral kCacheLength = "cache_length";

/// What decoding computes where, and what is kept from call to call.
struct DecodingPlan {
  /// The rows of a value that later steps read, of all tokens that a call may hold. Of a scan's last state, the state
  /// after each token.
  struct Cache {
    Value value; // of the model's function
    std::string name;
    RankedTensorType type;
    bool ofMemory; // written by `encode`, not by steps
  };

  /// Fails, after an error at the op, where an op needs tokens that a step does not know.
  static FailureOr<DecodingPlan> make(const ModelFunctions &functions);

  const Cache *findCache(Value value) const;
  /// How many tokens before the newest a step reads the rows of: one for the states of scans, and as windows reach.
  int64_t getReach() const;
  /// Maps the memory's arguments of `logits` to values in `entry`.
  void mapMemory(EntryBuilder &entry) const;
  /// Inlines into `entry` the ops that compute `user`'s operands from weights and constants alone.
  void inlineConstants(EntryBuilder &entry, Operation &user) const;

  ModelFunctions functions;
  Value logits; // the result of `functions.logits`
  StringRef sourceTokens, targetTokens;
  int64_t maxTokens = 0, maxSequences = 0, maxLength = 0;
  std::vector<Operation *> memoryOps, stepOps; // of `logits`, in their order
  std::vector<Cache> caches;

private:
  explicit DecodingPlan(const ModelFunctions &functions) : functions(functions) {}
  void addCache(Value value, bool ofMemory);
  LogicalResult addStates(ScanOp scan);
  LogicalResult addWindow(UnfoldOp unfold);

  llvm::DenseSet<Value> ofTokens, ofMemory;
};

/// What a step knows, a row for each new token.
struct StepInputs {
  StringRef size = kSequences; // names the number of rows
  Value token, position;
  Value starts, lengths;          // of the queries, which are one token each
  Value rows;                     // of the caches, where the token goes
  Value pastStarts, pastLengths;  // of the cached tokens, the newest among them
  Value history = {};             // the rows of the cached tokens, where they are no neighbours
  SmallVector<Value> before = {}; // the rows of the caches where the tokens before are, the nearest first: of any
                                  // token, where there is none
};

class StepBuilder {
public:
  StepBuilder(EntryBuilder &entry, const DecodingPlan &plan, const StepInputs &inputs)
      : entry(entry), plan(plan), inputs(inputs) {}

  /// The logits of the newest tokens; a failure after an error.
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
  Type stepType(Type type) const;
  Value sourceStarts(), sourceLengths();

  EntryBuilder &entry;
  const DecodingPlan &plan;
  const StepInputs &inputs;
  llvm::DenseMap<Value, Value> written; // by the model's value: its cache with the newest tokens in it
  llvm::DenseMap<Operation *, Past> pastOfMask;
  std::map<int64_t, Past> windows;
  Operation *places = nullptr; // an op that uses the keys' places
};

/// Whether an op gives each token a row of its sequence's.
bool isSpread(Operation *op);

/// The states of a scan that go on changing, by number.
SmallVector<size_t> getChangingStates(ScanOp scan);

/// Puts `rows` into the cache at `indices` and returns the cache as it then is.
Value updateCache(EntryBuilder &entry, const DecodingPlan::Cache &cache, Value indices, Value rows);

} // namespace mlir::heddle

#endif
