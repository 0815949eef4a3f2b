#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Translate.h"

#include <algorithm>
#include <cstddef>
#include <llvm/IR/Intrinsics.h>

namespace heddle::emulator {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;

static const char *const kLevels =
    "weak relaxed acquire release acq_rel volatile mmio cta cluster gpu sys global shared shared::cta shared::cluster "
    "local const param param::entry param::func v2 v4 v8 nc ca cg cs lu cv wb wt L1::evict_normal L1::evict_unchanged "
    "L1::evict_first L1::evict_last L1::no_allocate L2::64B L2::128B L2::256B L2::cache_hint unified";

void Translator::addMemory(std::map<std::string, Entry> &table) {
  static const std::string atomics = std::string(kLevels) + " add min max inc dec and or xor exch cas noftz rn";
  table.insert({
      {"ld", {&Translator::load, kLevels}},
      {"ldu", {&Translator::load, kLevels}},
      {"st", {&Translator::store, kLevels}},
      {"atom", {&Translator::atomic, atomics.c_str()}},
      {"red", {&Translator::atomic, atomics.c_str()}},
      {"cp",
       {&Translator::copyAsync,
        "async ca cg shared shared::cta global commit_group wait_group wait_all L2::64B L2::128B L2::256B bulk tensor "
        "tile 1d 2d 3d 4d 5d shared::cluster mbarrier::complete_tx::bytes L2::cache_hint multicast::cluster bulk_group "
        "read prefetch L2"}},
      {"membar", {&Translator::fence, "cta gl gpu sys proxy"}},
      {"fence",
       {&Translator::fence,
        "sc acq_rel acquire release cta cluster gpu sys proxy async alias global shared::cta shared::cluster "
        "mbarrier_init"}},
      {"nanosleep", {&Translator::yieldThread, ""}},
      {"prefetch", {&Translator::nothing, "global local param const tensormap L1 L2 L2::evict_last L2::evict_normal"}},
      {"prefetchu", {&Translator::nothing, "L1"}},
      {"discard", {&Translator::nothing, "global L2"}},
      {"applypriority", {&Translator::nothing, "global L2::evict_normal"}},
  });
}

Space Translator::space() const {
  static const std::map<std::string, Space> spaces = {{"global", Space::Global},
                                                      {"const", Space::Const},
                                                      {"shared", Space::Shared},
                                                      {"shared::cta", Space::Shared},
                                                      {"shared::cluster", Space::Cluster},
                                                      {"local", Space::Local},
                                                      {"param", Space::Param},
                                                      {"param::entry", Space::Param},
                                                      {"param::func", Space::Param}};
  for (size_t i = 1; i < at->opcode.size(); ++i)
    if (auto found = spaces.find(at->opcode[i]); found != spaces.end())
      return found->second;
  return Space::Generic;
}

// Returns the 64-bit address within `space`. If the instruction is generic, a named variable determines the space.
Translator::Value *Translator::address(const Operand &operand, Space &space) {
  if (operand.kind != Operand::Address)
    fail("an address is needed");
  Value *base = builder.getInt64(0);
  if (!operand.name.empty()) {
    Operand name;
    name.name = operand.name;
    base = read(name, 64);
  }
  return operand.value ? builder.CreateAdd(base, builder.getInt64(operand.value)) : base;
}

// Returns a pointer to a named parameter: the function has its own copy, at a known offset.
Translator::Value *Translator::paramPointer(const Operand &operand, unsigned bytes) {
  unsigned scope = 0;
  const Variable *found = operand.name.empty() || registerType(operand.name) ? nullptr : variable(operand.name, scope);
  if (!found || found->space != Space::Param)
    return nullptr;
  if (operand.value > found->size || bytes > found->size - operand.value)
    fail("the access lies outside of " + operand.name);
  return builder.CreateConstGEP1_64(builder.getInt8Ty(), paramSlots.at({scope, operand.name}), operand.value);
}

// Checks an access and returns the host pointer for it. Good accesses stay inline; the reporting function finds out
// what is wrong with a bad one.
Translator::Value *Translator::access(Space space, Value *address, unsigned bytes, Access kind) {
  Value *site = constantPointer(newSite());
  Value *size = builder.getInt32(bytes), *access = builder.getInt32(static_cast<uint32_t>(kind));
  llvm::Type *pointer = builder.getPtrTy(), *i8 = builder.getInt8Ty();
  if (space == Space::Generic || space == Space::Param)
    return call("heddle_generic", pointer, {thread, site, address, size, access});
  if (space == Space::Cluster)
    return call("heddle_cluster_access", pointer, {thread, site, address, size, access});
  Value *aligned = builder.CreateIsNull(builder.CreateAnd(address, bytes - 1));
  if (space == Space::Local) {
    Value *base = threadField(offsetof(Thread, localBase), builder.getInt64Ty());
    Value *top = threadField(offsetof(Thread, localTop), builder.getInt64Ty(), false);
    Value *offset = builder.CreateSub(address, base), *extent = builder.CreateSub(top, base);
    Value *inside =
        builder.CreateAnd(builder.CreateICmpULT(offset, extent),
                          builder.CreateICmpULE(builder.CreateAdd(offset, builder.getInt64(bytes)), extent));
    branchToBad(builder.CreateAnd(inside, aligned),
                [&] { call("heddle_bad_local", builder.getVoidTy(), {thread, site, address, size, access}); });
    return builder.CreateIntToPtr(address, pointer);
  }

  bool shared = space == Space::Shared;
  uint64_t limit = shared ? Block::kSharedLimit : Memory::kSize;
  Value *offset = shared ? address : builder.CreateSub(address, builder.getInt64(Memory::get().base()));
  // For an out-of-range address, reads the shadow of a byte that is never live.
  Value *dead = builder.getInt64(shared ? limit : 0);
  Value *within = builder.CreateSelect(builder.CreateICmpULT(offset, builder.getInt64(limit)), offset, dead);
  Value *shadowBase =
      shared ? threadField(offsetof(Thread, sharedShadow), pointer) : constantPointer(Memory::get().shadowBase());
  Value *shadow = builder.CreateGEP(i8, shadowBase, within);
  auto *integer = integerType(8 * bytes);
  auto repeated = [&](uint8_t byte) {
    return llvm::ConstantInt::get(integer, llvm::APInt::getSplat(8 * bytes, llvm::APInt(8, byte)));
  };
  Value *wanted = repeated(kind == Access::Write || !layout.initialised ? kLive : kReadable);
  Value *written = repeated(kReadable);
  auto declared = [&](size_t field) { // the bits in each byte
    return builder.CreateMul(builder.CreateZExt(threadField(field, i8, !layout.dependent), integer), repeated(1));
  };
  if (!shared && kind != Access::Write)
    wanted = builder.CreateOr(wanted, declared(offsetof(Thread, declaredRead)));
  if (!shared && kind != Access::Read)
    wanted = builder.CreateOr(wanted, declared(offsetof(Thread, declaredWrite)));
  if (!shared && kind == Access::Write)
    written = builder.CreateOr(written, declared(offsetof(Thread, declaredRead)));
  Value *have = builder.CreateAlignedLoad(integer, shadow, llvm::Align(1));
  Value *good = builder.CreateICmpEQ(builder.CreateAnd(have, wanted), wanted);
  branchToBad(builder.CreateAnd(good, aligned), [&] {
    call(shared ? "heddle_bad_shared" : "heddle_bad_global", builder.getVoidTy(),
         {thread, site, address, size, access});
  });
  if (kind == Access::Write)
    builder.CreateAlignedStore(builder.CreateOr(have, written), shadow, llvm::Align(1));
  if (!shared)
    return builder.CreateIntToPtr(address, pointer);
  if (layout.races)
    call("heddle_race", builder.getVoidTy(),
         {thread, site, builder.CreateTrunc(address, builder.getInt32Ty()), size, access});
  if (layout.async && kind != Access::Read)
    call("heddle_note_write", builder.getVoidTy(),
         {thread, site, builder.CreateTrunc(address, builder.getInt32Ty()), size});
  return builder.CreateGEP(i8, threadField(offsetof(Thread, shared), pointer), address);
}

static bool isOrdered(const Instruction &instruction) {
  for (const char *word : {"volatile", "relaxed", "acquire", "release", "mmio"})
    if (instruction.has(word))
      return true;
  return false;
}

static unsigned vectorLength(const Instruction &instruction) {
  return instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
}

void Translator::load() {
  Type type = lastType();
  unsigned count = vectorLength(*at), bytes = type.totalBits() / 8 * count;
  Space from = space();
  Value *pointer = from == Space::Param || from == Space::Generic ? paramPointer(operand(1), bytes) : nullptr;
  bool own = pointer != nullptr;
  if (!own)
    pointer = access(from, address(operand(1), from), bytes, Access::Read);
  bool ordered = isOrdered(*at) && !own;
  auto *integer = integerType(type.totalBits());
  std::vector<Value *> values;
  for (unsigned i = 0; i < count; ++i) {
    auto *load = builder.CreateAlignedLoad(integer, builder.CreateConstGEP1_64(integer, pointer, i),
                                           llvm::Align(own ? 1 : type.totalBits() / 8));
    if (ordered && type.totalBits() <= 64)
      load->setAtomic(AtomicOrdering::SequentiallyConsistent);
    values.push_back(load);
  }
  const Operand &to = operand(0);
  if (count == 1) {
    write(to, values[0], type.isSigned());
  } else {
    if (to.kind != Operand::Vector || to.items.size() != count)
      fail("a vector of " + std::to_string(count) + " registers is needed");
    for (unsigned i = 0; i < count; ++i)
      write(to.items[i], values[i], type.isSigned());
  }
  // A polling thread must let the others run.
  if (ordered)
    yieldThread();
}

void Translator::store() {
  Type type = lastType();
  unsigned count = vectorLength(*at), bytes = type.totalBits() / 8 * count;
  Space to = space();
  std::vector<Value *> values;
  const Operand &from = operand(1);
  if (count > 1 && (from.kind != Operand::Vector || from.items.size() != count))
    fail("a vector of " + std::to_string(count) + " registers is needed");
  for (unsigned i = 0; i < count; ++i)
    values.push_back(read(count == 1 ? from : from.items[i], type.totalBits()));
  if (to == Space::Const)
    fail("constants cannot be written");
  Value *pointer = to == Space::Param ? paramPointer(operand(0), bytes) : nullptr;
  bool own = pointer != nullptr;
  if (!own)
    pointer = access(to, address(operand(0), to), bytes, Access::Write);
  for (unsigned i = 0; i < count; ++i) {
    auto *store = builder.CreateAlignedStore(values[i], builder.CreateConstGEP1_64(values[i]->getType(), pointer, i),
                                             llvm::Align(own ? 1 : type.totalBits() / 8));
    if (isOrdered(*at) && !own && type.totalBits() <= 64)
      store->setAtomic(AtomicOrdering::SequentiallyConsistent);
  }
}

void Translator::atomic() {
  Type type = lastType();
  bool reduction = at->opcode[0] == "red";
  size_t first = reduction ? 0 : 1;
  if (vectorLength(*at) != 1)
    fail("vectors of atomics are not known");
  Space where = space();
  Value *pointer = access(where, address(operand(first), where), type.totalBits() / 8, Access::Atomic);
  Value *value = read(operand(first + 1), type.totalBits());
  static const char *operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
  std::string name;
  for (const char *operation : operations)
    if (at->has(operation))
      name = operation;
  auto align = llvm::MaybeAlign(type.totalBits() / 8);
  auto order = AtomicOrdering::SequentiallyConsistent;
  Value *old = nullptr;
  if (name == "cas") {
    Value *exchanged =
        builder.CreateAtomicCmpXchg(pointer, value, read(operand(first + 2), type.totalBits()), align, order, order);
    old = builder.CreateExtractValue(exchanged, 0);
  } else if (type.isFloat() && name != "exch") {
    if (name != "add")
      fail("this atomic is not known");
    if (type.bits == 16) {
      std::string function = std::string("heddle_atomic_add_") + (type.kind == Type::Float ? "f16" : "bf16") +
                             (type.packed == 2 ? "x2" : "");
      old = call(function.c_str(), integerType(type.totalBits()), {pointer, value});
    } else {
      llvm::Type *real = type.bits == 32 ? builder.getFloatTy() : builder.getDoubleTy();
      old = builder.CreateAtomicRMW(AtomicRMWInst::FAdd, pointer, builder.CreateBitCast(value, real), align, order);
      old = builder.CreateBitCast(old, value->getType());
    }
  } else {
    const std::map<std::string, AtomicRMWInst::BinOp> plain = {
        {"add", AtomicRMWInst::Add},
        {"and", AtomicRMWInst::And},
        {"or", AtomicRMWInst::Or},
        {"xor", AtomicRMWInst::Xor},
        {"exch", AtomicRMWInst::Xchg},
        {"inc", AtomicRMWInst::UIncWrap},
        {"dec", AtomicRMWInst::UDecWrap},
        {"min", type.isSigned() ? AtomicRMWInst::Min : AtomicRMWInst::UMin},
        {"max", type.isSigned() ? AtomicRMWInst::Max : AtomicRMWInst::UMax}};
    auto found = plain.find(name);
    AtomicRMWInst::BinOp operation = found == plain.end() ? AtomicRMWInst::BAD_BINOP : found->second;
    if (operation == AtomicRMWInst::BAD_BINOP)
      fail("the operation is missing");
    old = builder.CreateAtomicRMW(operation, pointer, value, align, order);
  }
  if (!reduction)
    write(operand(0), old, type.isSigned());
  if (name == "cas" || name == "exch")
    yieldThread();
}

// cp.async: addresses are checked now, but the bytes move at the wait, so that a missing wait shows.
void Translator::copyAsync() {
  if (at->has("bulk"))
    return copyBulk();
  if (at->has("commit_group")) {
    call("heddle_copy_commit", builder.getVoidTy(), {thread});
  } else if (at->has("wait_group")) {
    call("heddle_copy_wait", builder.getVoidTy(), {thread, read(operand(0), 32)});
  } else if (at->has("wait_all")) {
    call("heddle_copy_commit", builder.getVoidTy(), {thread});
    call("heddle_copy_wait", builder.getVoidTy(), {thread, builder.getInt32(0)});
  } else {
    if (!at->has("async") || !(at->has("ca") || at->has("cg")))
      fail("this copy is not known");
    if (operand(2).kind != Operand::Integer)
      fail("the size must be a constant");
    uint64_t bytes = operand(2).value;
    if (bytes != 16 && (at->has("cg") || (bytes != 4 && bytes != 8)))
      fail("a copy has 4, 8 or 16 bytes, and 16 only past the first cache");
    if (at->operands.size() > 4)
      fail("cache policies are not known");
    Space to = Space::Shared, from = Space::Global;
    Value *source = builder.getInt32(static_cast<uint32_t>(bytes));
    Value *target = address(operand(0), to), *origin = address(operand(1), from);
    // The fourth operand is a size, or a predicate that ignores the source.
    if (at->operands.size() == 4) {
      const Type *type = operand(3).kind == Operand::Name ? registerType(operand(3).name) : nullptr;
      source = type && type->kind == Type::Predicate
                   ? builder.CreateSelect(predicate(operand(3)), builder.getInt32(0), source)
                   : read(operand(3), 32);
    }
    call("heddle_copy", builder.getVoidTy(),
         {thread, constantPointer(newSite()), target, origin, builder.getInt32(static_cast<uint32_t>(bytes)), source});
  }
}

void Translator::fence() {
  builder.CreateFence(AtomicOrdering::SequentiallyConsistent);
  // Without a state space, the fence covers all spaces.
  if (layout.async && at->has("proxy") && at->has("async") && !at->has("global"))
    call("heddle_fence_proxy", builder.getVoidTy(), {thread});
  if (layout.async && at->has("mbarrier_init"))
    call("heddle_fence_mbarriers", builder.getVoidTy(), {thread});
}

void Translator::yieldThread() { call("heddle_yield", builder.getVoidTy(), {thread}); }

} // namespace heddle::emulator
