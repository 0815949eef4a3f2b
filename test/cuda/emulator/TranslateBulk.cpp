// cp.async.bulk.
#include "test/cuda/emulator/Translate.h"

namespace heddle::emulator {

// cp.async.bulk{.tensor.1d to .5d}.to.from.completion, with or without .multicast::cluster and a cache policy.
void Translator::copyBulk() {
  requireTarget(90);
  llvm::Type *none = builder.getVoidTy();
  if (at->has("commit_group"))
    return void(call("heddle_bulk_commit", none, {thread}));
  if (at->has("wait_group")) {
    if (operand(0).kind != Operand::Integer)
      fail("the number of groups must be a constant");
    return void(call("heddle_bulk_wait", none, {thread, read(operand(0), 32), builder.getInt32(at->has("read"))}));
  }
  if (at->has("prefetch"))
    return;
  std::vector<Space> spaces;
  for (const std::string &word : at->opcode)
    if (word == "global")
      spaces.push_back(Space::Global);
    else if (word == "shared::cluster" || word == "shared::cta")
      spaces.push_back(Space::Shared);
  if (spaces.size() != 2 || spaces[0] == spaces[1])
    fail("this form of a bulk copy is not known");
  bool loads = spaces[0] == Space::Shared;
  if (!at->has(loads ? "mbarrier::complete_tx::bytes" : "bulk_group"))
    fail(loads ? "a copy to shared memory completes on an mbarrier" : "a copy to global memory completes in a group");

  Site *site = newSite();
  site->bulk = loads ? BulkKind::Load : BulkKind::Store;
  for (unsigned rank = 1; rank <= 5; ++rank)
    if (at->has(std::to_string(rank) + "d"))
      site->rank = static_cast<uint8_t>(rank);
  if (at->has("tensor") != (site->rank != 0))
    fail("the number of dimensions is missing");
  size_t global = loads ? 1 : 0, next = 2;
  Space shared = Space::Shared, globalSpace = Space::Global;
  Value *sharedAt = address(operand(1 - global), shared), *globalAt = address(operand(global), globalSpace);
  Value *bytes = builder.getInt32(0);
  const std::vector<Operand> &coordinates = operand(global).items;
  if (coordinates.size() != site->rank)
    fail(std::to_string(site->rank) + " coordinates are needed");
  for (unsigned i = 0; i < coordinates.size(); ++i)
    setSlot(i, read(coordinates[i], 32));
  if (!site->rank)
    bytes = read(operand(next++), 32);
  if (!loads)
    return void(call("heddle_bulk_store", none, {thread, constantPointer(site), globalAt, sharedAt, bytes}));
  Value *mbarrier = address(operand(next++), shared);
  site->multicast = at->has("multicast::cluster");
  Value *ranks =
      site->multicast ? builder.CreateZExt(read(operand(next), 16), builder.getInt32Ty()) : builder.getInt32(0);
  call("heddle_bulk_load", none, {thread, constantPointer(site), sharedAt, globalAt, bytes, mbarrier, ranks});
}

} // namespace heddle::emulator
