#include "test/cuda/emulator/Machine.h"

#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace heddle::emulator {
namespace {

// The hardware's limit per thread.
constexpr uint64_t kLocalBytes = 512 << 10;
constexpr uint32_t kMaxThreads = 1024;

uint8_t *map(uint64_t size, int protection) {
  void *at = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    std::perror("heddle emulator: mmap");
    std::abort();
  }
  return static_cast<uint8_t *>(at);
}

std::string triple(const uint32_t *values) {
  return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + ")";
}

} // namespace

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Block::Block(Cluster &cluster) : cluster(cluster) {
  shared = map(kSharedLimit + 64, PROT_READ | PROT_WRITE);
  sharedShadow = map(kSharedLimit + 64, PROT_READ | PROT_WRITE);
  local = map(kLocalBytes * kMaxThreads, PROT_READ | PROT_WRITE);
}

Block::~Block() {
  munmap(shared, kSharedLimit + 64);
  munmap(sharedShadow, kSharedLimit + 64);
  munmap(local, kLocalBytes * kMaxThreads);
}

uint64_t Block::sharedWindow() {
  static const uint64_t window = reinterpret_cast<uint64_t>(map(kWindowBytes, PROT_NONE));
  return window;
}

void Block::begin(const Launch &newLaunch, uint32_t newRank) {
  launch = &newLaunch;
  rank = newRank;
  threadCount = launch->block[0] * launch->block[1] * launch->block[2];
  uint32_t warpCount = (threadCount + 31) / 32;
  threads.resize(std::max<size_t>(threads.size(), threadCount));
  warps.assign(warpCount, {});
  for (uint32_t i = 0; i < threadCount; ++i) {
    Thread &thread = threads[i];
    thread.tid[0] = i % launch->block[0];
    thread.tid[1] = i / launch->block[0] % launch->block[1];
    thread.tid[2] = i / launch->block[0] / launch->block[1];
    std::copy_n(launch->block, 3, thread.ntid);
    std::copy_n(launch->grid, 3, thread.nctaid);
    std::copy_n(launch->cluster, 3, thread.clusterNctaid);
    for (unsigned k = 0; k < 3; ++k)
      thread.nclusterid[k] = launch->grid[k] / launch->cluster[k];
    thread.clusterRank = rank;
    thread.clusterSize = cluster.size();
    thread.lane = i % 32;
    thread.warpIndex = i / 32;
    thread.warpCount = warpCount;
    thread.sharedBytes = launch->sharedBytes;
    thread.dynamicBytes = launch->dynamicBytes;
    thread.shared = shared;
    thread.sharedShadow = sharedShadow;
    thread.params = launch->params;
    thread.localBase = reinterpret_cast<uint64_t>(local + kLocalBytes * i);
    thread.localEnd = thread.localBase + kLocalBytes;
    thread.block = this;
    thread.warp = &warps[i / 32];
    thread.index = i;
    thread.number = rank * threadCount + i;
    warps[i / 32].lanes[i % 32] = &thread;
  }
  std::memset(sharedShadow + launch->sharedBytes, 0, kSharedLimit - launch->sharedBytes);
}

void Block::reset(uint32_t x, uint32_t y, uint32_t z) {
  uint32_t id[3] = {x, y, z};
  for (uint32_t i = 0; i < threadCount; ++i) {
    Thread &thread = threads[i];
    std::copy_n(id, 3, thread.ctaid);
    for (unsigned k = 0; k < 3; ++k) {
      thread.clusterid[k] = id[k] / launch->cluster[k];
      thread.clusterCtaid[k] = id[k] % launch->cluster[k];
    }
    thread.clusterArrived = false;
    waitForGrid(&thread);
    if (launch->declared && launch->dependent) {
      thread.declaredRead |= kMayReadEarly;
      thread.declaredWrite |= kMayWriteEarly;
    }
    thread.localTop = thread.localBase;
    thread.finished = false;
    thread.wait = Wait::None;
    thread.fiber = nullptr;
    thread.copies.clear();
    thread.groups.clear();
    thread.proxyFences = thread.publishedFences = 0;
    thread.polls = thread.asyncFences = 0;
    thread.openStores.clear();
    thread.stores.clear();
  }
  for (uint32_t i = 0; i < warps.size(); ++i) {
    uint32_t lanes = std::min(32u, threadCount - i * 32);
    warps[i].alive = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps[i].registers = launch->registers;
  }
  for (Barrier &barrier : barriers)
    barrier = {};
  mbarriers.clear();
  freeRegisters = 0;
  registerWaiters.clear();
  std::memset(sharedShadow, kLive, launch->sharedBytes);
  if (launch->async)
    beginWarpgroups();
  started = ended = 0;
}

