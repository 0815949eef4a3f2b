#include "compiler/Program/Contract/DeriveContract.h"
#include "compiler/Program/Contract/Passes.h"

#include "compiler/Program/Contract/Forms.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVECONTRACTPASS
#include "compiler/Program/Contract/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

/// Limits of the sums that calls are checked with. Within them the host's 64-bit arithmetic does not overflow, and the
/// runtime accepts the artifact.
static constexpr size_t kMostAddends = 4;
static constexpr int64_t kMostCoefficient = 1 << 16, kMostConstant = int64_t(1) << 32;

namespace {

/// For each i, an op accesses rows [first[i], first[i] + count[i]) of a tensor with `rows` rows. With `list`, a matrix,
/// it accesses these elements of row i of `list` instead, whose values are row numbers below `listed`.
struct Segments {
  Operation *op;
  Value first; // null: 0 everywhere
  Value count; // null: 1 everywhere; `first` is then an index
  Extent rows;
  Value list;
  Extent listed;

  Form firstForm() const { return first ? Form::ofValue(first) : Form::ofConstant(0); }
  Form countForm() const { return count ? Form::ofValue(count) : Form::ofConstant(1); }
};

class DeriveContractPass : public mlir::heddle::impl::DeriveContractPassBase<DeriveContractPass> {
public:
  void runOnOperation() override;
};

/// Collects the rows that the ops of an entry access.
class Collector {
public:
  SmallVector<Segments> segments;
  /// Row numbers of a tensor; negative values mean no row.
  struct Places {
    Operation *op;
    Value values;
    Extent rows;
  };
  SmallVector<Places> places;

  void visit(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](EmbeddingOp op) { index(op, op.getIndices(), op.getTable(), 0); })
        .Case<ScatterAddOp, ScatterRowsOp>([&](auto op) { index(op, op.getIndices(), op.getDestination(), 0); })
        .Case([&](PenaliseOp op) {
          index(op, op.getRows(), op.getLogits(), 0);
          index(op, op.getColumns(), op.getLogits(), 1);
        })
        .Case<CrossEntropyOp, CrossEntropyGradOp>([&](auto op) { index(op, op.getTargets(), op.getLogits(), 1); })
        .Case([&](SumEqualOp op) {
          index(op, op.getIndices(), op.getFirst(), 0);
          places.push_back({op, op.getFirst(), Extent::of(op.getRows(), 0)});
        })
        .Case([&](DensifyOp op) { places.push_back({op, op.getPlaces(), Extent::of(op.getRows(), 0)}); })
        .Case([&](MaskOp op) { index(op, op.getSequence(), op.getKeyLengths(), 0); })
        .Case<SegmentOp, TopKOp>([&](auto op) {
          if (!op.getStarts())
            return;
          rows(op, op.getStarts(), op.getLengths(), Extent::of(op.getInput(), 0));
          rows(op, {}, op.getLengths(), Extent::ofSize(op.getRowSizeAttr()));
        })
        .Case([&](LocateOp op) {
          rows(op, op.getStarts(), op.getLengths(), Extent::of(op.getPosition(), 0));
          rows(op, {}, op.getLengths(), Extent::ofSize(op.getRowSizeAttr()));
        })
        .Case([&](ScanOp op) {
          rows(op, op.getStarts(), op.getLengths(), Extent::of(op.getRows().front(), 0));
          rows(op, {}, op.getLengths(), Extent::ofSize(op.getRowSizeAttr()));
        })
        .Case([&](ScoresOp op) { pairs(op, op.getQuery(), op.getKey(), op.getKeyRows(), op.getResult()); })
        .Case([&](ScoresGradQueryOp op) { pairs(op, op.getQuery(), op.getKey(), op.getKeyRows(), op.getGradient()); })
        .Case([&](ScoresGradKeyOp op) { pairsOfKeys(op, op.getQuery(), op.getKey(), op.getGradient()); })
        .Case([&](ContextOp op) { pairs(op, op.getResult(), op.getValue(), op.getKeyRows(), op.getWeights()); })
        .Case([&](TransposedContextOp op) { pairsOfKeys(op, op.getInput(), op.getResult(), op.getWeights()); })
        .Case([&](AttentionOp op) { pairs(op, op.getQuery(), op.getKey(), op.getKeyRows(), {}); })
        .Case<AttentionGradQueryOp, AttentionGradKeyValueOp>(
            [&](auto op) { pairs(op, op.getQuery(), op.getKey(), {}, {}); });
  }

