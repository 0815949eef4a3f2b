#include "test/cuda/emulator/Cluster.h"

#include "test/cuda/emulator/Cuda.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace heddle::emulator {

constexpr size_t kStackBytes = 192 << 10;

void Cluster::begin(const Launch &newLaunch) {
  launch = &newLaunch;
  size_t size = size_t(launch->cluster[0]) * launch->cluster[1] * launch->cluster[2];
  while (blocks.size() > size) {
    spare.push_back(std::move(blocks.back()));
    blocks.pop_back();
  }
  while (blocks.size() < size) {
    if (spare.empty())
      spare.push_back(std::make_unique<Block>(*this));
    blocks.push_back(std::move(spare.back()));
    spare.pop_back();
  }
  threadCount = static_cast<uint32_t>(size) * launch->block[0] * launch->block[1] * launch->block[2];
  for (uint32_t rank = 0; rank < size; ++rank)
    blocks[rank]->begin(*launch, rank);
}

bool Cluster::run(uint64_t index) {
  uint32_t first[3]; // the first block's position
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t along = launch->grid[i] / launch->cluster[i];
    first[i] = static_cast<uint32_t>(index % along) * launch->cluster[i];
    index /= along;
  }
  ready.clear();
  if (launch->races)
    races.begin(threadCount, size() * launch->sharedBytes);
  for (uint32_t rank = 0; rank < size(); ++rank) {
    uint32_t x = rank % launch->cluster[0], rest = rank / launch->cluster[0];
    blocks[rank]->reset(first[0] + x, first[1] + rest % launch->cluster[1], first[2] + rest / launch->cluster[1]);
  }
  ended = arrived = 0;
  phase = 0;
  waiting.clear();
  joined.clear();
  completed.clear();
  startFirst = false;
  fault = {};
  current = freeFiber();
  Fiber::switchTo(host, *current);
  if (!fault.code)
    return true;
  // The stacks still hold abandoned frames.
  idle.clear();
  for (auto &fiber : fibers) {
    fiber->reset();
    idle.push_back(fiber.get());
  }
  return false;
}

Thread &Cluster::threadOf(uint32_t number) {
  uint32_t each = threadCount / size();
  return blocks[number / each]->thread(number % each);
}

Block *Cluster::nextToStart() const {
  for (const auto &block : blocks)
    if (!block->allStarted())
      return block.get();
  return nullptr;
}

bool Cluster::allStarted() const { return !nextToStart(); }

Fiber *Cluster::freeFiber() {
  if (idle.empty()) {
    fibers.push_back(std::make_unique<Fiber>(kStackBytes, &Cluster::fiberMain, this));
    return fibers.back().get();
  }
  Fiber *fiber = idle.back();
  idle.pop_back();
  return fiber;
}

void Cluster::fiberMain(void *self) { static_cast<Cluster *>(self)->fiberLoop(); }

// Starts threads one after the other as long as they run to their end: a kernel that never waits is a plain loop.
void Cluster::fiberLoop() {
  for (;;) {
    while (ready.empty() || startFirst) {
      Block *block = nextToStart();
      if (!block)
        break;
      startFirst = false;
      Thread *thread = block->startThread();
      thread->fiber = current;
      launch->kernel(thread);
      block->endThread(thread);
    }
    Fiber &self = *current;
    idle.push_back(&self);
    if (allEnded())
      Fiber::switchTo(self, host);
    else
      switchFrom(self);
  }
}

void Cluster::abandon() {
  Fiber &self = *current;
  // The stack starts anew.
  self.reset();
  idle.push_back(&self);
  static thread_local Fiber abandoned;
  if (allEnded())
    Fiber::switchTo(abandoned, host);
  else
    switchFrom(abandoned);
  std::abort();
}

void Cluster::park(Thread *thread) {
  thread->fiber = current;
  switchFrom(*current);
}

void Cluster::yield(Thread *thread) {
  if (ready.empty() && allStarted())
    return;
  ready.push_back(thread);
  startFirst = true;
  park(thread);
}

// No thread can run: copies that threads wait for arrive now, and lanes are as converged as they will ever be.
bool Cluster::wakeAny() {
  bool any = false;
  for (const auto &block : blocks)
    any |= block->finishAwaitedLoads();
  for (const auto &block : blocks)
    any = any || block->releaseActiveMasks();
  return any;
}