void Block::waitForGrid(Thread *thread) const {
  thread->declaredRead = launch->declared ? kMayRead : 0;
  thread->declaredWrite = launch->declared ? kMayWrite : 0;
}

void Block::endThread(Thread *thread) {
  finishCopies(thread, 0);
  endStores(thread);
  thread->finished = true;
  if (++ended == threadCount)
    endLoads(thread);
  cluster.endThread(thread);
  Warp &warp = *thread->warp;
  warp.alive &= ~(1u << thread->lane);
  if (launch->async && !warp.alive)
    endWarp(thread);
  // Threads that waited for this lane in vain may go on.
  for (uint32_t rest = warp.alive; rest; rest &= rest - 1) {
    Thread *other = warp.lanes[__builtin_ctz(rest)];
    if (other->wait == Wait::Warp && (other->mask >> thread->lane & 1) &&
        tryCollective(warp, other->mask, other->site, nullptr))
      break;
  }
}

void Block::exitThread(Thread *thread) {
  endThread(thread);
  cluster.abandon();
}

std::string Block::waitOf(const Thread &thread) const {
  if (thread.wait == Wait::Mbarrier)
    return "; " + nameOf(*thread.mbarrier) + " lacks " + lackOf(*thread.mbarrier) + "; it keeps " + lanesLike(thread) +
           " waiting";
  if (thread.wait == Wait::Registers)
    return "; " + std::to_string(freeRegisters) + " registers are free";
  return "";
}

void Block::fail(Thread *thread, const Site *site, int code, const std::string &what) {
  cluster.fault.code = code;
  cluster.fault.message = "kernel " + std::string(launch->name) + ", PTX line " + std::to_string(site->line) + " '" +
                          site->text + "', thread " + triple(thread->tid) + " of block " + triple(thread->ctaid) +
                          ": " + what;
  cluster.leave();
}

uint8_t Block::wantedOf(const Thread *thread, Access access) const {
  uint8_t wanted = access == Access::Write || !launch->initialised ? kLive : kReadable;
  if (access != Access::Write)
    wanted |= thread->declaredRead;
  if (access != Access::Read)
    wanted |= thread->declaredWrite;
  return wanted;
}

void Block::failAccess(Thread *thread, const Site *site, Access access, const char *space, uint64_t address,
                       uint64_t size, uint64_t alignment, const uint8_t *shadow) {
  std::string what = access == Access::Read ? "read" : access == Access::Write ? "write" : "atomic";
  what += " of " + std::to_string(size) + " bytes at " + space + " address " + hexadecimal(address);
  if (address % alignment)
    fail(thread, site, kErrorMisalignedAddress, what + ", which is misaligned");
  bool live = shadow != nullptr;
  for (uint64_t i = 0; live && i < size; ++i)
    live = shadow[i] & kLive;
  if (!live) {
    std::string why = shadow && std::strcmp(space, "shared") == 0 ? occupant(address, size) : "";
    fail(thread, site, kErrorIllegalAddress, what + ", which " + (why.empty() ? "is out of bounds" : why));
  }
  // Only global accesses are declared: shared memory belongs to its block.
  for (uint64_t i = 0; launch->declared && std::strcmp(space, "global") == 0 && i < size; ++i)
    if (uint8_t wanted = access == Access::Read    ? kMayRead
                         : access == Access::Write ? kMayWrite
                                                   : kMayRead | kMayWrite;
        (shadow[i] & wanted) != wanted)
      fail(thread, site, kErrorIllegalAddress, what + ", which the launch does not say that it does");
  uint8_t early = (access != Access::Write ? thread->declaredRead & kMayReadEarly : 0) |
                  (access != Access::Read ? thread->declaredWrite & kMayWriteEarly : 0);
  for (uint64_t i = 0; early && std::strcmp(space, "global") == 0 && i < size; ++i)
    if ((shadow[i] & early) != early)
      fail(thread, site, kErrorIllegalAddress,
           what + ", which the kernel before may still use: the thread has not passed griddepcontrol.wait");
  fail(thread, site, kErrorIllegalAddress, what + ", which nothing has written (uninitialised)");
}

