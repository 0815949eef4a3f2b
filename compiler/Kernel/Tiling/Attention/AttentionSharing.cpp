#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

using namespace mlir;
using namespace mlir::heddle;

std::unique_ptr<AttentionSharing> AttentionSharing::choose(const Work &work) {
  if (work.isOneQuery)
    return shareByQuads(work);
  if (std::unique_ptr<AttentionSharing> panels = shareByPanels(work))
    return panels;
  if (std::unique_ptr<AttentionSharing> matrices = shareByMatrices(work))
    return matrices;
  if (canShareByFragments(work))
    return shareByFragments(work);
  if (work.attention.pairKeys == 0 && canShareByBlocks(work.emitter.getProfile(), work.attention.width()))
    return shareByBlocks(work);
  return shareByRows(work);
}

bool AttentionSharing::Work::isWorthTwice(int64_t rows) const {
  constexpr int64_t many = 64; // assumed if the number of processors is unknown
  Matrix queries = *Matrix::of(cast<RankedTensorType>(attention.query.getType()));
  int64_t processors = emitter.getProfile().processors;
  int64_t workgroups = emitter.maximumRows(queries) * attention.heads / rows;
  return attention.members > 1 && bounds.maximumOwned() >= 2 * rows && workgroups >= (processors ? processors : many);
}

Value AttentionSharing::load(Value value, const Place &place) {
  return asLoaded(emitter.evaluate(value, place, Padding::Any));
}

AttentionSharing::OwnedOperand AttentionSharing::ownedOperand(Value value, double scale) {
  Value tile = load(value, owned);
  if (scale != 1)
    tile = mul(tile, scale);
  return [tile] { return tile; };
}

Value AttentionSharing::loadVisited(Value value, const AttentionStep &at) { return loadVisitedTile(value, at); }

Value AttentionSharing::loadVisitedTile(Value value, const AttentionStep &at) {
  if (!at.rows)
    return load(value, at.visited);
  RankedTensorType type =
      emitter.tileType(visitedAtOnce(), width, cast<RankedTensorType>(value.getType()).getElementType());
  return asLoaded(tile::GatherOp::create(b, type, emitter.memoryOf(value), at.rows, at.visited.column, Value()));
}

Value AttentionSharing::scaleRows(Value sums, Value factors) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(sums.getType()).getShape();
  return arith::MulFOp::create(b, sums, emitter.broadcast(factors, shape[0], shape[1]));
}

Value AttentionSharing::mul(Value x, double factor) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  return arith::MulFOp::create(b, x, emitter.constant(shape[0], shape[1], factor));
}

//===-- Ways through shared memory ------------------------------------------------------------------------------===//

void SharedMemorySharing::beginStep() {
  visitedShared.clear();
  isFirstOfStep = true;
}

Value SharedMemorySharing::loadVisited(Value value, const AttentionStep &at) {
  Value &shared = visitedShared[value];
  if (!shared)
    shared = share(loadVisitedTile(value, at));
  return shared;
}

Value SharedMemorySharing::share(Value tile) {
  Value shared = emitter.sharedTile(cast<RankedTensorType>(tile.getType()));
  put(tile, shared);
  return shared;
}

void SharedMemorySharing::put(Value tile, Value shared) {
  Value zero = emitter.index(0);
  if (isFirstOfStep)
    tile::WaitOp::create(b, 0);
  isFirstOfStep = false;
  isPending = true;
  tile::StoreOp::create(b, tile, shared, zero, zero);
}

void SharedMemorySharing::meet() {
  if (isPending)
    tile::WaitOp::create(b, 0);
  isPending = false;
}
