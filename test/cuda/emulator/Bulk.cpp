// Bulk copies between global and shared memory, with and without tensor maps. Their bytes move as late as possible.
#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::emulator {
namespace {

constexpr uint32_t kPiece = 16;            // the unit of a bulk copy
constexpr uint32_t kTensorAlignment = 128; // of a box in shared memory

} // namespace

const TensorMap &Block::tensorMapAt(Thread *thread, const Site *site, uint64_t address) {
  constexpr uint32_t half = sizeof(TensorMap) / 2;
  if (address % alignof(TensorMap))
    fail(thread, site, kErrorMisalignedAddress,
         "the tensor map at address " + hexadecimal(address) + " is not aligned to 64 bytes");
  genericAccess(thread, site, address, half, Access::Read);
  genericAccess(thread, site, address + half, half, Access::Read);
  const auto &map = *reinterpret_cast<const TensorMap *>(address);
  if (!map.valid())
    fail(thread, site, kErrorIllegalAddress, "no tensor map is at address " + hexadecimal(address));
  if (map.rank != site->rank)
    fail(thread, site, kErrorIllegalAddress,
         "the tensor has " + std::to_string(map.rank) + " dimensions, not " + std::to_string(site->rank));
  return map;
}

// Calls `run` for the parts of the copy, as TensorMap does.
void Block::bulkRuns(Thread *thread, const Site *site, uint64_t sharedAt, uint64_t globalAt, uint32_t bytes,
                     const std::function<void(uint32_t, uint64_t, uint32_t)> &run) {
  uint32_t alignment = site->rank ? kTensorAlignment : kPiece;
  if (sharedAt % alignment)
    fail(thread, site, kErrorMisalignedAddress,
         "shared address " + hexadecimal(sharedAt) + " is not aligned to " + std::to_string(alignment) + " bytes");
  if (sharedAt >= kSharedLimit || bytes > kSharedLimit)
    failAccess(thread, site, site->bulk == BulkKind::Store ? Access::Read : Access::Write, "shared", sharedAt, bytes, 1,
               nullptr);
  if (site->rank) {
    int32_t coordinates[TensorMap::kMostRank];
    std::memcpy(coordinates, thread->slots, sizeof coordinates);
    return tensorMapAt(thread, site, globalAt).runs(coordinates, static_cast<uint32_t>(sharedAt), run);
  }
  if (globalAt % kPiece)
    fail(thread, site, kErrorMisalignedAddress,
         "address " + hexadecimal(globalAt) + " is not aligned to " + std::to_string(kPiece) + " bytes");
  if (bytes == 0 || bytes % kPiece)
    fail(thread, site, kErrorMisalignedAddress,
         "a bulk copy of " + std::to_string(bytes) + " bytes: their number must be a positive multiple of 16");
  for (uint32_t at = 0; at < bytes; at += kPiece)
    run(static_cast<uint32_t>(sharedAt) + at, globalAt + at, kPiece);
}

void Block::checkGlobal(Thread *thread, const Site *site, uint64_t address, uint32_t bytes, Access access) {
  Memory &memory = Memory::get();
  bool inside = address - memory.base() < Memory::kSize;
  uint8_t *shadow = inside ? memory.shadowOf(address) : nullptr;
  uint8_t wanted = wantedOf(thread, access);
  bool good = inside;
  for (uint32_t i = 0; good && i < bytes; ++i)
    good = (shadow[i] & wanted) == wanted;
  if (!good)
    failAccess(thread, site, access, "global", address, bytes, 1, shadow);
}

void Block::checkShared(Thread *thread, const Site *site, uint32_t offset, uint32_t bytes, Access access) {
  uint8_t wanted = access == Access::Write || !launch->initialised ? kLive : kReadable;
  bool good = offset <= kSharedLimit - bytes;
  for (uint32_t i = 0; good && i < bytes; ++i)
    good = (sharedShadow[offset + i] & wanted) == wanted;
  if (!good)
    failAccess(thread, site, access, "shared", offset, bytes, 1,
               offset <= kSharedLimit - bytes ? sharedShadow + offset : nullptr);
}

// The bytes of a copy into shared memory are not live until they have come, so no instruction can use them.
void Block::startLoad(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint64_t mbarrierAt,
                      uint32_t ranks) {
  Block &owner = ownerOf(thread, site, to);
  if (&ownerOf(thread, site, mbarrierAt) != &owner)
    fail(thread, site, kErrorIllegalAddress, "the mbarrier does not belong to the block that the bytes go to");
  if (!site->multicast)
    return owner.startLoadHere(thread, site, to, from, bytes, mbarrierAt);
  if (ranks == 0 || ranks >> cluster.size())
    fail(thread, site, kErrorIllegalAddress,
         "the mask " + hexadecimal(ranks) + " does not select blocks of a cluster of " +
             std::to_string(cluster.size()));
  for (uint32_t other = 0; other < cluster.size(); ++other)
    if (ranks >> other & 1)
      blockOfRank(thread, site, other).startLoadHere(thread, site, to, from, bytes, mbarrierAt);
}