// Collectives: the last lane to arrive computes the results of all lanes.

void Block::collective(Thread *thread, const Site *site) {
  Warp &warp = *thread->warp;
  if (!(thread->mask >> thread->lane & 1))
    fail(thread, site, kErrorLaunchFailed, "the lane is not in its own mask " + hexadecimal(thread->mask));
  thread->wait = Wait::Warp;
  thread->site = site;
  if (tryCollective(warp, thread->mask, site, thread))
    return;
  cluster.park(thread);
}

bool Block::tryCollective(Warp &warp, uint32_t mask, const Site *site, Thread *last) {
  Thread *lanes[32] = {};
  uint32_t needed = mask & warp.alive;
  for (uint32_t rest = needed; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
    Thread *other = warp.lanes[lane];
    if (other->wait != Wait::Warp)
      return false;
    bool same = other->mask == mask && (other->site == site || (!site->aligned && other->site->op == site->op));
    if (!same)
      fail(other, other->site, kErrorLaunchFailed,
           "lanes of the warp meet at different instructions or with different masks, here with " +
               hexadecimal(other->mask) + ", others with " + hexadecimal(mask) + " at PTX line " +
               std::to_string(site->line));
    lanes[lane] = other;
  }
  if (!needed)
    return false;
  if (site->aligned && needed != mask)
    fail(lanes[__builtin_ctz(needed)], site, kErrorLaunchFailed, "not every lane of the warp is there");
  // Among warp instructions only this one orders memory; shuffles and votes do not.
  if (launch->races && site->op == Collective::Sync) {
    std::vector<uint32_t> joined;
    for (Thread *lane : lanes)
      if (lane)
        cluster.races.arrive(lane->number, joined);
    for (Thread *lane : lanes)
      if (lane)
        cluster.races.leave(lane->number, joined);
  }
  if (site->op == Collective::Sync)
    for (Thread *lane : lanes)
      if (lane)
        lane->publishedFences = lane->proxyFences;
  computeCollective(*this, *site, lanes, needed);
  for (Thread *lane : lanes) {
    if (!lane)
      continue;
    lane->wait = Wait::None;
    if (lane != last)
      cluster.ready.push_back(lane);
  }
  return true;
}

uint32_t Block::activeMask(Thread *thread, const Site *site) {
  thread->wait = Wait::ActiveMask;
  thread->site = site;
  cluster.park(thread);
  return thread->mask;
}

// No thread can go on, so the lanes at the same activemask are as converged as they will ever be.
bool Block::releaseActiveMasks() {
  bool any = false;
  for (Warp &warp : warps) {
    const Site *site = nullptr;
    uint32_t mask = 0;
    for (uint32_t rest = warp.alive; rest; rest &= rest - 1) {
      uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
      Thread *thread = warp.lanes[lane];
      if (thread->wait != Wait::ActiveMask || (site && thread->site != site))
        continue;
      site = thread->site;
      mask |= 1u << lane;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      Thread *thread = warp.lanes[__builtin_ctz(rest)];
      thread->mask = mask;
      thread->wait = Wait::None;
      cluster.ready.push_back(thread);
      any = true;
    }
  }
  return any;
}

