// The functions that translated code calls.
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Numbers.h"
#include "test/cuda/emulator/Translate.h"

#include <algorithm>
#include <cfenv>
#include <chrono>

namespace heddle::emulator {
namespace {

// Memory.

void badGlobal(Thread *thread, const Site *site, uint64_t address, uint32_t size, uint32_t access) {
  Memory &memory = Memory::get();
  bool inside = address - memory.base() < Memory::kSize;
  thread->block->failAccess(thread, site, static_cast<Access>(access), "global", address, size, size,
                            inside ? memory.shadowOf(address) : nullptr);
}

void badShared(Thread *thread, const Site *site, uint64_t address, uint32_t size, uint32_t access) {
  thread->block->failAccess(thread, site, static_cast<Access>(access), "shared", address, size, size,
                            address < Block::kSharedLimit ? thread->sharedShadow + address : nullptr);
}

void badLocal(Thread *thread, const Site *site, uint64_t address, uint32_t size, uint32_t access) {
  thread->block->failAccess(thread, site, static_cast<Access>(access), "local", address, size, size, nullptr);
}

uint8_t *generic(Thread *thread, const Site *site, uint64_t address, uint32_t size, uint32_t access) {
  return thread->block->genericAccess(thread, site, address, size, static_cast<Access>(access));
}

uint8_t *clusterAccess(Thread *thread, const Site *site, uint64_t address, uint32_t size, uint32_t access) {
  return thread->block->clusterAccess(thread, site, address, size, static_cast<Access>(access));
}

void clusterBarrier(Thread *thread, const Site *site, uint32_t waits) {
  thread->block->clusterBarrier(thread, site, waits != 0);
}

uint32_t isSpace(Thread *thread, uint64_t address, uint32_t space) {
  bool shared = address - Block::sharedWindow() < Block::kSharedLimit;
  bool cluster = address - Block::sharedWindow() < Block::kWindowBytes;
  bool local = address >= thread->localBase && address < thread->localEnd;
  switch (static_cast<Space>(space)) {
  case Space::Shared:
    return shared;
  case Space::Cluster:
    return cluster;
  case Space::Local:
    return local;
  case Space::Global:
    return address - Memory::get().base() < Memory::kSize;
  default:
    return 0;
  }
}

void race(Thread *thread, const Site *site, uint32_t offset, uint32_t size, uint32_t access) {
  thread->block->raceCheck(thread, site, offset, size, static_cast<Access>(access));
}

void noteWrite(Thread *thread, const Site *site, uint32_t offset, uint32_t size) {
  thread->block->noteWrite(thread, site, offset, size);
}

void fenceProxy(Thread *thread) {
  ++thread->proxyFences;
  ++thread->asyncFences;
}
void fenceMbarriers(Thread *thread) { ++thread->asyncFences; }

void localOverflow(Thread *thread, const Site *site) {
  thread->block->fail(thread, site, kErrorLaunchOutOfResources, "the thread's local memory is used up");
}

void copy(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint32_t sourceBytes) {
  thread->block->startCopy(thread, site, to, from, bytes, sourceBytes);
}

void copyCommit(Thread *thread) {
  size_t grouped = 0;
  for (size_t group : thread->groups)
    grouped += group;
  thread->groups.push_back(thread->copies.size() - grouped);
}

void copyWait(Thread *thread, uint32_t groupsLeft) { thread->block->finishCopies(thread, groupsLeft); }

void bulkLoad(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint64_t mbarrier,
              uint32_t ranks) {
  thread->block->startLoad(thread, site, to, from, bytes, mbarrier, ranks);
}
void bulkStore(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes) {
  thread->block->startStore(thread, site, to, from, bytes);
}
void bulkCommit(Thread *thread) { thread->block->commitStores(thread); }
void bulkWait(Thread *thread, uint32_t groupsLeft, uint32_t readOnly) {
  thread->block->waitForStores(thread, groupsLeft, readOnly != 0);
}

// Threads.

void trap(Thread *thread, const Site *site) { thread->block->fail(thread, site, kErrorLaunchFailed, "trap"); }
void exitThread(Thread *thread) { thread->block->exitThread(thread); }
void yield(Thread *thread) { thread->block->yield(thread); }
void collective(Thread *thread, const Site *site) { thread->block->collective(thread, site); }
uint32_t activeMask(Thread *thread, const Site *site) { return thread->block->activeMask(thread, site); }

uint32_t barrier(Thread *thread, const Site *site, uint32_t id, uint32_t count, uint32_t kind, uint32_t value) {
  return thread->block->barrier(thread, site, id, count, static_cast<Block::BarrierKind>(kind), value != 0);
}

uint64_t mbarrier(Thread *thread, const Site *site, uint64_t address, uint64_t argument) {
  return thread->block->mbarrier(thread, site, address, argument);
}

void waitForGrid(Thread *thread) { thread->block->waitForGrid(thread); }
void setRegisters(Thread *thread, const Site *site) { thread->block->setRegisters(thread, site); }

uint64_t clock() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Numbers.

double rsqrtPrecise(double x) { return 1 / std::sqrt(x); }
// NVIDIA's instruction has an error of up to 2^-22 of the result. This one has a smaller error that depends on the
// argument's bits, so that nothing relies on exact powers. Powers of 0 and of infinities are exact.
double exp2Approximate(double x) {
  double power = std::exp2(x);
  if (x == 0 || std::isinf(x) || std::isnan(x))
    return power;
  uint64_t hash = std::bit_cast<uint64_t>(x) * 0x9e3779b97f4a7c15;
  double part = static_cast<double>(static_cast<int64_t>(hash)) * 0x1p-63; // in [-1, 1)
  return power * (1 + part * 0x1p-23);
}
double log2Precise(double x) { return std::log2(x); }
double sinPrecise(double x) { return std::sin(x); }
double cosPrecise(double x) { return std::cos(x); }
double tanhPrecise(double x) { return std::tanh(x); }
uint16_t toHalfZero(double x) { return static_cast<uint16_t>(roundTo(x, 5, 10, true)); }
uint16_t toBFloatZero(double x) { return static_cast<uint16_t>(roundTo(x, 8, 7, true)); }

// Computes in another rounding mode of the host. Volatile operands keep the operation between the two mode switches.
template <typename T, typename F> T inMode(uint32_t mode, F compute) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int before = std::fegetround();
  std::fesetround(modes[mode]);
  volatile T result = compute();
  std::fesetround(before);
  return result;
}

template <typename T> T addIn(T a, T b, T, uint32_t mode) {
  volatile T x = a, y = b;
  return inMode<T>(mode, [&]() -> T { return x + y; });
}
template <typename T> T subIn(T a, T b, T, uint32_t mode) {
  volatile T x = a, y = b;
  return inMode<T>(mode, [&]() -> T { return x - y; });
}
template <typename T> T mulIn(T a, T b, T, uint32_t mode) {
  volatile T x = a, y = b;
  return inMode<T>(mode, [&]() -> T { return x * y; });
}
template <typename T> T divIn(T a, T b, T, uint32_t mode) {
  volatile T x = a, y = b;
  return inMode<T>(mode, [&]() -> T { return x / y; });
}
template <typename T> T fmaIn(T a, T b, T c, uint32_t mode) {
  volatile T x = a, y = b, z = c;
  return inMode<T>(mode, [&]() -> T { return std::fma(T(x), T(y), T(z)); });
}
template <typename T> T sqrtIn(T a, T, T, uint32_t mode) {
  volatile T x = a;
  return inMode<T>(mode, [&]() -> T { return std::sqrt(T(x)); });
}
float narrowIn(double a, uint32_t mode) {
  volatile double x = a;
  return inMode<float>(mode, [&]() -> float { return static_cast<float>(x); });
}
template <typename To, typename From> To fromIn(From a, uint32_t mode) {
  volatile From x = a;
  return inMode<To>(mode, [&]() -> To { return static_cast<To>(x); });
}

uint64_t bfe(uint64_t value, uint32_t position, uint32_t length, uint32_t bits, uint32_t isSigned) {
  uint32_t from = position & 255, count = length & 255;
  uint32_t highest = from + count > bits ? bits - 1 : from + count - 1;
  bool sign = isSigned && count && (value >> (highest > bits - 1 ? bits - 1 : highest) & 1);
  uint64_t result = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    bool bit = i < count && from + i < bits ? value >> (from + i) & 1 : sign;
    result |= uint64_t(bit) << i;
  }
  return result;
}