void Block::startLoadHere(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes,
                          uint64_t mbarrierAt) {
  Mbarrier &mbarrier = findMbarrier(thread, site, mbarrierAt);
  const Thread &initialiser = threads[mbarrier.initialiser];
  if (initialiser.asyncFences == mbarrier.fences)
    fail(thread, site, kErrorIllegalAddress,
         nameOf(mbarrier) + " was initialised by the thread of index " + std::to_string(initialiser.index) +
             ", which has passed neither fence.mbarrier_init nor fence.proxy.async since");
  mbarrier.copies.push_back({site, thread, {}});
  std::vector<Mbarrier::Run> &runs = mbarrier.copies.back().runs;
  bulkRuns(thread, site, to, from, bytes, [&](uint32_t at, uint64_t source, uint32_t size) {
    checkShared(thread, site, at, size, Access::Write);
    if (source)
      checkGlobal(thread, site, source, size, Access::Read);
    checkNotRead(thread, site, at, size);
    checkFenced(thread, site, at, size);
    if (launch->races)
      raceCheck(thread, site, at, size, Access::Write, &mbarrier);
    runs.push_back({at, source, size});
  });
  for (const Mbarrier::Run &run : runs)
    std::memset(sharedShadow + run.to, 0, run.bytes);
}

void Block::finishLoads(Mbarrier &mbarrier) {
  while (!mbarrier.copies.empty()) {
    Mbarrier::Copy copy = std::move(mbarrier.copies.front());
    mbarrier.copies.pop_front();
    int64_t total = 0;
    for (const Mbarrier::Run &run : copy.runs) {
      if (run.from)
        std::memcpy(shared + run.to, reinterpret_cast<const void *>(run.from), run.bytes);
      else
        std::memset(shared + run.to, 0, run.bytes);
      std::memset(sharedShadow + run.to, kReadable, run.bytes);
      std::fill_n(writers.begin() + run.to, run.bytes, Writer{});
      total += run.bytes;
    }
    changeBytes(copy.thread, copy.site, mbarrier, -total);
    tryComplete(mbarrier);
  }
}

bool Block::finishAwaitedLoads() {
  for (auto &[offset, mbarrier] : mbarriers)
    if (!mbarrier.waiting.empty() && !mbarrier.copies.empty())
      finishLoads(mbarrier);
  return !cluster.ready.empty();
}

// Called when the block's last thread has ended.
void Block::endLoads(Thread *thread) {
  for (auto &[offset, mbarrier] : mbarriers)
    if (!mbarrier.copies.empty())
      fail(thread, mbarrier.copies.front().site, kErrorLaunchFailed,
           "the block has ended, but no thread has waited for " + nameOf(mbarrier) + " since the copy");
}

void Block::startStore(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes) {
  Thread::Store store{site, {}, {}};
  bulkRuns(thread, site, from, to, bytes, [&](uint32_t at, uint64_t target, uint32_t size) {
    checkShared(thread, site, at, size, Access::Read);
    checkFenced(thread, site, at, size);
    if (!target)
      return;
    checkGlobal(thread, site, target, size, Access::Write);
    if (launch->races)
      raceCheck(thread, site, at, size, Access::Read);
    store.runs.push_back({at, target, size});
    noteReader(site, at, size, 1);
  });
  thread->openStores.push_back(std::move(store));
}

void Block::commitStores(Thread *thread) { thread->stores.push_back(std::exchange(thread->openStores, {})); }

// Takes the bytes from shared memory: until now, nothing may overwrite them.
void Block::readStore(Thread *thread, Thread::Store &store) {
  if (!store.data.empty())
    return;
  for (const Thread::Store::Run &run : store.runs) {
    store.data.insert(store.data.end(), shared + run.from, shared + run.from + run.bytes);
    noteReader(store.site, run.from, run.bytes, -1);
    if (launch->races)
      raceCheck(thread, store.site, run.from, run.bytes, Access::Read);
  }
}

void Block::writeStore(Thread *thread, Thread::Store &store) {
  size_t done = 0;
  for (const Thread::Store::Run &run : store.runs) {
    std::memcpy(reinterpret_cast<void *>(run.to), store.data.data() + done, run.bytes);
    uint8_t *shadow = Memory::get().shadowOf(run.to);
    for (uint32_t i = 0; i < run.bytes; ++i)
      shadow[i] |= kReadable | thread->declaredRead;
    done += run.bytes;
  }
}

void Block::waitForStores(Thread *thread, size_t groupsLeft, bool readOnly) {
  for (size_t i = 0; i + groupsLeft < thread->stores.size(); ++i)
    for (Thread::Store &store : thread->stores[i])
      readStore(thread, store);
  for (; !readOnly && thread->stores.size() > groupsLeft; thread->stores.pop_front())
    for (Thread::Store &store : thread->stores.front())
      writeStore(thread, store);
}

void Block::endStores(Thread *thread) {
  if (!thread->openStores.empty())
    fail(thread, thread->openStores.front().site, kErrorLaunchFailed,
         "the thread has ended without a cp.async.bulk.commit_group for it");
  for (const std::vector<Thread::Store> &group : thread->stores)
    for (const Thread::Store &store : group)
      if (store.data.empty() && !store.runs.empty())
        fail(thread, store.site, kErrorLaunchFailed, "the thread has ended without a cp.async.bulk.wait_group for it");
  waitForStores(thread, 0, false);
}

} // namespace heddle::emulator
