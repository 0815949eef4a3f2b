// Clusters: their barrier, and addresses of other blocks' shared memory. Grids that depend on each other.
#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Translate.h"

namespace heddle::emulator {

void Translator::addClusters(std::map<std::string, Entry> &table) {
  table.insert({
      {"griddepcontrol", {&Translator::gridDependency, "launch_dependents wait"}},
      {"mapa", {&Translator::mapToBlock, "shared::cluster"}},
      {"getctarank", {&Translator::rankOfAddress, "shared::cluster"}},
  });
}

// barrier.cluster.arrive{.release, .relaxed}{.aligned} and
// barrier.cluster.wait{.acquire}{.aligned}
void Translator::clusterBarrier() {
  requireTarget(90);
  bool waits = at->has("wait");
  if (waits == at->has("arrive") || !at->operands.empty())
    fail("this form of the cluster's barrier is not known");
  Site *site = newSite();
  site->relaxed = at->has("relaxed");
  call("heddle_cluster_barrier", builder.getVoidTy(), {thread, constantPointer(site), builder.getInt32(waits)});
}

// Kernels run one after the other, so launch_dependents has no effect. The wait ends the checks of early accesses.
void Translator::gridDependency() {
  requireTarget(90);
  if (at->has("wait"))
    call("heddle_wait_for_grid", builder.getVoidTy(), {thread});
}

// mapa{.shared::cluster}.type d, a, rank: the address of `a` in another block. Without a state space, both are generic.
void Translator::mapToBlock() {
  requireTarget(90);
  bool generic = !at->has("shared::cluster");
  Value *address = read(operand(1), 64), *window = builder.getInt64(Block::sharedWindow());
  if (generic)
    address = builder.CreateSub(address, window);
  Value *offset = builder.CreateAnd(address, (uint64_t(1) << Cluster::kRankShift) - 1);
  Value *rank = builder.CreateZExt(read(operand(2), 32), builder.getInt64Ty());
  Value *upper = builder.CreateShl(builder.CreateAdd(rank, builder.getInt64(1)), Cluster::kRankShift);
  Value *mapped = builder.CreateOr(offset, upper);
  write(operand(0), generic ? builder.CreateAdd(mapped, window) : mapped);
}

void Translator::rankOfAddress() {
  requireTarget(90);
  Value *address = read(operand(1), 64);
  if (!at->has("shared::cluster"))
    address = builder.CreateSub(address, builder.getInt64(Block::sharedWindow()));
  Value *upper = builder.CreateLShr(address, Cluster::kRankShift);
  Value *own = builder.CreateZExt(threadField(offsetof(Thread, clusterRank), builder.getInt32Ty()), upper->getType());
  Value *rank = builder.CreateSelect(builder.CreateIsNull(upper), own, builder.CreateSub(upper, builder.getInt64(1)));
  write(operand(0), builder.CreateTrunc(rank, builder.getInt32Ty()));
}

} // namespace heddle::emulator