uint64_t bfi(uint64_t field, uint64_t value, uint32_t position, uint32_t length, uint32_t bits) {
  uint32_t from = position & 255, count = length & 255;
  for (uint32_t i = 0; i < count && from + i < bits; ++i) {
    uint64_t bit = uint64_t(1) << (from + i);
    value = (field >> i & 1) ? value | bit : value & ~bit;
  }
  return value;
}

uint32_t prmt(uint32_t a, uint32_t b, uint32_t selection, uint32_t mode) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t first = selection & 3, select = selection >> (4 * i) & 15;
    switch (mode) {
    case 1:
      select = first + i;
      break;
    case 2:
      select = (first + 8 - i) & 7;
      break;
    case 3:
      select = first;
      break;
    case 4:
      select = std::max(first, i);
      break;
    case 5:
      select = std::min(first, i);
      break;
    case 6:
      select = (first & 1) * 2 + (i & 1);
      break;
    default:
      break;
    }
    uint32_t byte = both >> (8 * (select & 7)) & 255;
    if (select & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <typename Word> Word atomicAdd(Word *at, Word value, uint16_t (*to)(double), float (*from)(uint16_t)) {
  Word old = __atomic_load_n(at, __ATOMIC_SEQ_CST), sum;
  do {
    sum = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(Word); shift += 16) {
      auto a = static_cast<uint16_t>(old >> shift), b = static_cast<uint16_t>(value >> shift);
      sum = static_cast<Word>(sum | Word(to(double(from(a)) + from(b))) << shift);
    }
  } while (!__atomic_compare_exchange_n(at, &old, sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}
uint16_t atomicAddHalf(uint16_t *at, uint16_t value) { return atomicAdd(at, value, toHalf, fromHalf); }
uint32_t atomicAddHalf2(uint32_t *at, uint32_t value) { return atomicAdd(at, value, toHalf, fromHalf); }
uint16_t atomicAddBFloat(uint16_t *at, uint16_t value) { return atomicAdd(at, value, toBFloat, fromBFloat); }
uint32_t atomicAddBFloat2(uint32_t *at, uint32_t value) { return atomicAdd(at, value, toBFloat, fromBFloat); }

template <typename F> void *pointer(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

const std::map<std::string, void *> &supportFunctions() {
  static const std::map<std::string, void *> functions = {
      {"heddle_bad_global", pointer(badGlobal)},
      {"heddle_bad_shared", pointer(badShared)},
      {"heddle_bad_local", pointer(badLocal)},
      {"heddle_generic", pointer(generic)},
      {"heddle_cluster_access", pointer(clusterAccess)},
      {"heddle_cluster_barrier", pointer(clusterBarrier)},
      {"heddle_is_space", pointer(isSpace)},
      {"heddle_race", pointer(race)},
      {"heddle_note_write", pointer(noteWrite)},
      {"heddle_fence_proxy", pointer(fenceProxy)},
      {"heddle_fence_mbarriers", pointer(fenceMbarriers)},
      {"heddle_bulk_load", pointer(bulkLoad)},
      {"heddle_bulk_store", pointer(bulkStore)},
      {"heddle_bulk_commit", pointer(bulkCommit)},
      {"heddle_bulk_wait", pointer(bulkWait)},
      {"heddle_local_overflow", pointer(localOverflow)},
      {"heddle_copy", pointer(copy)},
      {"heddle_copy_commit", pointer(copyCommit)},
      {"heddle_copy_wait", pointer(copyWait)},
      {"heddle_trap", pointer(trap)},
      {"heddle_exit", pointer(exitThread)},
      {"heddle_yield", pointer(yield)},
      {"heddle_collective", pointer(collective)},
      {"heddle_active_mask", pointer(activeMask)},
      {"heddle_barrier", pointer(barrier)},
      {"heddle_wait_for_grid", pointer(waitForGrid)},
      {"heddle_set_registers", pointer(setRegisters)},
      {"heddle_mbarrier", pointer(mbarrier)},
      {"heddle_clock", pointer(clock)},
      {"heddle_rsqrt", pointer(rsqrtPrecise)},
      {"heddle_ex2", pointer(exp2Approximate)},
      {"heddle_lg2", pointer(log2Precise)},
      {"heddle_sin", pointer(sinPrecise)},
      {"heddle_cos", pointer(cosPrecise)},
      {"heddle_tanh", pointer(tanhPrecise)},
      {"heddle_to_half", pointer(toHalf)},
      {"heddle_to_bfloat", pointer(toBFloat)},
      {"heddle_to_half_rz", pointer(toHalfZero)},
      {"heddle_to_bfloat_rz", pointer(toBFloatZero)},
      {"heddle_add_f32", pointer(addIn<float>)},
      {"heddle_add_f64", pointer(addIn<double>)},
      {"heddle_sub_f32", pointer(subIn<float>)},
      {"heddle_sub_f64", pointer(subIn<double>)},
      {"heddle_mul_f32", pointer(mulIn<float>)},
      {"heddle_mul_f64", pointer(mulIn<double>)},
      {"heddle_div_f32", pointer(divIn<float>)},
      {"heddle_div_f64", pointer(divIn<double>)},
      {"heddle_fma_f32", pointer(fmaIn<float>)},
      {"heddle_fma_f64", pointer(fmaIn<double>)},
      {"heddle_sqrt_f32", pointer(sqrtIn<float>)},
      {"heddle_sqrt_f64", pointer(sqrtIn<double>)},
      {"heddle_narrow", pointer(narrowIn)},
      {"heddle_from_signed_f32", pointer(fromIn<float, int64_t>)},
      {"heddle_from_signed_f64", pointer(fromIn<double, int64_t>)},
      {"heddle_from_unsigned_f32", pointer(fromIn<float, uint64_t>)},
      {"heddle_from_unsigned_f64", pointer(fromIn<double, uint64_t>)},
      {"heddle_bfe", pointer(bfe)},
      {"heddle_bfi", pointer(bfi)},
      {"heddle_prmt", pointer(prmt)},
      {"heddle_atomic_add_f16", pointer(atomicAddHalf)},
      {"heddle_atomic_add_f16x2", pointer(atomicAddHalf2)},
      {"heddle_atomic_add_bf16", pointer(atomicAddBFloat)},
      {"heddle_atomic_add_bf16x2", pointer(atomicAddBFloat2)},
  };
  return functions;
}

} // namespace heddle::emulator