private:
  void index(Operation *op, Value indices, Value table, int64_t dim) {
    segments.push_back({op, outside(indices), {}, Extent::of(table, dim), {}, {}});
  }
  void rows(Operation *op, Value starts, Value lengths, Extent rows) {
    segments.push_back({op, outside(starts), outside(lengths), rows, {}, {}});
  }
  /// If `value`, in a scan's step, holds some rows of a value outside the scan, returns that value: conditions on its
  /// rows then hold for `value` too.
  static Value outside(Value value) {
    auto argument = dyn_cast_if_present<BlockArgument>(value);
    auto scan = argument ? dyn_cast<ScanOp>(argument.getOwner()->getParentOp()) : ScanOp();
    if (!scan)
      return value;
    if (Value known = scan.getOutside(argument))
      return known;
    size_t state = argument.getArgNumber() - scan.getRows().size();
    bool isFixed = argument.getOwner()->getTerminator()->getOperand(state) == value;
    return isFixed ? scan.getStates()[state] : value;
  }
  /// Adds the conditions of ops on pairs. Each sequence has a segment of queries and one of keys. Their lengths must
  /// not exceed the sizes that the op names, and the number of keys must not exceed the extent of `scores`, if there
  /// are any.
  template <typename PairsLike> void pairs(PairsLike op, Value query, Value key, Value keyRows, Value scores) {
    rows(op, op.getQueryStarts(), op.getQueryLengths(), Extent::of(query, 0));
    rows(op, {}, op.getQueryLengths(), Extent::ofSize(op.getQuerySizeAttr()));
    rows(op, {}, op.getKeyLengths(), Extent::ofSize(op.getKeySizeAttr()));
    if (scores)
      rows(op, {}, op.getKeyLengths(), Extent::of(scores, 2));
    if (keyRows)
      segments.push_back(
          {op, op.getKeyStarts(), op.getKeyLengths(), Extent::of(keyRows, 1), keyRows, Extent::of(key, 0)});
    else
      rows(op, op.getKeyStarts(), op.getKeyLengths(), Extent::of(key, 0));
  }
  /// Adds the conditions of ops that compute a result for each key. If keys are listed for each query, such ops find a
  /// key's queries by lists of users.
  template <typename PairsLike> void pairsOfKeys(PairsLike op, Value query, Value key, Value scores) {
    ValueRange users = op.getUsers();
    if (users.empty())
      return pairs(op, query, key, {}, scores);
    segments.push_back({op, {}, users[2], Extent::of(users[0], 1), users[0], Extent::of(query, 0)});
    segments.push_back({op, {}, users[2], Extent::of(users[1], 1), users[1], Extent::of(scores, 2)});
  }
};

class ContractDeriver {
public:
  explicit ContractDeriver(ModuleOp module) : module(module), context(module.getContext()), bounds(module) {}
  void run();

private:
  void tighten(const Segments &segments);
  void limit(Value input, int64_t limit);
  bool isProven(const Segments &segments);
  bool areRows(Value list, const Extent &rows);
  bool limitVariables(Value list, int64_t limit);
  bool sharesMemory(StringAttr name);
  plan::SegmentsAttr express(const Segments &segments);
  plan::SumAttr express(const Form &form);
  plan::ExtentAttr express(const Extent &extent) {
    return plan::ExtentAttr::get(context, extent.size ? extent.size.getValue() : "", extent.number);
  }

  ModuleOp module;
  MLIRContext *context;
  Bounds bounds;
};

} // namespace

