// The kernel that computes a matrix's gradient also updates the matrix. Vectors (biases and gains) get their gradients
// from kernels of other shapes. They are many and small, and each update would be a launch of its own:
//
//   b1' = adam b1, g1, m1, v1              b' = adam b, concat(g1, g2, ...), m, v
//   b2' = adam b2, g2, m2, v2       =>
//   ...                                    b1, b2, ... are views of b, and their moments of m and v
//
// Each kernel writes its gradient directly to its place in the concatenation: nothing is copied.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Kernel/Fusion/PackVariables.h"
#include "compiler/Kernel/Fusion/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSEUPDATESPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kPass = "fuse-updates";

bool isOfVector(AdamOp adam) { return cast<RankedTensorType>(adam.getWeight().getType()).getRank() == 1; }

/// The update of a vector that reads its state from variables and writes its results only back to them.
struct Update {
  AdamOp adam;
  SmallVector<ReadOp, 4> reads;   // weight, first moment, second moment, and average if there is one
  SmallVector<WriteOp, 4> writes; // to the same variables

  static std::optional<Update> match(AdamOp adam) {
    Update update{adam, {}, {}};
    if (!isOfVector(adam) || adam.getStep()) // vectors with bf16 moments are not packed
      return std::nullopt;
    Value before[] = {adam.getWeight(), adam.getFirstMoment(), adam.getSecondMoment(), adam.getAverage()};
    for (auto [old, value] : llvm::zip_first(ArrayRef(before).take_front(adam->getNumResults()), adam->getResults())) {
      auto read = old.getDefiningOp<ReadOp>();
      auto write = value.hasOneUse() ? dyn_cast<WriteOp>(*value.getUsers().begin()) : WriteOp();
      if (!read || !write || read.getVariable() != write.getVariable())
        return std::nullopt;
      update.reads.push_back(read);
      update.writes.push_back(write);
    }
    return update;
  }
  SmallVector<StringAttr, 4> names() const {
    return llvm::map_to_vector<4>(reads, [](ReadOp read) { return read.getVariableAttr().getAttr(); });
  }
  /// Returns the read of the variable in which the gradient was accumulated, or null if a kernel makes the gradient.
  ReadOp summed() const { return AdamOp(adam).getGradient().getDefiningOp<ReadOp>(); }
};

class FuseUpdatesPass : public mlir::heddle::impl::FuseUpdatesPassBase<FuseUpdatesPass> {
public:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<SmallVector<Update>> steps; // the updates of each entry
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (SmallVector<Update> step = updatesOf(function); step.size() > 1)
        steps.push_back(std::move(step));
    if (steps.empty())
      return;
    // Vectors are packed only if all steps update the same ones.
    StringRef obstacle = findObstacle(steps, symbols);
    if (!obstacle.empty()) {
      for (ArrayRef<Update> step : steps)
        remarkMissed(kPass, step.front().adam, describe(step), obstacle);
      return;
    }
    Packed packed = pack(steps, symbols);
    for (ArrayRef<Update> step : steps)
      replace(step, packed);
  }

