// mbarriers.
#include "test/cuda/emulator/Translate.h"

namespace heddle::emulator {

void Translator::addMbarriers(std::map<std::string, Entry> &table) {
  table.insert({{"mbarrier",
                 {&Translator::mbarrier,
                  "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count parity "
                  "noComplete relaxed acquire release cta cluster shared shared::cta shared::cluster"}}});
}

void Translator::requireTarget(unsigned target) {
  if (layout.ptx->target < target)
    fail("this instruction needs .target sm_" + std::to_string(target) + ", not " + layout.ptx->targetName + ",");
}

// Returns the address of an operand in shared memory. Without a state space, the operand is generic.
Translator::Value *Translator::sharedAddress(size_t i, bool shared, bool cluster) {
  Space space = Space::Shared;
  Value *value = address(operand(i), space);
  if (!shared && !cluster)
    value = builder.CreateSub(value, builder.getInt64(Block::sharedWindow()));
  return value;
}

void Translator::mbarrier() {
  static const std::map<std::string, MbarrierOp> operations = {
      {"init", MbarrierOp::Init},          {"inval", MbarrierOp::Invalidate}, {"arrive", MbarrierOp::Arrive},
      {"arrive_drop", MbarrierOp::Arrive}, {"expect_tx", MbarrierOp::Expect}, {"complete_tx", MbarrierOp::Complete},
      {"test_wait", MbarrierOp::Test},     {"try_wait", MbarrierOp::Test}};
  const std::string &name = at->opcode.at(1);
  if (name == "pending_count") {
    Value *count = builder.CreateAnd(read(operand(1), 64), builder.getInt64(Mbarrier::kMost));
    return write(operand(0), builder.CreateTrunc(count, builder.getInt32Ty()));
  }
  auto found = operations.find(name);
  if (found == operations.end() || lastType().bits != 64)
    fail("this form of mbarrier is not known");
  Site *site = newSite();
  site->mbarrier = found->second;
  site->relaxed = at->has("relaxed");
  site->expects = site->mbarrier == MbarrierOp::Arrive && at->has("expect_tx");
  site->drops = name == "arrive_drop";
  site->noComplete = at->has("noComplete");
  site->parity = at->has("parity");
  site->suspends = name == "try_wait";
  if (site->suspends || site->expects || name == "expect_tx" || name == "complete_tx" || at->has("cluster"))
    requireTarget(90);

  // Arrivals and tests have a result before the address.
  bool results = site->mbarrier == MbarrierOp::Arrive || site->mbarrier == MbarrierOp::Test;
  size_t first = results ? 1 : 0;
  if (results && operand(0).kind == Operand::Address)
    fail("the result is missing");
  bool remote = at->has("shared::cluster");
  if (remote && (site->mbarrier == MbarrierOp::Test || (results && operand(0).name != "_")))
    fail("an mbarrier of another block has no result");
  Value *where = sharedAddress(first, at->has("shared") || at->has("shared::cta"), remote);
  Value *argument = builder.getInt64(site->mbarrier == MbarrierOp::Arrive ? 1 : 0);
  if (at->operands.size() > first + 1)
    argument = builder.CreateZExt(
        read(operand(first + 1), site->mbarrier == MbarrierOp::Test && !site->parity ? 64 : 32), builder.getInt64Ty());
  else if (site->mbarrier != MbarrierOp::Invalidate && (site->mbarrier != MbarrierOp::Arrive || site->expects))
    fail("an operand is missing");
  Value *result = call("heddle_mbarrier", builder.getInt64Ty(), {thread, constantPointer(site), where, argument});
  if (site->mbarrier == MbarrierOp::Test)
    result = builder.CreateTrunc(result, builder.getInt1Ty());
  if (results)
    write(operand(0), result);
}

} // namespace heddle::emulator
