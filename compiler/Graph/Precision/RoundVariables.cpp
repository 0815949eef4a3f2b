// State that is large and read whole at each step takes half the memory and half the time in 16 bits.
//
// A decoding step reads the keys and values of all previous tokens. Attention of a lone query multiplies in f32, whatever
// the type of its keys, so queries stay as they are:
//
//   %old = read @cache.key                          %old = read @cache.key                       : tensor<1024x192xf16>
//   %new = scatter_rows %old, %at, %rows            %new = scatter_rows %old, %at, (truncf %rows)
//   write @cache.key, %new                    =>    write @cache.key, %new
//   attention %query, %new, ...                     attention %query, %new, ...
//
// A training step reads and writes two moments of each weight. Moments of gains and biases stay as they are: together
// they are small, and may have an odd number of elements.
//
//   %m = read @adam.m.w                             %m = read @adam.m.w            : tensor<512x512xbf16>
//   %w2, %m2, %v2 = adam %w, %g, %m, %v, ...   =>   %w2, %m2, %v2 = adam %w, %g, %m, %v, ... rounding %step
//   write @adam.m.w, %m2                            write @adam.m.w, %m2
#include "compiler/Analysis/Profile/Precision.h"
#include "compiler/Graph/Precision/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_ROUNDVARIABLESPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// A cache, or moments, with the ops that use them.
struct State {
  Type element;                      // to round to
  SmallVector<VariableOp> variables; // the storage and all views
  SmallVector<ReadOp> reads;
  SmallVector<ScatterRowsOp> scatters; // of new rows into a cache
  SmallVector<WriteOp> writes;
  bool isCache = false;
  bool isRoundable = true;
  bool isOfAttention = false; // the cache is the keys or values of fused attention
};

bool isMoment(VariableOp variable) {
  return variable.getRole() == VariableRole::FirstMoment || variable.getRole() == VariableRole::SecondMoment;
}

bool isKeyOrValue(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  return attention && attention.getQuerySize().empty() &&
         (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable());
}

bool isOldMoment(OpOperand &use) {
  auto adam = dyn_cast<AdamOp>(use.getOwner());
  return adam && !adam.getStep() && (&use == &adam.getFirstMomentMutable() || &use == &adam.getSecondMomentMutable());
}

class RoundVariablesPass : public mlir::heddle::impl::RoundVariablesPassBase<RoundVariablesPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    states.clear();
    storages.clear();
    std::optional<Precision> ofCaches = parsePrecision(caches), ofMoments = parsePrecision(moments);
    if (!ofCaches || !isStorable(*ofCaches)) {
      getOperation().emitError() << "caches are rounded to f16 or bf16, not to '" << caches << "'";
      return signalPassFailure();
    }
    if (ofMoments != Precision::F32 && ofMoments != Precision::BF16) {
      getOperation().emitError() << "moments are rounded to bf16, not to '" << moments << "'";
      return signalPassFailure();
    }
    Builder builder(&getContext());
    Type bf16 = builder.getBF16Type(), ofCache, ofMoment;
    if (ofCaches != Precision::F32)
      ofCache = ofCaches == Precision::F16 ? Type(builder.getF16Type()) : bf16;
    if (ofMoments != Precision::F32)
      ofMoment = bf16;
    findVariables(ofCache, ofMoment);
    findUses();
    excludePartners();
    for (auto &[storage, state] : states)
      if (state.isRoundable && failed(round(state)))
        return signalPassFailure();
    auto hasNone = [&](Type element, bool isCache) {
      return element && llvm::none_of(states, [&](auto &entry) {
               return entry.second.isCache == isCache && entry.second.isRoundable;
             });
    };
    if (hasNone(ofCache, true))
      getOperation().emitError() << "no cache can be kept in " << ofCache
                                 << ": that takes fused attention to the tokens before, "
                                 << "whose keys have an even number of columns";
    else if (hasNone(ofMoment, false))
      getOperation().emitError()
          << "no moment can be kept in bf16: that takes a matrix that Adam trains, with an even number of columns and "
             "a multiple of 128 elements";
    else
      return;
    signalPassFailure();
  }

