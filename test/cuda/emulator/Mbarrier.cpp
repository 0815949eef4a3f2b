// mbarriers: counts of arrivals and of bytes in shared memory, which end phases.
#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace heddle::emulator {
namespace {

constexpr uint32_t kSize = 8; // bytes
constexpr unsigned kCountBits = 20;
// A thread that tests so often without success will test for ever.
constexpr uint32_t kMostPolls = 1 << 16;

} // namespace

std::string Block::nameOf(const Mbarrier &mbarrier) const {
  std::string name = "the mbarrier at shared address " + hexadecimal(mbarrier.offset);
  return cluster.size() > 1 ? name + " of the block of rank " + std::to_string(rank) : name;
}

std::string Block::lackOf(const Mbarrier &mbarrier) const {
  std::string lack = std::to_string(mbarrier.pending) + " of " + std::to_string(mbarrier.expected) + " arrivals";
  if (mbarrier.bytes >= 0)
    lack += " and " + std::to_string(mbarrier.bytes) + " bytes";
  else
    lack += " and has " + std::to_string(-mbarrier.bytes) + " bytes more than it expects";
  return lack + " in phase " + std::to_string(mbarrier.phase);
}

std::string Block::lanesLike(const Thread &first) const {
  std::string lanes;
  for (size_t i = 0; i < warps.size(); ++i) {
    uint32_t mask = 0;
    for (uint32_t rest = warps[i].alive; rest; rest &= rest - 1) {
      const Thread *thread = warps[i].lanes[__builtin_ctz(rest)];
      if (thread->wait == first.wait && thread->mbarrier == first.mbarrier)
        mask |= rest & -rest;
    }
    if (mask)
      lanes += (lanes.empty() ? "lanes " : ", ") + hexadecimal(mask) + " of warp " + std::to_string(i);
  }
  return lanes;
}

std::string Block::occupant(uint64_t offset, uint64_t size) const {
  auto after = mbarriers.lower_bound(static_cast<uint32_t>(offset + size));
  if (after != mbarriers.begin() && std::prev(after)->first + kSize > offset)
    return "holds an mbarrier";
  for (const auto &[at, mbarrier] : mbarriers)
    for (const Mbarrier::Copy &copy : mbarrier.copies)
      for (const Mbarrier::Run &run : copy.runs)
        if (run.to < offset + size && offset < run.to + run.bytes)
          return "the copy at PTX line " + std::to_string(copy.site->line) + " may still be writing: no thread has " +
                 "waited for " + nameOf(mbarrier);
  return "";
}

Mbarrier &Block::findMbarrier(Thread *thread, const Site *site, uint64_t address) {
  auto found = mbarriers.find(static_cast<uint32_t>(std::min<uint64_t>(address, kSharedLimit)));
  if (found == mbarriers.end())
    fail(thread, site, kErrorIllegalAddress,
         "no mbarrier is at shared address " + hexadecimal(address) + ": none was initialised, or it was invalidated");
  // Initialising and invalidating are ordinary writes; what lies between is atomic.
  if (launch->races)
    raceCheck(thread, site, found->first, kSize,
              site->mbarrier == MbarrierOp::Invalidate ? Access::Write : Access::Atomic);
  return found->second;
}

uint64_t Block::mbarrier(Thread *thread, const Site *site, uint64_t address, uint64_t argument) {
  Block &owner = ownerOf(thread, site, address);
  bool mayBeRemote = site->mbarrier == MbarrierOp::Arrive || site->mbarrier == MbarrierOp::Expect ||
                     site->mbarrier == MbarrierOp::Complete;
  if (&owner != this && !mayBeRemote)
    fail(thread, site, kErrorIllegalAddress, "the mbarrier belongs to another block");
  return owner.mbarrierHere(thread, site, address, argument);
}

uint64_t Block::mbarrierHere(Thread *thread, const Site *site, uint64_t address, uint64_t argument) {
  if (site->mbarrier == MbarrierOp::Init) {
    initMbarrier(thread, site, address, argument);
    return 0;
  }
  Mbarrier &mbarrier = findMbarrier(thread, site, address);
  switch (site->mbarrier) {
  case MbarrierOp::Invalidate:
    invalidateMbarrier(thread, site, mbarrier);
    return 0;
  case MbarrierOp::Expect:
    changeBytes(thread, site, mbarrier, static_cast<int64_t>(argument));
    return 0;
  case MbarrierOp::Complete:
    changeBytes(thread, site, mbarrier, -static_cast<int64_t>(argument));
    tryComplete(mbarrier);
    return 0;
  case MbarrierOp::Arrive:
    if (site->expects)
      changeBytes(thread, site, mbarrier, static_cast<int64_t>(argument));
    return arriveAt(thread, site, mbarrier, site->expects ? 1 : argument);
  default:
    return testMbarrier(thread, site, mbarrier, argument);
  }
}