void DeriveContractPass::runOnOperation() { ContractDeriver(getOperation()).run(); }

void ContractDeriver::run() {
  SmallVector<std::pair<func::FuncOp, Collector>> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    entries.push_back({function, {}});
    function.walk([&](Operation *op) { entries.back().second.visit(op); });
  }
  // First set the limits of single inputs, because proofs use them.
  for (auto &[function, found] : entries)
    for (const Segments &segments : found.segments)
      tighten(segments);
  for (auto &[function, found] : entries) {
    llvm::SetVector<Attribute> conditions;
    DenseSet<Value> warned;
    auto warn = [&](Operation *op, Value values) {
      if (warned.insert(values).second)
        op->emitWarning()
            << "entry '" << function.getSymName() << "': '" << op->getName()
            << "' takes rows that are computed in a way that cannot be followed back to inputs; no call "
               "is refused because of them, so keep them within the tensor by arith.minsi and arith.maxsi";
    };
    for (const Segments &segments : found.segments) {
      if (isProven(segments))
        continue;
      if (plan::SegmentsAttr condition = express(segments))
        conditions.insert(condition);
      else
        warn(segments.op, segments.first ? segments.first : segments.count);
    }
    for (const Collector::Places &places : found.places) {
      auto areWithin = [&] {
        return bounds.isNonNegative(
            Form::ofExtent(places.rows).plus(Form::ofConstant(-1)).plus(Form::ofValue(places.values), -1));
      };
      if (!areWithin() && (places.rows.size || !limitVariables(places.values, places.rows.number) || !areWithin()))
        warn(places.op, places.values);
    }
    if (!conditions.empty())
      function->setAttr(kSegmentsAttrName, ArrayAttr::get(context, conditions.getArrayRef()));
  }
  for (auto variable : module.getOps<VariableOp>())
    if (int64_t limit = bounds.variableLimits.lookup(variable.getSymNameAttr()))
      variable->setAttr(kLimitAttrName, IntegerAttr::get(IntegerType::get(context, 64), limit));
}

/// Sets the limit of an input that is itself an index, or a number of rows from row 0 on. The start of a segment gets
/// no limit, because the start of an empty segment may be any number.
void ContractDeriver::tighten(const Segments &segments) {
  if (!segments.count && inputName(segments.first))
    limit(segments.first, bounds.maximumOf(segments.rows));
  else if (!segments.first && !segments.rows.size && inputName(segments.count))
    limit(segments.count, segments.rows.number + 1);
}

void ContractDeriver::limit(Value input, int64_t limit) {
  auto argument = cast<BlockArgument>(input);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kLimitAttrName);
  if (limit > 0 && (!known || known.getInt() <= 0 || known.getInt() > limit))
    function.setArgAttr(argument.getArgNumber(), kLimitAttrName,
                        IntegerAttr::get(IntegerType::get(context, 64), limit));
}

bool ContractDeriver::isProven(const Segments &segments) {
  if (!segments.count)
    return areRows(segments.first, segments.rows);
  Form first = segments.firstForm(), count = segments.countForm();
  return bounds.isNonNegative(first) && bounds.isNonNegative(count) &&
         bounds.isNonNegative(Form::ofExtent(segments.rows).plus(first, -1).plus(count, -1)) &&
         (!segments.list || areRows(segments.list, segments.listed));
}

bool ContractDeriver::areRows(Value list, const Extent &rows) {
  auto proven = [&] {
    Form values = Form::ofValue(list);
    return bounds.isNonNegative(values) &&
           bounds.isNonNegative(Form::ofExtent(rows).plus(Form::ofConstant(-1)).plus(values, -1));
  };
  return proven() || (!rows.size && limitVariables(list, rows.number) && proven());
}

