#include "test/cuda/emulator/Translate.h"

#include <cstddef>

namespace heddle::emulator {

void Translator::addCollectives(std::map<std::string, Entry> &table) {
  table.insert({
      {"bar", {&Translator::barrier, "sync warp cta arrive red popc and or all aligned"}},
      {"barrier",
       {&Translator::barrier, "sync cta arrive red popc and or all aligned cluster wait acquire release relaxed"}},
      {"shfl", {&Translator::shuffle, "sync up down bfly idx"}},
      {"vote", {&Translator::vote, "sync all any uni ballot"}},
      {"match", {&Translator::match, "sync any all"}},
      {"redux", {&Translator::reduceSync, "sync add min max and or xor"}},
      {"activemask", {&Translator::activeMask, ""}},
      {"elect", {&Translator::elect, "sync"}},
      {"ldmatrix", {&Translator::loadMatrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"}},
      {"stmatrix", {&Translator::storeMatrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"}},
      {"movmatrix", {&Translator::moveMatrix, "sync aligned m8n8 trans"}},
      {"mma", {&Translator::mma, "sync aligned m16n8k4 m16n8k8 m16n8k16 row col"}},
  });
}

void Translator::setSlot(unsigned index, Value *value) {
  builder.CreateStore(value,
                      builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, slots) + 4 * index));
}

Translator::Value *Translator::slotValue(unsigned index) {
  return threadField(offsetof(Thread, slots) + 4 * index, builder.getInt32Ty(), false);
}

Site *Translator::collectiveSite(Collective op) {
  Site *site = newSite();
  site->op = op;
  site->aligned = at->has("aligned");
  return site;
}

void Translator::callCollective(Site *site, Value *mask) {
  builder.CreateStore(mask, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, mask)));
  call("heddle_collective", builder.getVoidTy(), {thread, constantPointer(site)});
}

void Translator::barrier() {
  if (at->has("cluster"))
    return clusterBarrier();
  if (at->has("warp"))
    return callCollective(collectiveSite(Collective::Sync), read(operand(0), 32));
  Site *site = newSite();
  // `bar` means `barrier.aligned`.
  site->aligned = at->opcode[0] == "bar" || at->has("aligned");
  using Kind = Block::BarrierKind;
  Kind kind = at->has("arrive") ? Kind::Arrive
              : !at->has("red") ? Kind::Sync
              : at->has("popc") ? Kind::Popcount
              : at->has("and")  ? Kind::And
                                : Kind::Or;
  bool reduces = at->has("red");
  size_t first = reduces ? 1 : 0;
  size_t numbers = at->operands.size() - first - (reduces ? 1 : 0);
  if (at->operands.size() < first + reduces + 1 || numbers > 2)
    fail("a barrier needs its number");
  Value *id = read(operand(first), 32);
  Value *count = numbers == 2 ? read(operand(first + 1), 32) : builder.getInt32(0);
  Value *value =
      reduces ? builder.CreateZExt(predicate(at->operands.back()), builder.getInt32Ty()) : builder.getInt32(0);
  Value *result =
      call("heddle_barrier", builder.getInt32Ty(),
           {thread, constantPointer(site), id, count, builder.getInt32(static_cast<uint32_t>(kind)), value});
  if (reduces)
    write(operand(0), kind == Kind::Popcount ? result : builder.CreateTrunc(result, builder.getInt1Ty()));
}

// shfl.sync.mode.b32 d{|p}, a, b, c, mask
void Translator::shuffle() {
  Collective op = at->has("up")     ? Collective::ShuffleUp
                  : at->has("down") ? Collective::ShuffleDown
                  : at->has("bfly") ? Collective::ShuffleButterfly
                                    : Collective::ShuffleIndex;
  if (!at->has("sync"))
    fail("only .sync is known");
  for (unsigned i = 0; i < 3; ++i)
    setSlot(i, read(operand(1 + i), 32));
  callCollective(collectiveSite(op), read(operand(4), 32));
  writeName(operand(0).name, slotValue(0));
  if (!operand(0).second.empty())
    writeName(operand(0).second, builder.CreateTrunc(slotValue(1), builder.getInt1Ty()));
}

void Translator::vote() {
  if (!at->has("sync"))
    fail("only .sync is known");
  Collective op = at->has("all")   ? Collective::VoteAll
                  : at->has("any") ? Collective::VoteAny
                  : at->has("uni") ? Collective::VoteUniform
                                   : Collective::VoteBallot;
  setSlot(0, builder.CreateZExt(predicate(operand(1)), builder.getInt32Ty()));
  callCollective(collectiveSite(op), read(operand(2), 32));
  Value *result = slotValue(0);
  write(operand(0), op == Collective::VoteBallot ? result : builder.CreateTrunc(result, builder.getInt1Ty()));
}

void Translator::match() {
  Type type = lastType();
  Value *value = builder.CreateZExt(read(operand(1), type.bits), builder.getInt64Ty());
  setSlot(0, builder.CreateTrunc(value, builder.getInt32Ty()));
  setSlot(1, builder.CreateTrunc(builder.CreateLShr(value, 32), builder.getInt32Ty()));
  callCollective(collectiveSite(at->has("all") ? Collective::MatchAll : Collective::MatchAny), read(operand(2), 32));
  writeName(operand(0).name, slotValue(0));
  if (!operand(0).second.empty())
    writeName(operand(0).second, builder.CreateTrunc(slotValue(1), builder.getInt1Ty()));
}

void Translator::reduceSync() {
  Type type = lastType();
  if (type.isFloat())
    fail("real numbers are not known here");
  Collective op = at->has("add")   ? Collective::ReduceAdd
                  : at->has("min") ? Collective::ReduceMin
                  : at->has("max") ? Collective::ReduceMax
                  : at->has("and") ? Collective::ReduceAnd
                  : at->has("or")  ? Collective::ReduceOr
                                   : Collective::ReduceXor;
  setSlot(0, read(operand(1), 32));
  Site *site = collectiveSite(op);
  site->isSigned = type.isSigned();
  callCollective(site, read(operand(2), 32));
  write(operand(0), slotValue(0));
}

void Translator::activeMask() {
  write(operand(0), call("heddle_active_mask", builder.getInt32Ty(), {thread, constantPointer(newSite())}));
}

void Translator::elect() {
  callCollective(collectiveSite(Collective::Elect), read(operand(1), 32));
  writeName(operand(0).name, slotValue(0));
  if (!operand(0).second.empty())
    writeName(operand(0).second, builder.CreateTrunc(slotValue(1), builder.getInt1Ty()));
}

static uint8_t matrixCount(const Instruction &instruction) {
  return instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : 1;
}

void Translator::loadMatrix() {
  Site *site = collectiveSite(Collective::LoadMatrix);
  site->aligned = true;
  site->count = matrixCount(*at);
  site->transposed = at->has("trans");
  Space from = space();
  site->generic = from != Space::Shared;
  Value *where = address(operand(1), from);
  setSlot(0, builder.CreateTrunc(where, builder.getInt32Ty()));
  setSlot(1, builder.CreateTrunc(builder.CreateLShr(where, 32), builder.getInt32Ty()));
  callCollective(site, builder.getInt32(~0u));
  if (operand(0).kind != Operand::Vector || operand(0).items.size() != site->count)
    fail("a vector of " + std::to_string(site->count) + " registers is needed");
  for (unsigned i = 0; i < site->count; ++i)
    write(operand(0).items[i], slotValue(i));
}

void Translator::storeMatrix() {
  Site *site = collectiveSite(Collective::StoreMatrix);
  site->aligned = true;
  site->count = matrixCount(*at);
  site->transposed = at->has("trans");
  Space to = space();
  site->generic = to != Space::Shared;
  Value *where = address(operand(0), to);
  setSlot(0, builder.CreateTrunc(where, builder.getInt32Ty()));
  setSlot(1, builder.CreateTrunc(builder.CreateLShr(where, 32), builder.getInt32Ty()));
  if (operand(1).kind != Operand::Vector || operand(1).items.size() != site->count)
    fail("a vector of " + std::to_string(site->count) + " registers is needed");
  for (unsigned i = 0; i < site->count; ++i)
    setSlot(2 + i, read(operand(1).items[i], 32));
  callCollective(site, builder.getInt32(~0u));
}

void Translator::moveMatrix() {
  Site *site = collectiveSite(Collective::MoveMatrix);
  site->aligned = true;
  setSlot(0, read(operand(1), 32));
  callCollective(site, builder.getInt32(~0u));
  write(operand(0), slotValue(0));
}

// mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c
void Translator::mma() {
  Site *site = collectiveSite(Collective::Multiply);
  std::vector<Type> all = types();
  auto same = [](const Type &a, const Type &b) { return a.kind == b.kind && a.bits == b.bits; };
  if (all.size() != 4 || !same(all[1], all[2]) || !same(all[0], all[3]) || !at->has("row") || !at->has("col"))
    fail("this form of mma is not known");
  site->aligned = true;
  site->depth = at->has("m16n8k16") ? 16 : at->has("m16n8k8") ? 8 : 4;
  site->type = all[1].kind == Type::BFloat        ? MmaType::BF16
               : all[1].kind == Type::TensorFloat ? MmaType::TF32
                                                  : MmaType::F16;
  bool tensor = site->type == MmaType::TF32;
  site->halfSums = all[0].bits == 16;
  if (all[0].kind != Type::Float || (all[1].kind == Type::Float && all[1].bits != 16) ||
      (tensor ? site->depth == 16 : site->depth == 4) || (site->halfSums && site->type != MmaType::F16))
    fail("this form of mma is not known");
  unsigned a = site->depth / (tensor ? 2 : 4), b = a / 2, c = site->halfSums ? 2 : 4;
  const unsigned sizes[] = {c, a, b, c}, first[] = {0, 0, 4, 6};
  for (size_t i = 0; i < 4; ++i)
    if ((operand(i).kind == Operand::Vector ? operand(i).items.size() : 1) != sizes[i])
      fail("operand " + std::to_string(i + 1) + " needs " + std::to_string(sizes[i]) + " registers");
  auto item = [&](size_t i, unsigned k) -> const Operand & {
    return operand(i).kind == Operand::Vector ? operand(i).items[k] : operand(i);
  };
  for (size_t i = 1; i < 4; ++i)
    for (unsigned k = 0; k < sizes[i]; ++k)
      setSlot(first[i] + k, read(item(i, k), 32));
  callCollective(site, builder.getInt32(~0u));
  for (unsigned k = 0; k < c; ++k)
    write(item(0, k), slotValue(k));
}

} // namespace heddle::emulator