private:
  struct Packed {
    SmallVector<VariableOp, 4> variables; // in the order of Update::reads
    VariableOp summed;                    // or null
  };

  /// Returns the updates in the order in which vectors are stored: first vectors that can be read four elements at a
  /// time, then those that can be read two at a time, so that all of them are aligned.
  static SmallVector<Update> updatesOf(func::FuncOp function) {
    SmallVector<Update> updates;
    function.walk([&](AdamOp adam) {
      if (std::optional<Update> update = Update::match(adam))
        updates.push_back(*update);
      else
        remarkMissed(kPass, adam, "update",
                     isOfVector(adam) ? "what it updates are no variables, or its results do not go back to them alone"
                                      : "the weight is a matrix: the kernel that makes its gradient updates it");
    });
    if (updates.empty())
      return updates;
    AdamOp first = updates.front().adam;
    llvm::erase_if(updates, [&](Update &update) {
      if (isAlike(update.adam, first))
        return false;
      remarkMissed(kPass, update.adam, "update", "its rate, corrections or scale are not those of the first update");
      return true;
    });
    if (updates.size() == 1)
      remarkMissed(kPass, first, "update", "no other vector is updated alike");
    llvm::stable_sort(updates, [](const Update &a, const Update &b) { return unitOf(a) > unitOf(b); });
    return updates;
  }

  /// The number of elements that are read at once: 4, 2 or 1, the largest that divides the vector's length.
  static int64_t unitOf(const Update &update) {
    return std::gcd<int64_t>(4, cast<RankedTensorType>(AdamOp(update.adam).getWeight().getType()).getDimSize(0));
  }

  /// Returns true if both updates have the same attributes, rate, corrections and gradient scale.
  static bool isAlike(AdamOp a, AdamOp b) {
    return a->getAttrs() == b->getAttrs() && a.getRate() == b.getRate() &&
           a.getFirstCorrection() == b.getFirstCorrection() && a.getSecondCorrection() == b.getSecondCorrection() &&
           a.getGradientScale() == b.getGradientScale();
  }

  static bool isLike(ArrayRef<Update> a, ArrayRef<Update> b) {
    return llvm::equal(a, b, [](const Update &x, const Update &y) { return x.names() == y.names(); });
  }

  static std::string describe(ArrayRef<Update> step) { return std::to_string(step.size()) + " updates of vectors"; }

  /// Returns why the vectors cannot be packed, or an empty string if they can.
  static StringRef findObstacle(ArrayRef<SmallVector<Update>> steps, SymbolTable &symbols) {
    if (!llvm::all_of(steps, [&](ArrayRef<Update> step) { return isLike(step, steps.front()); }))
      return "the entries that train do not update the same weights";
    if (!mayPack(steps, symbols))
      return "a weight is updated twice, or a gradient is a part of another tensor or kept elsewhere";
    return "";
  }

  static bool mayPack(ArrayRef<SmallVector<Update>> steps, SymbolTable &symbols) {
    DenseSet<StringAttr> variables;
    auto isNew = [&](StringAttr name) { return variables.insert(name).second && symbols.lookup<VariableOp>(name); };
    for (const Update &update : steps.front())
      if (!llvm::all_of(update.names(), isNew))
        return false;
    // Accumulated gradients are packed like the weights: each weight must have one, and no two may share one.
    for (ArrayRef<Update> step : steps) {
      DenseSet<Value> gradients;
      variables.clear();
      bool areSummed = bool(step.front().summed());
      for (const Update &update : step) {
        Value gradient = AdamOp(update.adam).getGradient();
        if (bool(update.summed()) != areSummed || !gradients.insert(gradient).second ||
            (areSummed ? !isNew(update.summed().getVariableAttr().getAttr()) : !isMade(gradient)))
          return false;
      }
    }
    return true;
  }

  /// Returns true if a kernel can write the gradient to any place: it is no part of another tensor, and no variable
  /// keeps it.
  static bool isMade(Value gradient) {
    Operation *op = gradient.getDefiningOp();
    return op && !isa<ReadOp, SliceOp, ConcatOp>(op) && llvm::none_of(gradient.getUsers(), [](Operation *user) {
             return isa<WriteOp, ConcatOp, func::ReturnOp>(user);
           });
  }

  static Packed pack(ArrayRef<SmallVector<Update>> steps, SymbolTable &symbols) {
    ArrayRef<Update> step = steps.front();
    auto partsOf = [&](ArrayRef<Update> step, function_ref<StringAttr(const Update &)> nameOf) {
      return llvm::map_to_vector(step,
                                 [&](const Update &update) { return symbols.lookup<VariableOp>(nameOf(update)); });
    };
    auto readAt = [&](size_t i) { return partsOf(step, [i](const Update &update) { return update.names()[i]; }); };
    Packed packed;
    VariableOp vectors = packVariables("vectors", readAt(0), symbols);
    packed.variables.push_back(vectors);
    constexpr VariableRole roles[] = {VariableRole::FirstMoment, VariableRole::SecondMoment, VariableRole::Average};
    for (size_t i = 1; i < step.front().reads.size(); ++i)
      packed.variables.push_back(packVariables(roles[i - 1], vectors, readAt(i), symbols));
    for (ArrayRef<Update> step : steps)
      if (step.front().summed() && !packed.summed) {
        auto summed = partsOf(step, [](const Update &update) { return update.summed().getVariableAttr().getAttr(); });
        packed.summed = packVariables(VariableRole::Gradient, vectors, summed, symbols);
      }
    return packed;
  }

  static void replace(ArrayRef<Update> step, Packed &packed) {
    // At the last update all gradients have been computed.
    AdamOp last = step.front().adam;
    for (const Update &update : step)
      if (last->isBeforeInBlock(update.adam))
        last = update.adam;
    remarkFused(kPass, last, describe(step), "adam");
    OpBuilder builder(last), writes(last->getBlock()->getTerminator());
    Location loc = last.getLoc();
    if (auto named = dyn_cast<NameLoc>(loc))
      loc = NameLoc::get(builder.getStringAttr("update of all biases and gains"), named.getChildLoc());
    auto read = [&](VariableOp variable) -> Value {
      return ReadOp::create(builder, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
    };
    RankedTensorType type = packed.variables[0].getTensorType();
    Value gradient;
    if (step.front().summed()) {
      gradient = read(packed.summed);
    } else {
      SmallVector<Value> parts;
      for (const Update &update : step)
        parts.push_back(AdamOp(update.adam).getGradient());
      gradient = ConcatOp::create(builder, loc, type, parts);
    }
    SmallVector<Value> operands{read(packed.variables[0]), gradient};
    llvm::append_range(operands, llvm::map_range(ArrayRef(packed.variables).slice(1, 2), read));
    llvm::append_range(operands, ValueRange{last.getRate(), last.getFirstCorrection(), last.getSecondCorrection(),
                                            last.getGradientScale()});
    if (last.getAverage())
      operands.push_back(read(packed.variables[3]));
    auto adam =
        AdamOp::create(builder, loc, SmallVector<Type>(packed.variables.size(), type), operands, last->getAttrs());
    for (auto [variable, value] : llvm::zip_equal(packed.variables, adam->getResults()))
      WriteOp::create(writes, loc, FlatSymbolRefAttr::get(variable), value);
    for (Update update : step) {
      for (WriteOp write : update.writes)
        write.erase();
      update.adam.erase();
      for (ReadOp read : update.reads)
        if (read->use_empty())
          read.erase();
    }
  }
};

} // namespace