/// Sets limits of the variables that a list is read from, if all values that the entries write there are within the
/// limit. Returns true on success.
bool ContractDeriver::limitVariables(Value list, int64_t limit) {
  llvm::SetVector<Value> sources;
  sources.insert(list);
  DenseMap<StringAttr, int64_t> before; // previous limits of the variables that get a new one
  for (size_t i = 0; i < sources.size(); ++i) {
    Operation *op = sources[i].getDefiningOp();
    if (auto read = dyn_cast_or_null<ReadOp>(op)) {
      StringAttr name = read.getVariableAttr().getAttr();
      int64_t known = bounds.variableLimits.lookup(name);
      if ((known == 0 || known > limit) && !sharesMemory(name)) {
        before[name] = known;
        bounds.variableLimits[name] = limit;
      }
    } else if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
      sources.insert(select.getTrueValue());
      sources.insert(select.getFalseValue());
    } else if (auto scatter = dyn_cast_or_null<ScatterRowsOp>(op)) {
      sources.insert(scatter.getDestination());
      sources.insert(scatter.getRows());
    } else if (auto embedding = dyn_cast_or_null<EmbeddingOp>(op)) {
      sources.insert(embedding.getTable());
    } else if (isa_and_nonnull<BroadcastOp, SliceOp>(op)) {
      sources.insert(op->getOperand(0));
    }
  }
  bool holds = true;
  module.walk([&](WriteOp write) {
    if (!before.contains(write.getVariableAttr().getAttr()))
      return;
    Form values = Form::ofValue(write.getValue());
    holds &= bounds.isNonNegative(values) && bounds.isNonNegative(Form::ofConstant(limit - 1).plus(values, -1));
  });
  if (!holds)
    for (auto [name, known] : before)
      bounds.variableLimits[name] = known;
  return holds && !before.empty();
}

/// Returns true if a variable is a view or has views, so that it may be written under another name.
bool ContractDeriver::sharesMemory(StringAttr name) {
  return llvm::any_of(module.getOps<VariableOp>(), [&](VariableOp variable) {
    FlatSymbolRefAttr storage = variable.getStorageAttr();
    return storage && (variable.getSymNameAttr() == name || storage.getAttr() == name);
  });
}

plan::SumAttr ContractDeriver::express(const Form &form) {
  SmallVector<plan::AddendAttr> addends;
  for (const Form::Term &term : form.terms) {
    StringAttr input = term.value ? inputName(term.value) : StringAttr();
    if (!input || cast<RankedTensorType>(term.value.getType()).getRank() != 1 ||
        std::abs(term.coefficient) > kMostCoefficient)
      return {};
    addends.push_back(plan::AddendAttr::get(context, input, term.coefficient, term.from));
  }
  if (addends.size() > kMostAddends || std::abs(form.constant) > kMostConstant)
    return {};
  return plan::SumAttr::get(context, addends, form.constant);
}

/// The condition that corresponds to the segments; null if they depend on values other than sums of inputs.
plan::SegmentsAttr ContractDeriver::express(const Segments &segments) {
  Form first = segments.firstForm(), count = segments.countForm();
  plan::SumAttr from = express(first), rows = express(count);
  if (!segments.list && (!from || !rows) && bounds.isNonNegative(first) && bounds.isNonNegative(count)) {
    // A window of the last rows of a segment ends where the segment ends. So check the whole segment instead: the term
    // that is provably at least `count` is the segment's length, and the rest of the end is its start.
    Form end = first.plus(count);
    from = express(Form());
    rows = express(end);
    for (const Form::Term &term : end.terms) {
      Form whole{{term}}, start = end.plus(whole, -1);
      if (bounds.isNonNegative(start) && bounds.isNonNegative(whole.plus(count, -1))) {
        from = express(start);
        rows = express(whole);
      }
    }
  }
  StringAttr list = segments.list && !areRows(segments.list, segments.listed) ? inputName(segments.list) : StringAttr();
  if (!from || !rows || (segments.list && !list && !areRows(segments.list, segments.listed)))
    return {};
  Extent places = Extent::of(segments.first ? segments.first : segments.count, 0);
  return plan::SegmentsAttr::get(context, express(places), from, rows, express(segments.rows),
                                 list ? list.getValue() : "", list ? express(segments.listed) : plan::ExtentAttr());
}
