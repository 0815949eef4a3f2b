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

SmallVector<int64_t> EntryOp::getBlockBytes() {
  if (std::optional<ArrayRef<int64_t>> blocks = getBlocks())
    return SmallVector<int64_t>(*blocks);
  return {static_cast<int64_t>(getArenaBytes())};
}

bool EntryOp::isInOneBlock(int64_t begin, int64_t end) {
  int64_t blockEnd = 0;
  for (int64_t bytes : getBlockBytes()) {
    int64_t blockBegin = blockEnd;
    blockEnd += bytes;
    if (blockBegin <= begin && end <= blockEnd)
      return true;
  }
  return false;
}

LogicalResult EntryOp::verify() {
  std::optional<ArrayRef<int64_t>> blocks = getBlocks();
  if (!blocks)
    return success();
  constexpr int64_t alignment = 256;
  int64_t left = static_cast<int64_t>(getArenaBytes());
  for (int64_t bytes : *blocks) {
    if (bytes <= 0 || bytes % alignment != 0 || bytes > left)
      return emitOpError() << "has a block of " << bytes << " bytes; expects multiples of " << alignment
                           << ", together " << getArenaBytes();
    left -= bytes;
  }
  if (left != 0)
    return emitOpError() << "has blocks of " << static_cast<int64_t>(getArenaBytes()) - left
                         << " bytes together, and an arena of " << getArenaBytes();
  return success();
}

template <typename PortOp> static LogicalResult verifyPorts(EntryOp entry) {
  for (auto port : entry.getOps<PortOp>()) {
    auto begin = static_cast<int64_t>(port.getOffset()), end = begin + static_cast<int64_t>(port.getBytes());
    if (entry.getBlocks() && !entry.isInOneBlock(begin, end))
      return port.emitOpError() << "lies at bytes " << begin << " to " << end << ", which are not in one block";
  }
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  return success(succeeded(verifyPorts<InputOp>(*this)) && succeeded(verifyPorts<OutputOp>(*this)));
}

/// Fails unless the bytes lie in the arena, in one block.
static LogicalResult verifyRange(Operation *op, int64_t begin, int64_t end) {
  auto entry = op->getParentOfType<EntryOp>();
  auto arena = static_cast<int64_t>(entry.getArenaBytes());
  if (begin < 0 || end > arena)
    return op->emitOpError() << "binds bytes " << begin << " to " << end << " of an arena of " << arena;
  if (!entry.isInOneBlock(begin, end))
    return op->emitOpError() << "binds bytes " << begin << " to " << end << ", which are not in one block";
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (getFrom().empty() || getFrom().size() != getTo().size())
    return emitOpError() << "takes " << getFrom().size() << " tensors and makes " << getTo().size()
                         << "; expects as many, and at least one";
  bool isOfRows = getWhat() != Collective::AllReduce;
  if (isOfRows != getLike().has_value() || (isOfRows && getLike()->size() != getFrom().size()))
    return emitOpError("names a sharded variable for each tensor where it is no all_reduce, and only there");
  auto all = llvm::to_vector(llvm::concat<const Attribute>(getFrom().getValue(), getTo().getValue()));
  for (Attribute attribute : all) {
    auto binding = cast<BindingAttr>(attribute);
    if (binding.getSpace() == Space::Size || binding.getStep() != 0 || binding.getBytes() <= 0 ||
        binding.getBytes() % 4 != 0)
      return emitOpError() << "binds " << binding << ", which is no tensor of f32";
    if (binding.getSpace() == Space::Arena &&
        failed(verifyRange(*this, binding.getOffset(), binding.getOffset() + binding.getBytes())))
      return failure();
  }
  for (auto [from, to] : llvm::zip_equal(getFrom().getAsRange<BindingAttr>(), getTo().getAsRange<BindingAttr>()))
    if (from.getBytes() != to.getBytes())
      return emitOpError() << "makes " << to.getBytes() << " bytes of " << from.getBytes();
  // Tensors do not overlap, except that a result may be in the place of its own tensor.
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j) {
      auto a = cast<BindingAttr>(all[i]), b = cast<BindingAttr>(all[j]);
      bool isInPlace = j == getFrom().size() + i && a == b;
      bool overlap = a.getSpace() == b.getSpace() && a.getName() == b.getName() &&
                     a.getOffset() < b.getOffset() + b.getBytes() && b.getOffset() < a.getOffset() + a.getBytes();
      if (overlap && !isInPlace)
        return emitOpError() << "binds " << a << " and " << b << ", which overlap";
    }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getGrid().size() != 3)
    return emitOpError() << "expects a grid of three axes, got " << getGrid().size();
  auto repeat = dyn_cast<RepeatOp>((*this)->getParentOp());
  for (BindingAttr binding : getBindings().getAsRange<BindingAttr>()) {
    if (binding.getStep() != 0 && !repeat)
      return emitOpError("has a binding that moves on from step to step, and is in no repetition");
    int64_t last = repeat ? (static_cast<int64_t>(repeat.getSteps()) - 1) * binding.getStep() : 0;
    if (binding.getSpace() == Space::Arena &&
        failed(verifyRange(*this, binding.getOffset(), binding.getOffset() + last + binding.getBytes())))
      return failure();
  }
  size_t tensors = 0;
  for (std::optional<ArrayAttr> types : {getReads(), getWrites()})
    for (Attribute type : types.value_or(ArrayAttr::get(getContext(), {})))
      if (++tensors > getBindings().size() || cast<BindingAttr>(getBindings()[tensors - 1]).getSpace() == Space::Size ||
          !isa<RankedTensorType>(cast<TypeAttr>(type).getValue()))
        return emitOpError() << "reads or writes " << type << " as its binding " << tensors - 1
                             << ", which is no binding of a tensor";
  if (ShardAttr shard = getShardAttr(); shard && (shard.getAxis() < 0 || shard.getAxis() > 2 || shard.getTile() < 1))
    return emitOpError() << "has shards of " << shard.getTile() << " rows along axis " << shard.getAxis()
                         << "; expects at least one row, and an axis from 0 to 2";
  return success();
}
