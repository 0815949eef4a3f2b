#include "dialects/Plan/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttrs.cpp.inc"
      >();
}

LogicalResult LaunchOp::verify() {
  if (getGrid().size() != 3)
    return emitOpError() << "expects a grid of three axes, got " << getGrid().size();
  int64_t arena = (*this)->getParentOfType<EntryOp>().getArenaBytes();
  auto repeat = dyn_cast<RepeatOp>((*this)->getParentOp());
  for (BindingAttr binding : getBindings().getAsRange<BindingAttr>()) {
    if (binding.getStep() != 0 && !repeat)
      return emitOpError("has a binding that moves on from step to step, and is in no repetition");
    int64_t last = repeat ? (static_cast<int64_t>(repeat.getSteps()) - 1) * binding.getStep() : 0;
    int64_t end = binding.getOffset() + last + binding.getBytes();
    if (binding.getSpace() == Space::Arena && (binding.getOffset() < 0 || end > arena))
      return emitOpError() << "binds bytes " << binding.getOffset() << " to " << end << " of an arena of " << arena;
  }
  size_t tensors = 0;
  for (std::optional<ArrayAttr> types : {getReads(), getWrites()})
    for (Attribute type : types.value_or(ArrayAttr::get(getContext(), {})))
      if (++tensors > getBindings().size() || cast<BindingAttr>(getBindings()[tensors - 1]).getSpace() == Space::Size ||
          !isa<RankedTensorType>(cast<TypeAttr>(type).getValue()))
        return emitOpError() << "reads or writes " << type << " as its binding " << tensors - 1
                             << ", which is no binding of a tensor";
  return success();
}
