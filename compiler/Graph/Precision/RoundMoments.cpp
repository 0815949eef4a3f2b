// Two f32 moments take twice the memory of the weights, and each step reads and writes both. In bf16 it is half:
//
//   %m = read @adam.m.w                             %m = read @adam.m.w            : tensor<512x512xbf16>
//   %w2, %m2, %v2 = adam %w, %g, %m, %v, ...   =>   %w2, %m2, %v2 = adam %w, %g, %m, %v, ... rounding %step
//   write @adam.m.w, %m2                            write @adam.m.w, %m2
//
// Gains and biases stay as they are: together they are small, and may have an odd number of elements.
#include "compiler/Graph/Precision/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_ROUNDMOMENTSPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

bool isMoment(VariableOp variable) {
  return variable.getRole() == VariableRole::FirstMoment || variable.getRole() == VariableRole::SecondMoment;
}

/// Moments that are stored in one variable, with their reads and writes.
struct Stored {
  SmallVector<VariableOp> variables; // the storage and all views
  SmallVector<ReadOp> reads;
  SmallVector<WriteOp> writes;
  bool isRoundable = true;
};

class RoundMomentsPass : public mlir::heddle::impl::RoundMomentsPassBase<RoundMomentsPass> {
public:
  void runOnOperation() override {
    moments.clear();
    storages.clear();
    SymbolTable symbols(getOperation());
    collect(symbols);
    excludePartners();
    bool any = false;
    for (auto &[storage, stored] : moments) {
      any |= stored.isRoundable;
      if (stored.isRoundable && failed(round(stored)))
        return signalPassFailure();
    }
    if (any)
      return;
    getOperation().emitError()
        << "no moment can be kept in bf16: that takes a matrix that Adam trains, with an even number of columns and "
           "a multiple of 128 elements";
    signalPassFailure();
  }

private:
  void collect(SymbolTable &symbols) {
    for (auto variable : getOperation().getOps<VariableOp>()) {
      VariableOp storage = variable;
      while (storage && storage.getStorage())
        storage = symbols.lookup<VariableOp>(*storage.getStorage());
      if (!storage || !isMoment(storage))
        continue;
      storages[variable.getSymNameAttr()] = storage;
      Stored &stored = moments[storage];
      stored.variables.push_back(variable);
      stored.isRoundable &= isMoment(variable) && isRoundable(variable.getTensorType());
    }
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        if (Stored *stored = find(read.getVariable())) {
          stored->reads.push_back(read);
          stored->isRoundable &= llvm::all_of(read->getUses(), isOldMoment);
        }
      } else if (auto write = dyn_cast<WriteOp>(op)) {
        if (Stored *stored = find(write.getVariable()))
          stored->writes.push_back(write);
      }
    });
  }

  Stored *find(StringRef variable) {
    auto storage = storages.find(StringAttr::get(&getContext(), variable));
    return storage == storages.end() ? nullptr : &moments[storage->second];
  }

  /// Rows must begin at a 32-bit word of the variable. Moments that several ranks could not share out stay f32 on one
  /// rank, too, so that sharding changes no bit of a training run.
  static bool isRoundable(RankedTensorType type) {
    return type.getElementType().isF32() && type.getRank() >= 2 && type.getShape().back() % 2 == 0 &&
           type.getNumElements() % getShardElements(BFloat16Type::get(type.getContext())) == 0;
  }

  static bool isOldMoment(OpOperand &use) {
    auto adam = dyn_cast<AdamOp>(use.getOwner());
    return adam && !adam.getStep() && (&use == &adam.getFirstMomentMutable() || &use == &adam.getSecondMomentMutable());
  }

  /// Both moments of an update have one type. If a moment cannot be rounded, its partner stays f32 too, and so do the
  /// partner's other partners.
  void excludePartners() {
    SmallVector<std::pair<Stored *, Stored *>> partners; // the two moments of each update
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
        for (Stored *one : {first, second})
          if (one && one->isRoundable && !both) {
            one->isRoundable = false;
            changed = true;
          }
      }
    }
  }

  LogicalResult round(Stored &stored) {
    Type element = BFloat16Type::get(&getContext());
    auto setElement = [&](Value value) { value.setType(cast<RankedTensorType>(value.getType()).clone(element)); };
    for (VariableOp variable : stored.variables)
      variable.setType(cast<RankedTensorType>(variable.getTensorType().clone(element)));
    for (ReadOp read : stored.reads) {
      setElement(read);
      for (Operation *user : read->getUsers()) {
        auto adam = cast<AdamOp>(user);
        if (adam.getFirstMoment() != read.getResult())
          continue;
        FailureOr<Value> step = countOf(adam);
        if (failed(step))
          return failure();
        adam.getStepMutable().assign(*step);
        setElement(adam.getNewFirstMoment());
        setElement(adam.getNewSecondMoment());
      }
    }
    for (WriteOp write : stored.writes) // initial values only
      if (auto type = cast<RankedTensorType>(write.getValue().getType());
          type.getElementType().isF32() && !write.getValue().getDefiningOp<AdamOp>()) {
        OpBuilder builder(write);
        write.getValueMutable().assign(
            arith::TruncFOp::create(builder, write.getLoc(), type.clone(element), write.getValue()));
      }
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

  llvm::MapVector<Operation *, Stored> moments; // by storage
  DenseMap<StringAttr, VariableOp> storages;    // by moment's name
};

} // namespace