void Cluster::switchFrom(Fiber &from) {
  if (ready.empty() && allStarted() && !wakeAny())
    deadlock();
  Fiber *next;
  if (!ready.empty() && (!startFirst || allStarted())) {
    next = ready.front()->fiber;
    ready.pop_front();
  } else {
    next = freeFiber();
  }
  if (next == &from)
    return;
  current = next;
  Fiber::switchTo(from, *next);
}

void Cluster::leave() {
  Fiber::switchTo(*current, host);
  std::abort();
}

void Cluster::deadlock() {
  Thread *first = nullptr;
  uint32_t alike = 0;
  for (uint32_t i = 0; i < threadCount; ++i) {
    Thread &thread = threadOf(i);
    if (thread.wait == Wait::None)
      continue;
    // A thread that waits for an mbarrier says most.
    if (!first || (thread.wait == Wait::Mbarrier && first->wait != Wait::Mbarrier)) {
      first = &thread;
      alike = 0;
    }
    alike += thread.wait == first->wait && thread.site == first->site;
  }
  assert(first);
  first->block->fail(first, first->site, kErrorLaunchFailed,
                     "deadlock: " + std::to_string(alike) + " threads wait here, " +
                         std::to_string(threadCount - alike - ended) + " elsewhere, " + std::to_string(ended) + " of " +
                         std::to_string(threadCount) + " have ended" + first->block->waitOf(*first));
}

// barrier.cluster

void Cluster::arrive(Thread *thread, const Site *site) {
  if (thread->clusterArrived)
    thread->block->fail(thread, site, kErrorLaunchFailed,
                        "the thread has arrived at the cluster's barrier already, and has not waited since");
  thread->clusterArrived = true;
  thread->clusterPhase = phase;
  if (!site->relaxed) {
    thread->publishedFences = thread->proxyFences;
    if (launch->races)
      races.arrive(thread->number, joined);
  }
  ++arrived;
  tryComplete();
}

void Cluster::wait(Thread *thread, const Site *site) {
  if (!thread->clusterArrived)
    thread->block->fail(thread, site, kErrorLaunchFailed,
                        "the thread waits for the cluster's barrier, but has not arrived there");
  thread->clusterArrived = false;
  if (thread->clusterPhase == phase) {
    waiting.push_back(thread);
    thread->wait = Wait::Cluster;
    thread->site = site;
    park(thread);
  }
  if (launch->races)
    races.leave(thread->number, completed);
}

// Threads that have ended are not expected.
void Cluster::tryComplete() {
  if (arrived == 0 || arrived < threadCount - ended)
    return;
  arrived = 0;
  ++phase;
  Races::join(completed, joined);
  joined.clear();
  for (Thread *thread : waiting) {
    thread->wait = Wait::None;
    ready.push_back(thread);
  }
  waiting.clear();
}

void Cluster::endThread(Thread *thread) {
  ++ended;
  if (thread->clusterArrived && thread->clusterPhase == phase)
    --arrived;
  tryComplete();
}

// Blocks of the cluster.

void Block::clusterBarrier(Thread *thread, const Site *site, bool waits) {
  if (waits)
    cluster.wait(thread, site);
  else
    cluster.arrive(thread, site);
}

Block &Block::ownerOf(Thread *thread, const Site *site, uint64_t &address) {
  uint64_t which = address >> Cluster::kRankShift;
  if (which == 0)
    return *this;
  address &= (uint64_t(1) << Cluster::kRankShift) - 1;
  if (which > cluster.size())
    fail(thread, site, kErrorIllegalAddress,
         "the shared address belongs to a block of rank " + std::to_string(which - 1) + " of a cluster of " +
             std::to_string(cluster.size()));
  return blockOfRank(thread, site, static_cast<uint32_t>(which - 1));
}

Block &Block::blockOfRank(Thread *thread, const Site *site, uint32_t which) {
  Block &owner = cluster.block(which);
  if (owner.ended == owner.threadCount)
    fail(thread, site, kErrorIllegalAddress,
         "the block of rank " + std::to_string(which) + " has ended, and its shared memory with it");
  if (&owner != this && owner.started == 0)
    fail(thread, site, kErrorIllegalAddress,
         "the block of rank " + std::to_string(which) + " has not begun: no barrier of the cluster came before");
  return owner;
}

uint8_t *Block::clusterAccess(Thread *thread, const Site *site, uint64_t address, uint32_t size, Access access) {
  Block &owner = ownerOf(thread, site, address);
  return owner.sharedAccess(thread, site, address, size, access);
}

} // namespace heddle::emulator