private:
  void findVariables(Type ofCache, Type ofMoment) {
    SymbolTable symbols(getOperation());
    for (auto variable : getOperation().getOps<VariableOp>()) {
      VariableOp storage = variable;
      while (storage && storage.getStorage())
        storage = symbols.lookup<VariableOp>(*storage.getStorage());
      bool isCache = storage && storage.getKind() == VariableKind::Cache;
      Type element = isCache ? ofCache : storage && isMoment(storage) ? ofMoment : Type();
      if (!element)
        continue;
      storages[variable.getSymNameAttr()] = storage;
      State &state = states[storage];
      state.element = element;
      state.isCache = isCache;
      state.variables.push_back(variable);
      // Rows must begin at a 32-bit word of the variable. Moments that several ranks could not share out stay f32 on one
      // rank, too, so that sharding changes no bit of a training run.
      RankedTensorType type = variable.getTensorType();
      state.isRoundable &= type.getElementType().isF32() && type.getRank() > 0 && type.getShape().back() % 2 == 0;
      if (!isCache)
        state.isRoundable &=
            isMoment(variable) && type.getRank() >= 2 && type.getNumElements() % getShardElements(element) == 0;
    }
  }

  State *find(StringRef variable) {
    auto storage = storages.find(StringAttr::get(&getContext(), variable));
    return storage == storages.end() ? nullptr : &states[storage->second];
  }

  void findUses() {
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        if (State *state = find(read.getVariable())) {
          state->reads.push_back(read);
          state->isRoundable &= state->isCache || llvm::all_of(read->getUses(), isOldMoment);
          if (state->isCache)
            follow(read, *state);
        }
      } else if (auto write = dyn_cast<WriteOp>(op)) {
        if (State *state = find(write.getVariable()))
          state->writes.push_back(write);
      }
    });
    for (auto &[storage, state] : states)
      state.isRoundable &= !state.isCache || state.isOfAttention;
  }

  /// Finds the uses of a cache's value in an entry, with or without new rows.
  static void follow(ReadOp read, State &cache) {
    SmallVector<Value> values{read.getResult()};
    while (!values.empty())
      for (OpOperand &use : values.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        auto scatter = dyn_cast<ScatterRowsOp>(user);
        auto write = dyn_cast<WriteOp>(user);
        if (scatter && use.get() == scatter.getDestination()) {
          cache.scatters.push_back(scatter);
          values.push_back(scatter.getResult());
        } else if (isKeyOrValue(use)) {
          cache.isOfAttention = true;
        } else if (!write || write.getVariable() != read.getVariable()) {
          cache.isRoundable = false;
        }
      }
  }

  /// Both moments of an update have one type. If a moment cannot be rounded, its partner stays f32 too, and so do the
  /// partner's other partners.
  void excludePartners() {
    SmallVector<std::pair<State *, State *>> partners; // the two moments of each update
    getOperation().walk([&](AdamOp adam) {
      auto storedIn = [&](Value moment) {
        auto read = moment.getDefiningOp<ReadOp>();
        return read ? find(read.getVariable()) : nullptr;
      };
      partners.push_back({storedIn(adam.getFirstMoment()), storedIn(adam.getSecondMoment())});
    });
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [first, second] : partners) {
        bool both = first && second && first->isRoundable && second->isRoundable;
        for (State *one : {first, second})
          if (one && one->isRoundable && !both) {
            one->isRoundable = false;
            changed = true;
          }
      }
    }
  }

  LogicalResult round(State &state) {
    auto typeOf = [&](Value value) { return cast<RankedTensorType>(value.getType()).clone(state.element); };
    auto setElement = [&](Value value) { value.setType(typeOf(value)); };
    auto round = [&](OpOperand &operand) {
      OpBuilder builder(operand.getOwner());
      operand.set(arith::TruncFOp::create(builder, operand.getOwner()->getLoc(), typeOf(operand.get()), operand.get()));
    };
    for (VariableOp variable : state.variables)
      variable.setType(cast<RankedTensorType>(variable.getTensorType().clone(state.element)));
    for (ScatterRowsOp scatter : state.scatters) {
      round(scatter.getRowsMutable());
      setElement(scatter.getResult());
    }
    for (ReadOp read : state.reads) {
      setElement(read);
      for (Operation *user : read->getUsers()) {
        auto adam = dyn_cast<AdamOp>(user);
        if (!adam || adam.getFirstMoment() != read.getResult())
          continue;
        FailureOr<Value> step = countOf(adam);
        if (failed(step))
          return failure();
        adam.getStepMutable().assign(*step);
        setElement(adam.getNewFirstMoment());
        setElement(adam.getNewSecondMoment());
      }
    }
    for (WriteOp write : state.writes) // initial values only
      if (getElementTypeOrSelf(write.getValue()).isF32() && !write.getValue().getDefiningOp<AdamOp>())
        round(write.getValueMutable());
    return success();
  }

  /// Returns the step's number. Fails if the update's entry does not count it before the update.
  FailureOr<Value> countOf(AdamOp adam) {
    for (auto write : adam->getBlock()->getOps<WriteOp>()) {
      auto counter = getOperation().lookupSymbol<VariableOp>(write.getVariable());
      if (!counter || counter.getRole() != VariableRole::Steps)
        continue;
      Operation *made = write.getValue().getDefiningOp();
      if (!made || made->isBeforeInBlock(adam))
        return write.getValue();
    }
    return adam.emitOpError(
        "is to round its moments at random by the number of the step, which its entry does not count before it; write "
        "the variable that is `counter as steps`");
  }

  llvm::MapVector<Operation *, State> states; // by storage
  DenseMap<StringAttr, VariableOp> storages;  // by variable's name
};

} // namespace