uint32_t Block::barrier(Thread *thread, const Site *site, uint32_t id, uint32_t count, BarrierKind kind, bool value) {
  if (id >= kBarriers)
    fail(thread, site, kErrorLaunchFailed, "there is no barrier " + std::to_string(id));
  if (count == 0)
    count = threadCount;
  else if (count % 32)
    fail(thread, site, kErrorLaunchFailed, "a barrier's count must be a multiple of 32, not " + std::to_string(count));
  Barrier &barrier = barriers[id];
  if (barrier.arrived && barrier.expected != count)
    fail(thread, site, kErrorLaunchFailed,
         "barrier " + std::to_string(id) + " is awaited for " + std::to_string(barrier.expected) + " and for " +
             std::to_string(count) + " threads");
  const Site *&warpSite = barrier.warpSites[thread->warpIndex];
  if (site->aligned && warpSite && warpSite != site)
    fail(thread, site, kErrorLaunchFailed,
         "barrier divergence: other lanes of the warp wait at PTX line " + std::to_string(warpSite->line));
  warpSite = site;
  barrier.expected = count;
  barrier.arrived += 1;
  barrier.popcount += value;
  thread->publishedFences = thread->proxyFences;
  if (launch->races)
    cluster.races.arrive(thread->number, barrier.joined);
  if (kind != BarrierKind::Arrive)
    barrier.waiting.push_back(thread);
  if (barrier.arrived < count) {
    if (kind == BarrierKind::Arrive)
      return 0;
    thread->wait = Wait::Barrier;
    thread->site = site;
    cluster.park(thread);
  } else {
    for (Thread *other : barrier.waiting) {
      other->wait = Wait::None;
      other->barrierResult = barrier.popcount;
      if (launch->races)
        cluster.races.leave(other->number, barrier.joined);
      if (other != thread)
        cluster.ready.push_back(other);
    }
    barrier = {};
  }
  switch (kind) {
  case BarrierKind::Popcount:
    return thread->barrierResult;
  case BarrierKind::And:
    return thread->barrierResult == count;
  case BarrierKind::Or:
    return thread->barrierResult != 0;
  default:
    return 0;
  }
}

// Memory.

uint8_t *Block::sharedAccess(Thread *thread, const Site *site, uint64_t offset, uint32_t size, Access access) {
  uint8_t wanted = access == Access::Write || !launch->initialised ? kLive : kReadable;
  bool inside = offset <= kSharedLimit - size;
  bool good = inside && offset % size == 0;
  for (uint32_t i = 0; good && i < size; ++i)
    good = (sharedShadow[offset + i] & wanted) == wanted;
  if (!good)
    failAccess(thread, site, access, "shared", offset, size, size, inside ? sharedShadow + offset : nullptr);
  if (access == Access::Write)
    std::memset(sharedShadow + offset, kReadable, size);
  if (launch->races)
    raceCheck(thread, site, static_cast<uint32_t>(offset), size, access);
  if (launch->async && access != Access::Read)
    noteWrite(thread, site, static_cast<uint32_t>(offset), size);
  return shared + offset;
}

uint8_t *Block::genericAccess(Thread *thread, const Site *site, uint64_t address, uint32_t size, Access access) {
  if (address - sharedWindow() < kWindowBytes)
    return clusterAccess(thread, site, address - sharedWindow(), size, access);
  auto *pointer = reinterpret_cast<uint8_t *>(address);
  auto params = reinterpret_cast<uint64_t>(launch->params);
  bool own = (address >= thread->localBase && address + size <= thread->localTop) ||
             (address >= params && address + size <= params + launch->paramBytes && access == Access::Read);
  if (own) {
    if (address % size)
      failAccess(thread, site, access, "local", address, size, size, nullptr);
    return pointer;
  }
  Memory &memory = Memory::get();
  bool inside = address - memory.base() < Memory::kSize;
  uint8_t *shadow = inside ? memory.shadowOf(address) : nullptr;
  uint8_t wanted = wantedOf(thread, access);
  bool good = inside && address % size == 0;
  for (uint32_t i = 0; good && i < size; ++i)
    good = (shadow[i] & wanted) == wanted;
  if (!good)
    failAccess(thread, site, access, "global", address, size, size, shadow);
  for (uint32_t i = 0; access == Access::Write && i < size; ++i)
    shadow[i] |= kReadable | thread->declaredRead;
  return pointer;
}

