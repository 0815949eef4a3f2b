#include "tools/heddle-reduce/Reduce.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Where a change can be made: an op, and the index of one of its results, arguments or attributes.
struct Place {
  Operation *op;
  unsigned index = 0;
};

/// A way to make a module smaller.
struct Change {
  /// Adds the places of an op where the change can be made.
  void (*find)(Operation *op, SmallVectorImpl<Place> &places);
  void (*make)(Place place);
};

void findSymbol(Operation *op, SmallVectorImpl<Place> &places) {
  if (isa_and_nonnull<ModuleOp>(op->getParentOp()))
    places.push_back({op});
}

void findUnused(Operation *op, SmallVectorImpl<Place> &places) {
  if (op->getParentOfType<func::FuncOp>() && op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>())
    places.push_back({op});
}

void eraseOp(Place place) { place.op->erase(); }

/// Returns an operand that can replace a result, or null.
Value findSubstitute(Place place) {
  Value result = place.op->getResult(place.index);
  for (Value operand : place.op->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  return {};
}

void findResultWithSubstitute(Operation *op, SmallVectorImpl<Place> &places) {
  for (OpResult result : op->getResults())
    if (Place place{op, result.getResultNumber()}; !result.use_empty() && findSubstitute(place))
      places.push_back(place);
}

void takeOperand(Place place) { place.op->getResult(place.index).replaceAllUsesWith(findSubstitute(place)); }

void findTensor(Operation *op, SmallVectorImpl<Place> &places) {
  if (!op->getParentOfType<func::FuncOp>() || isa<FillOp>(op))
    return;
  for (OpResult result : op->getResults()) {
    Type element = getElementTypeOrSelf(result.getType());
    if (!result.use_empty() && isa<RankedTensorType>(result.getType()) && (element.isF32() || element.isInteger(32)))
      places.push_back({op, result.getResultNumber()});
  }
}

void takeZeros(Place place) {
  OpBuilder builder(place.op);
  Value result = place.op->getResult(place.index);
  TypedAttr zero = builder.getZeroAttr(getElementTypeOrSelf(result.getType()));
  result.replaceAllUsesWith(FillOp::create(builder, place.op->getLoc(), result.getType(), zero));
}

void findFunctionResult(Operation *op, SmallVectorImpl<Place> &places) {
  if (auto function = dyn_cast<func::FuncOp>(op); function && function.getBody().hasOneBlock())
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      places.push_back({op, i});
}

void eraseFunctionResult(Place place) {
  auto function = cast<func::FuncOp>(place.op);
  function.getBody().front().getTerminator()->eraseOperand(place.index);
  (void)function.eraseResult(place.index);
}

void findUnusedArgument(Operation *op, SmallVectorImpl<Place> &places) {
  if (auto function = dyn_cast<func::FuncOp>(op); function && !function.isExternal())
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        places.push_back({op, argument.getArgNumber()});
}

void eraseArgument(Place place) { (void)cast<func::FuncOp>(place.op).eraseArgument(place.index); }

void findAttribute(Operation *op, SmallVectorImpl<Place> &places) {
  for (unsigned i = 0; i < llvm::range_size(op->getDiscardableAttrs()); ++i)
    places.push_back({op, i});
}

void eraseAttribute(Place place) {
  place.op->removeDiscardableAttr(std::next(place.op->getDiscardableAttrs().begin(), place.index)->getName());
}

constexpr Change kChanges[] = {
    {findSymbol, eraseOp},           {findFunctionResult, eraseFunctionResult},
    {findUnused, eraseOp},           {findResultWithSubstitute, takeOperand},
    {findTensor, takeZeros},         {findUnusedArgument, eraseArgument},
    {findAttribute, eraseAttribute},
};

SmallVector<Place> findPlaces(ModuleOp module, const Change &change) {
  SmallVector<Place> places;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { change.find(op, places); });
  return places;
}

void eraseDeadOps(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

class Reducer {
public:
  Reducer(OwningOpRef<ModuleOp> &module, InterestingFn isInteresting) : module(module), isInteresting(isInteresting) {}

  LogicalResult run() {
    do {
      isChanged = false;
      for (const Change &change : kChanges)
        if (failed(makeEverywhere(change)))
          return failure();
    } while (isChanged);
    return success();
  }

private:
  /// Tries all places at once, then halves, quarters and so on, from last to first, because an op stands after the ops
  /// it uses.
  LogicalResult makeEverywhere(const Change &change) {
    for (size_t count = findPlaces(*module, change).size(); count > 0; count /= 2)
      for (size_t end = findPlaces(*module, change).size(); end > 0;) {
        size_t begin = end > count ? end - count : 0;
        FailureOr<bool> isKept = tryAt(change, begin, end);
        if (failed(isKept))
          return failure();
        isChanged |= *isKept;
        end = std::min(begin, findPlaces(*module, change).size()); // a change may remove other places
      }
    return success();
  }

  FailureOr<bool> tryAt(const Change &change, size_t begin, size_t end) {
    OwningOpRef<ModuleOp> smaller = module->clone();
    SmallVector<Place> places = findPlaces(*smaller, change);
    for (const Place &place : llvm::reverse(ArrayRef(places).slice(begin, end - begin)))
      change.make(place);
    eraseDeadOps(*smaller);
    if (!isValid(*smaller))
      return false;
    FailureOr<bool> isKept = isInteresting(*smaller);
    if (succeeded(isKept) && *isKept)
      module = std::move(smaller);
    return isKept;
  }

  static bool isValid(ModuleOp candidate) {
    ScopedDiagnosticHandler silence(candidate.getContext(), [](Diagnostic &) { return success(); });
    return succeeded(verify(candidate));
  }

  OwningOpRef<ModuleOp> &module;
  InterestingFn isInteresting;
  bool isChanged = false;
};

} // namespace

LogicalResult mlir::heddle::reduceModule(OwningOpRef<ModuleOp> &module, InterestingFn isInteresting) {
  return Reducer(module, isInteresting).run();
}