void Block::initMbarrier(Thread *thread, const Site *site, uint64_t address, uint64_t count) {
  auto offset = static_cast<uint32_t>(address);
  if (address < kSharedLimit && occupant(address, kSize) != "")
    fail(thread, site, kErrorLaunchFailed,
         "shared address " + hexadecimal(address) + " holds an mbarrier, which mbarrier.inval has not ended");
  if (count == 0 || count > Mbarrier::kMost)
    fail(thread, site, kErrorLaunchFailed,
         "an mbarrier counts from 1 to " + std::to_string(Mbarrier::kMost) + " arrivals, not " + std::to_string(count));
  sharedAccess(thread, site, address, kSize, Access::Write);
  // Ordinary instructions may not touch the object.
  std::memset(sharedShadow + offset, 0, kSize);
  Mbarrier &mbarrier = mbarriers[offset];
  mbarrier = {};
  mbarrier.offset = offset;
  mbarrier.expected = mbarrier.pending = static_cast<uint32_t>(count);
  mbarrier.initialiser = thread->index;
  mbarrier.fences = thread->asyncFences;
  mbarrier.actor = launch->races ? cluster.races.addActor() : 0;
}

void Block::invalidateMbarrier(Thread *thread, const Site *site, Mbarrier &mbarrier) {
  if (!mbarrier.waiting.empty() || !mbarrier.copies.empty())
    fail(thread, site, kErrorLaunchFailed,
         nameOf(mbarrier) + (mbarrier.copies.empty() ? " keeps threads waiting" : " counts a copy that is not done"));
  uint32_t offset = mbarrier.offset;
  mbarriers.erase(offset);
  std::memset(sharedShadow + offset, kLive, kSize);
}

uint64_t Block::arriveAt(Thread *thread, const Site *site, Mbarrier &mbarrier, uint64_t count) {
  if (count == 0 || count > mbarrier.pending)
    fail(thread, site, kErrorLaunchFailed,
         std::to_string(count) + " arrivals overflow " + nameOf(mbarrier) + ", which lacks " + lackOf(mbarrier));
  if (site->noComplete && count == mbarrier.pending)
    fail(thread, site, kErrorLaunchFailed, "the arrival completes the phase of " + nameOf(mbarrier));
  uint64_t state = mbarrier.phase << kCountBits | mbarrier.pending;
  if (!site->relaxed) {
    thread->publishedFences = thread->proxyFences;
    if (launch->races)
      cluster.races.arrive(thread->number, mbarrier.joined);
  }
  mbarrier.pending -= static_cast<uint32_t>(count);
  if (site->drops)
    mbarrier.expected -= static_cast<uint32_t>(count);
  tryComplete(mbarrier);
  return state;
}

void Block::changeBytes(Thread *thread, const Site *site, Mbarrier &mbarrier, int64_t change) {
  if (std::abs(change) > Mbarrier::kMost || std::abs(mbarrier.bytes + change) > Mbarrier::kMost)
    fail(thread, site, kErrorLaunchFailed,
         "a change of " + std::to_string(change) + " bytes overflows the transaction count of " + nameOf(mbarrier) +
             ", " + std::to_string(mbarrier.bytes) + ": its limit is " + std::to_string(Mbarrier::kMost));
  mbarrier.bytes += change;
}

void Block::tryComplete(Mbarrier &mbarrier) {
  if (mbarrier.pending || mbarrier.bytes)
    return;
  ++mbarrier.phase;
  mbarrier.pending = mbarrier.expected;
  std::vector<uint32_t> &before = mbarrier.completed;
  Races::join(before, mbarrier.joined);
  mbarrier.joined.clear();
  if (launch->races) { // its copies of the phase have come
    before.resize(std::max<size_t>(before.size(), mbarrier.actor + 1));
    before[mbarrier.actor] = static_cast<uint32_t>(mbarrier.phase);
  }
  for (Thread *thread : mbarrier.waiting) {
    thread->wait = Wait::None;
    cluster.ready.push_back(thread);
  }
  mbarrier.waiting.clear();
}

// An mbarrier knows only whether its current phase or the phase before it has ended.
bool Block::testMbarrier(Thread *thread, const Site *site, Mbarrier &mbarrier, uint64_t argument) {
  uint64_t asked = site->parity ? argument : argument >> kCountBits;
  if (site->parity && asked > 1)
    fail(thread, site, kErrorLaunchFailed, "a phase's parity is 0 or 1, not " + std::to_string(asked));
  if (!site->parity && mbarrier.phase - asked > 1)
    fail(thread, site, kErrorLaunchFailed,
         "the state belongs to phase " + std::to_string(asked) + " of " + nameOf(mbarrier) + ", which is in phase " +
             std::to_string(mbarrier.phase));
  // The first test finds nothing of a copy. Threads that suspend themselves wait until all others do.
  if (thread->polls)
    finishLoads(mbarrier);
  bool done = site->parity ? mbarrier.phase % 2 != asked : mbarrier.phase != asked;
  if (!done && !site->suspends) {
    if (++thread->polls == kMostPolls)
      fail(thread, site, kErrorLaunchFailed,
           "deadlock: " + std::to_string(kMostPolls) + " tests of " + nameOf(mbarrier) + ", which lacks " +
               lackOf(mbarrier));
    yield(thread);
    return false;
  }
  if (!done) {
    mbarrier.waiting.push_back(thread);
    thread->wait = Wait::Mbarrier;
    thread->site = site;
    thread->mbarrier = &mbarrier;
    cluster.park(thread);
  }
  thread->polls = 0;
  if (launch->races && !site->relaxed)
    cluster.races.leave(thread->number, mbarrier.completed);
  return true;
}

} // namespace heddle::emulator