void Block::raceCheck(Thread *thread, const Site *site, uint32_t offset, uint32_t size, Access access,
                      const Mbarrier *by) {
  Races::Event copy{};
  if (by)
    copy = {by->actor, static_cast<uint32_t>(by->phase) + 1};
  int64_t other =
      cluster.races.touch(thread->number, rank * launch->sharedBytes + offset, size, access, by ? &copy : nullptr);
  if (other < 0)
    return;
  auto number = static_cast<uint32_t>(other);
  std::string whom = "a bulk copy whose mbarrier this thread has not waited for";
  if (number < threadCount * cluster.size())
    whom = "thread " + triple(cluster.threadOf(number).tid);
  if (number < threadCount * cluster.size() && cluster.size() > 1)
    whom += " of block " + triple(cluster.threadOf(number).ctaid);
  fail(thread, site, kErrorIllegalAddress,
       "race at shared address " + hexadecimal(offset) + " (" + std::to_string(size) + " bytes) with " + whom +
           ": no barrier lies between the two accesses");
}

// Both addresses are checked when the copy is issued, so that the message names the copy.
void Block::startCopy(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes,
                      uint32_t sourceBytes) {
  if (sourceBytes > bytes)
    fail(thread, site, kErrorIllegalAddress,
         "a copy of " + std::to_string(bytes) + " bytes cannot take " + std::to_string(sourceBytes));
  bool inside = to <= kSharedLimit - bytes;
  bool good = inside && to % bytes == 0;
  for (uint32_t i = 0; good && i < bytes; ++i)
    good = sharedShadow[to + i] & kLive;
  if (!good)
    failAccess(thread, site, Access::Write, "shared", to, bytes, bytes, inside ? sharedShadow + to : nullptr);
  Memory &memory = Memory::get();
  inside = from - memory.base() < Memory::kSize;
  good = inside && from % bytes == 0;
  uint8_t wanted = wantedOf(thread, Access::Read);
  for (uint32_t i = 0; good && i < sourceBytes; ++i)
    good = (memory.shadowOf(from)[i] & wanted) == wanted;
  // If no byte is read, any address will do.
  if (sourceBytes && !good)
    failAccess(thread, site, Access::Read, "global", from, sourceBytes, bytes,
               inside ? memory.shadowOf(from) : nullptr);
  // The bytes may arrive at any time until the wait: the write must be ordered correctly both now and then.
  if (launch->races)
    raceCheck(thread, site, static_cast<uint32_t>(to), bytes, Access::Write);
  if (launch->async)
    checkNotRead(thread, site, static_cast<uint32_t>(to), bytes);
  thread->copies.push_back({static_cast<uint32_t>(to), from, bytes, sourceBytes, site});
}

void Block::yield(Thread *thread) { cluster.yield(thread); }

void Block::finishCopies(Thread *thread, size_t groupsLeft) {
  size_t done = 0;
  while (thread->groups.size() > groupsLeft) {
    done += thread->groups.front();
    thread->groups.pop_front();
  }
  for (size_t i = 0; i < done; ++i) {
    const Thread::Copy &copy = thread->copies[i];
    uint8_t *to = shared + copy.to;
    std::memcpy(to, reinterpret_cast<const void *>(copy.from), copy.sourceBytes);
    std::memset(to + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
    std::memset(sharedShadow + copy.to, kReadable, copy.bytes);
    if (launch->races)
      raceCheck(thread, copy.site, copy.to, copy.bytes, Access::Write);
    if (launch->async)
      noteWrite(thread, copy.site, copy.to, copy.bytes);
  }
  thread->copies.erase(thread->copies.begin(), thread->copies.begin() + static_cast<ptrdiff_t>(done));
}

} // namespace heddle::emulator
