// In self-attention, queries, keys and values are linear transformations of the same rows (3.2.2 of "Attention Is All
// You Need"); in attention to an encoder's output, keys and values are:
//
//   q = x Wq + bq                     q, k, v = project x, W, b     W: the rows of Wq, Wk and Wv, one below the other
//   k = x Wk + bk              =>
//   v = x Wv + bv
//
// The weights stay separate parameters: they become views of W, so initialisation and checkpoints see them as before,
// and nothing is copied. A weight's moments and accumulated gradient are stored likewise.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Kernel/Fusion/PackVariables.h"
#include "compiler/Kernel/Fusion/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kPass = "fuse-projections";

/// x W + b, where the weight, the bias, the product and the broadcast have no other use.
struct Linear {
  MatmulOp product;
  ReadOp weight, bias;
  arith::AddFOp sum;

  static std::optional<Linear> match(Value value) {
    Linear linear;
    linear.sum = value.getDefiningOp<arith::AddFOp>();
    if (!linear.sum)
      return std::nullopt;
    linear.product = linear.sum.getLhs().getDefiningOp<MatmulOp>();
    auto wide = linear.sum.getRhs().getDefiningOp<BroadcastOp>();
    if (!linear.product || !wide || linear.product.getTransposeLhs() || linear.product.getTransposeRhs() ||
        !linear.product->hasOneUse() || !wide->hasOneUse())
      return std::nullopt;
    linear.weight = linear.product.getRhs().getDefiningOp<ReadOp>();
    linear.bias = wide.getInput().getDefiningOp<ReadOp>();
    if (!linear.weight || !linear.bias || !linear.weight->hasOneUse() || !linear.bias->hasOneUse() ||
        linear.bias.getType().getDimSize(0) != linear.weight.getType().getDimSize(1))
      return std::nullopt;
    return linear;
  }
};

/// Linear transformations of one input. The names of their parameters identify the group. They outlive the parts: when
/// another group is replaced, parts that it shares with this one are erased.
struct Group {
  Operation *user = nullptr; // the op whose operands they are
  SmallVector<Linear> parts;
  SmallVector<StringAttr> names;

  void add(Linear part) {
    parts.push_back(part);
    names.append({part.weight.getVariableAttr().getAttr(), part.bias.getVariableAttr().getAttr()});
  }
};

class FuseProjectionsPass : public mlir::heddle::impl::FuseProjectionsPassBase<FuseProjectionsPass> {
public:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    VariableRoles roles(getOperation());
    llvm::MapVector<Attribute, SmallVector<Group>> groups; // by the names of the parameters
    getOperation().walk([&](Operation *op) {
      for (Group &group : groupsOf(projectedOperands(op))) {
        group.user = op;
        SmallVector<Group> &alike = groups[keyOf(group)];
        auto isSame = [&](const Group &other) { return other.parts.front().product == group.parts.front().product; };
        if (llvm::none_of(alike, isSame)) // attentions may share operands
          alike.push_back(group);
      }
    });
    if (wantsRemarks(&getContext()))
      getOperation().walk([](Operation *op) { explainLone(projectedOperands(op)); });
    auto trained = findTrainedReads(); // never looked up for replaced reads: variables are packed once
    DenseSet<StringAttr> taken;
    for (auto &[key, alike] : groups) {
      StringRef obstacle = findObstacle(alike, taken, trained, symbols);
      if (!obstacle.empty()) {
        for (const Group &group : alike)
          remarkMissed(kPass, group.user, describe(group), obstacle);
        continue;
      }
      taken.insert_range(alike.front().names);
      auto [weights, biases] = pack(alike.front(), symbols, roles);
      for (Group &group : alike)
        replace(group, weights, biases);
    }
  }

private:
  Attribute keyOf(const Group &group) {
    return ArrayAttr::get(&getContext(), SmallVector<Attribute>(group.names.begin(), group.names.end()));
  }

  /// Queries, keys and values of an attention, fused or not; nothing for other ops.
  static SmallVector<Value> projectedOperands(Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return {attention.getQuery(), attention.getKey(), attention.getValue()};
    auto context = dyn_cast<ContextOp>(op);
    if (!context)
      return {};
    // Follows the weights back to the scores.
    Operation *weights = context.getWeights().getDefiningOp();
    while (weights && !isa<ScoresOp>(weights) && weights->getNumOperands() > 0)
      weights = weights->getOperand(0).getDefiningOp();
    auto scores = dyn_cast_or_null<ScoresOp>(weights);
    return scores ? SmallVector<Value>{scores.getQuery(), scores.getKey(), context.getValue()} : SmallVector<Value>();
  }

  /// Returns the projections among these values, grouped by input and type, without groups of one.
  static SmallVector<Group> groupsOf(ArrayRef<Value> operands) {
    SmallVector<Group> groups;
    DenseSet<Value> seen;
    for (Value operand : operands) {
      std::optional<Linear> linear = seen.insert(operand).second ? Linear::match(operand) : std::nullopt;
      if (!linear)
        continue;
      auto same = llvm::find_if(groups, [&](const Group &group) {
        MatmulOp first = group.parts.front().product;
        return first.getLhs() == linear->product.getLhs() &&
               first.getRhs().getType() == linear->product.getRhs().getType();
      });
      if (same == groups.end())
        same = &groups.emplace_back();
      same->add(*linear);
    }
    llvm::erase_if(groups, [](const Group &group) { return group.parts.size() < 2; });
    return groups;
  }

  static std::string describe(const Group &group) {
    return std::to_string(group.parts.size()) + " projections of the same input";
  }

  /// Emits a remark for each operand of an attention that is in no group, with the reason.
  static void explainLone(ArrayRef<Value> operands) {
    constexpr StringLiteral names[] = {"query", "key", "value"};
    SmallVector<Group> groups = groupsOf(operands);
    for (auto [operand, name] : llvm::zip_first(operands, names)) {
      std::optional<Linear> linear = Linear::match(operand);
      auto has = [&](const Group &group) {
        return llvm::any_of(group.parts, [&](const Linear &part) { return part.product == linear->product; });
      };
      if (linear && llvm::any_of(groups, has))
        continue;
      if (Operation *op = operand.getDefiningOp())
        remarkMissed(kPass, op, Twine("projection of an attention's ") + name,
                     linear ? "no other operand of the attention is a projection of the same input to the same width"
                            : "it is no x W + b with a weight and a bias that it alone reads");
    }
  }

  /// Returns why these projections, which have the same parameters, cannot be fused, or an empty string if they can.
  static StringRef findObstacle(ArrayRef<Group> alike, const DenseSet<StringAttr> &taken,
                                const llvm::DenseMap<StringAttr, SmallVector<Operation *>> &trained,
                                SymbolTable &symbols) {
    auto isUpdated = [&](StringAttr name) {
      auto variable = symbols.lookup<VariableOp>(name);
      return variable && (variable->hasAttr(kUpdateAttrName) || variable->hasAttr(kNoDecayAttrName));
    };
    if (llvm::any_of(alike.front().names, isUpdated))
      return "the optimizer's text updates each parameter by itself, or weight decay spares one";
    if (!mayPack(alike.front(), taken, symbols))
      return "a parameter is stored with others already, is used twice, or is not trained";
    if (!isReadNowhereElse(alike, trained))
      return "an entry that trains reads a parameter in another place too";
    return "";
  }

  /// Returns true if each parameter is a weight that the group uses once and that is stored by itself so far.
  static bool mayPack(const Group &group, const DenseSet<StringAttr> &taken, SymbolTable &symbols) {
    DenseSet<StringAttr> seen;
    return llvm::all_of(group.names, [&](StringAttr name) {
      auto variable = symbols.lookup<VariableOp>(name);
      return variable && variable.getKind() == VariableKind::Weight && !variable.getStorageAttr() &&
             !taken.contains(name) && seen.insert(name).second;
    });
  }

  /// Returns the reads in entries that differentiate, by variable.
  llvm::DenseMap<StringAttr, SmallVector<Operation *>> findTrainedReads() {
    llvm::DenseMap<StringAttr, SmallVector<Operation *>> reads;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto isRoot = [](Operation *op) {
        return isa<MinimizeOp, AccumulateOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      };
      if (function.walk(isRoot).wasInterrupted())
        function.walk([&](ReadOp read) { reads[read.getVariableAttr().getAttr()].push_back(read); });
    }
    return reads;
  }

  /// Returns true if these groups contain every read of their parameters in entries that train. An optimizer updates
  /// the packed weight, so each of these reads must become a read of the packed weight.
  static bool isReadNowhereElse(ArrayRef<Group> groups,
                                const llvm::DenseMap<StringAttr, SmallVector<Operation *>> &trained) {
    DenseSet<Operation *> known;
    for (const Group &group : groups)
      for (const Linear &part : group.parts)
        known.insert_range(ArrayRef<Operation *>{part.weight, part.bias});
    return llvm::all_of(groups.front().names, [&](StringAttr name) {
      auto reads = trained.find(name);
      return reads == trained.end() ||
             llvm::all_of(reads->second, [&](Operation *read) { return known.contains(read); });
    });
  }

  /// Packs a group's weights, its biases, and their optimizer state and accumulated gradients. Returns the variables
  /// that hold all weights and all biases.
  static std::pair<VariableOp, VariableOp> pack(const Group &group, SymbolTable &symbols, const VariableRoles &roles) {
    SmallVector<StringRef> weights, biases;
    for (Linear part : group.parts) {
      weights.push_back(part.weight.getVariable());
      biases.push_back(part.bias.getVariable());
    }
    auto packAll = [&](ArrayRef<StringRef> names) {
      auto weights = llvm::map_to_vector(names, [&](StringRef name) { return symbols.lookup<VariableOp>(name); });
      VariableOp packed = packVariables(joinNames(names), weights, symbols);
      for (VariableRole role :
           {VariableRole::FirstMoment, VariableRole::SecondMoment, VariableRole::Average, VariableRole::Gradient}) {
        auto parts = llvm::map_to_vector(names, [&](StringRef name) { return roles.find(role, name); });
        if (llvm::all_of(parts, [](VariableOp part) { return bool(part); }))
          packVariables(role, packed, parts, symbols);
      }
      return packed;
    };
    return {packAll(weights), packAll(biases)};
  }

  static void replace(Group &group, VariableOp weights, VariableOp biases) {
    // The input has been computed before the first projection. The variables can be read anywhere.
    Operation *first = group.parts.front().product;
    for (const Linear &part : group.parts)
      if (part.product->isBeforeInBlock(first))
        first = part.product;
    OpBuilder builder(first);
    Location loc = builder.getFusedLoc(
        llvm::map_to_vector(group.parts, [](const Linear &part) { return MatmulOp(part.product).getLoc(); }));
    auto read = [&](VariableOp variable) {
      return ReadOp::create(builder, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable)).getResult();
    };
    SmallVector<Type> types;
    for (Linear part : group.parts)
      types.push_back(part.product.getType());
    remarkFused(kPass, group.user, describe(group), "project");
    Value input = group.parts.front().product.getLhs(), weight = read(weights), bias = read(biases);
    auto project = ProjectOp::create(builder, loc, types, input, weight, bias);
    for (auto [part, result] : llvm::zip(group.parts, project.getResults())) {
      Operation *wide = part.sum.getRhs().getDefiningOp();
      part.sum.replaceAllUsesWith(result);
      for (Operation *op : {part.sum.getOperation(), wide, part.product.getOperation(), part.weight.getOperation(),
                            part.bias.getOperation()})
        op->erase();
    }
  }
};

} // namespace
