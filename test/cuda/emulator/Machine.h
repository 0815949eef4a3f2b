// Runs the blocks of a grid. A PTX thread gets its own stack as soon as it waits for another.
#pragma once

#include "test/cuda/emulator/Fiber.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::emulator {

class Block;
class Cluster;
struct TensorMap;
struct Warp;
struct Mbarrier;

// Operations that the lanes of a warp do together.
enum class Collective : uint8_t {
  Sync,
  ShuffleUp,
  ShuffleDown,
  ShuffleButterfly,
  ShuffleIndex,
  VoteAll,
  VoteAny,
  VoteUniform,
  VoteBallot,
  MatchAny,
  MatchAll,
  ReduceAdd,
  ReduceMin,
  ReduceMax,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  Elect,
  LoadMatrix,
  StoreMatrix,
  MoveMatrix,
  Multiply,
  WarpgroupFence,
  WarpgroupCommit,
  WarpgroupWait,
  WarpgroupMultiply,
  WarpgroupRegisters,
};

// Operations on an mbarrier.
enum class MbarrierOp : uint8_t { Init, Invalidate, Arrive, Expect, Complete, Test };

// Bulk copies: to shared memory, or to global memory.
enum class BulkKind : uint8_t { Load, Store };

enum class MmaType : uint8_t { F16, BF16, TF32 };

// An instruction: its name for messages, and the parameters of its collective. It lives as long as its module.
struct Site {
  std::string kernel;
  unsigned line = 0;
  std::string text;
  Collective op = Collective::Sync;
  bool aligned = false;  // every lane must be at this same instruction
  bool isSigned = false; // for min and max
  bool transposed = false;
  bool generic = false;  // a matrix address that is not in the shared space
  bool halfSums = false; // f16 accumulators
  uint8_t count = 1;     // 8x8 matrices
  uint8_t depth = 0;     // k of mma
  MmaType type = MmaType::F16;
  // For wgmma only.
  uint16_t columns = 0; // n
  uint32_t groupsLeft = 0;
  bool registersOfA = false; // otherwise a descriptor
  bool transposedA = false, transposedB = false;
  bool negated = false; // the products are negated
  // For mbarriers only.
  MbarrierOp mbarrier = MbarrierOp::Init;
  bool relaxed = false;    // orders nothing
  bool expects = false;    // arrive: also expects bytes, and counts one arrival
  bool drops = false;      // arrive: the thread takes no part in later phases
  bool noComplete = false; // arrive: the phase must not complete
  bool parity = false;     // test: the phase is given by its parity, not by a state
  bool suspends = false;   // test: the thread may wait
  // For bulk copies only.
  BulkKind bulk = BulkKind::Load;
  uint8_t rank = 0; // dimensions of the tensor; 0: no tensor
  // For setmaxnreg only.
  uint32_t registers = 0;
  bool increases = false;
  bool multicast = false; // for bulk copies: to several blocks of the cluster
};

enum class Access : uint32_t { Read, Write, Atomic };

enum class Wait : uint8_t { None, Warp, Barrier, ActiveMask, Mbarrier, Registers, Cluster };

// For wgmma, the slots hold A's registers or descriptor, B's descriptor, scale-d, and the sums.
constexpr unsigned kSlotOfA = 0, kSlotOfB = 4, kSlotOfScale = 6, kSlotOfSums = 8, kSlots = kSlotOfSums + 128;

// A PTX thread. Generated code reads the first fields by their offsets.
struct Thread {
  uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  uint32_t clusterid[3], nclusterid[3], clusterCtaid[3], clusterNctaid[3], clusterRank, clusterSize;
  uint32_t lane, warpIndex, warpCount;
  uint32_t sharedBytes, dynamicBytes;
  uint8_t *shared;       // Block::kSharedLimit bytes and their shadow
  uint8_t *sharedShadow; // not live from sharedBytes on
  // Further bits that the shadow of global memory must have if the launch declares its accesses. A launch may always
  // read what it has written.
  uint8_t declaredRead, declaredWrite;
  const uint8_t *params;
  uint64_t localBase; // host addresses of .local variables: [localBase, localTop)
  uint64_t localTop;
  uint64_t localEnd;
  uint32_t slots[kSlots]; // operands of a collective, then its results
  uint32_t mask;          // the lanes that take part

  Block *block;
  Warp *warp;
  uint32_t index;  // in the block
  uint32_t number; // in the cluster
  bool finished;
  Wait wait;
  const Site *site; // where it waits
  Fiber *fiber;
  uint32_t barrierResult;
  bool clusterArrived;      // at the cluster's barrier, and has not waited since
  uint64_t clusterPhase;    // of that barrier when it arrived
  const Mbarrier *mbarrier; // the one that it waits for
  uint32_t polls;           // tests of an mbarrier that failed, since the last that succeeded

  struct Copy {
    uint32_t to;
    uint64_t from;
    uint32_t bytes, sourceBytes;
    const Site *site;
  };
  std::vector<Copy> copies;  // cp.async copies in order, not done yet
  std::deque<size_t> groups; // for each committed group, how many of the oldest copies it has

  // A bulk copy to global memory. Its data is empty until it has been read.
  struct Store {
    struct Run {
      uint32_t from;
      uint64_t to;
      uint32_t bytes;
    };
    const Site *site;
    std::vector<Run> runs;
    std::vector<uint8_t> data;
  };
  std::vector<Store> openStores;         // not committed yet
  std::deque<std::vector<Store>> stores; // committed groups that are not complete yet

  // The number of fence.proxy.async it has passed, and how many of them before its last barrier.
  uint32_t proxyFences, publishedFences;
  uint32_t asyncFences; // these and fence.mbarrier_init
};

struct Warp {
  uint32_t alive = 0; // lanes that have not ended
  Thread *lanes[32] = {};

  // A wgmma that may still read shared memory: the addresses of the 16-byte pieces it reads.
  struct Reads {
    const Site *site;
    std::vector<uint32_t> addresses;
  };
  std::vector<Reads> reads;  // in order, not waited for yet
  std::deque<size_t> groups; // for each committed group, how many of the oldest reads it has
  bool fenced = false;       // has passed a wgmma.fence
  uint32_t registers = 0;    // of each lane
};

// An mbarrier in shared memory. Its phase ends when no arrival is pending and its count of bytes is zero.
struct Mbarrier {
  static constexpr uint32_t kMost = (1 << 20) - 1; // arrivals or bytes

  uint32_t offset = 0;
  uint32_t expected = 0, pending = 0; // arrivals of a phase; arrivals that the current phase still waits for
  int64_t bytes = 0;                  // the transaction count: expected bytes that have not come
  uint64_t phase = 0;
  uint32_t initialiser = 0; // the index of the thread that initialised it,
  uint32_t fences = 0;      // and its asyncFences then
  uint32_t actor = 0;       // what stands for its copies in the race check
  std::vector<Thread *> waiting;
  std::vector<uint32_t> joined, completed; // clocks: of the arrivals of this phase, and of all phases before

  // A bulk copy that completes on it, and whose bytes have not moved yet.
  struct Run {
    uint32_t to;
    uint64_t from; // 0: zeros
    uint32_t bytes;
  };
  struct Copy {
    const Site *site;
    Thread *thread;
    std::vector<Run> runs;
  };
  std::deque<Copy> copies;
};

struct Launch {
  const char *name;
  void (*kernel)(Thread *);
  const uint8_t *params;
  uint64_t paramBytes;
  uint32_t grid[3], block[3], cluster[3]; // a cluster's size is in blocks
  uint32_t sharedBytes, dynamicBytes;
  uint32_t registers; // of a thread, at most, as the kernel begins
  bool races;         // check for unordered accesses to shared memory
  bool async;         // the module uses wgmma or bulk copies: writers of shared memory are recorded
  bool initialised;   // reading memory that nothing has written is a fault
  bool dependent;     // may begin before the kernel before it has ended
  bool declared;      // an access that the program did not declare is a fault
};

// Why a launch ended early: the driver's error code, and a message that names the instruction.
struct Fault {
  int code = 0;
  std::string message;
};

// Runs every block of a grid on the host's threads, and returns when all are done.
Fault runGrid(const Launch &launch);

// Records who accessed each byte of a block's shared memory, with vector clocks over the block's threads.
class Races {
public:
  struct Event {
    uint32_t thread, clock;
    bool atomic = false;
  };
  void begin(uint32_t threads, uint32_t bytes);
  // Returns the index of something that is no thread, but has events of its own: asynchronous copies.
  uint32_t addActor() { return threads + actors++; }
  // Returns the index of a thread or actor whose access is not ordered with this one, or -1. If the thread only starts
  // an access, `by` is the event of whoever does it.
  int64_t touch(uint32_t thread, uint32_t at, uint32_t bytes, Access access, const Event *by = nullptr);
  // A barrier: everything the arriving threads did is ordered before everything the leaving threads will do.
  void arrive(uint32_t thread, std::vector<uint32_t> &joined);
  void leave(uint32_t thread, const std::vector<uint32_t> &joined);
  // Sets each clock to the later of two.
  static void join(std::vector<uint32_t> &to, const std::vector<uint32_t> &from);

private:
  struct Byte {
    std::vector<Event> reads, writes; // the latest accesses that no later access is ordered after
  };
  bool ordered(const Event &event, uint32_t thread) const;
  uint32_t threads = 0, actors = 0;
  std::vector<std::vector<uint32_t>> clocks; // of each thread; clocks that its vector lacks are zero
  std::vector<Byte> bytes;
};

// A block of the cluster that a host thread runs.
class Block {
public:
  static constexpr uint32_t kSharedLimit = 256 << 10;
  static constexpr uint32_t kBarriers = 16;
  static constexpr uint64_t kWindowBytes = uint64_t(9) << 24; // for a cluster's blocks, and for the thread's own

  explicit Block(Cluster &cluster);
  ~Block();

  void begin(const Launch &launch, uint32_t rank);
  // Prepares to run the block at this position of the grid.
  void reset(uint32_t x, uint32_t y, uint32_t z);
  bool allStarted() const { return started == threadCount; }
  Thread *startThread() { return &threads[started++]; }
  void endThread(Thread *thread);
  Thread &thread(uint32_t index) { return threads[index]; }
  // Returns what a thread waits for, for messages.
  std::string waitOf(const Thread &thread) const;
  bool releaseActiveMasks();
  // Finishes the copies that threads wait for. Returns true if a thread can go on.
  bool finishAwaitedLoads();

  // Functions that generated code calls on the stack of `thread`.
  [[noreturn]] void fail(Thread *thread, const Site *site, int code, const std::string &what);
  // Returns the bits that the shadow of global memory must have for an access.
  uint8_t wantedOf(const Thread *thread, Access access) const;
  [[noreturn]] void failAccess(Thread *thread, const Site *site, Access access, const char *space, uint64_t address,
                               uint64_t size, uint64_t alignment, const uint8_t *shadow);
  [[noreturn]] void exitThread(Thread *thread);
  void collective(Thread *thread, const Site *site);
  uint32_t activeMask(Thread *thread, const Site *site);
  enum class BarrierKind : uint32_t { Sync, Arrive, Popcount, And, Or };
  uint32_t barrier(Thread *thread, const Site *site, uint32_t id, uint32_t count, BarrierKind kind, bool value);
  uint8_t *sharedAccess(Thread *thread, const Site *site, uint64_t offset, uint32_t size, Access access);
  uint8_t *genericAccess(Thread *thread, const Site *site, uint64_t address, uint32_t size, Access access);
  // In Cluster.cpp: an address of the cluster's shared memory, and its barrier.
  uint8_t *clusterAccess(Thread *thread, const Site *site, uint64_t address, uint32_t size, Access access);
  void clusterBarrier(Thread *thread, const Site *site, bool waits);
  // If `by` is given, a copy that completes on it does the access.
  void raceCheck(Thread *thread, const Site *site, uint32_t offset, uint32_t size, Access access,
                 const Mbarrier *by = nullptr);
  void startCopy(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint32_t sourceBytes);
  // In Mbarrier.cpp. Returns the state before an arrival, or whether a phase has ended.
  uint64_t mbarrier(Thread *thread, const Site *site, uint64_t address, uint64_t argument);
  // In Bulk.cpp: bulk copies. Shared addresses are those of this block.
  void startLoad(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint64_t mbarrierAt,
                 uint32_t ranks);
  void startStore(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes);
  void commitStores(Thread *thread);
  // Until at most `groupsLeft` groups are pending, finishes copies to global memory, or only their reads.
  void waitForStores(Thread *thread, size_t groupsLeft, bool readOnly);
  // In RegisterPool.cpp: setmaxnreg, after all lanes of the warp have come to it.
  void setRegisters(Thread *thread, const Site *site);
  // Finishes copies until at most `groupsLeft` committed groups are pending.
  void finishCopies(Thread *thread, size_t groupsLeft);
  // In Warpgroup.cpp: the computation and the checks of wgmma.
  void warpgroup(const Site &site, Thread *const lanes[32]);
  void noteWrite(Thread *thread, const Site *site, uint32_t offset, uint32_t size);
  // Notes that the previous kernel has ended, for a thread that waits for it.
  void waitForGrid(Thread *thread) const;
  // Lets the block's other threads go first.
  void yield(Thread *thread);

  // Returns what keeps ordinary instructions from accessing shared memory that is not live; empty if it does not exist.
  std::string occupant(uint64_t offset, uint64_t size) const;

  // The generic address of shared memory, equal in all blocks.
  static uint64_t sharedWindow();

private:
  struct Barrier {
    uint32_t expected = 0, arrived = 0, popcount = 0;
    const Site *site = nullptr;
    std::vector<Thread *> waiting;
    std::vector<uint32_t> joined; // clocks
    const Site *warpSites[32] = {};
  };

  // The steps that the four warps of a warpgroup must all take, in the same order.
  struct Warpgroup {
    struct Step {
      const Site *site;
      uint64_t a, b; // descriptors
      uint32_t scale;
      bool operator==(const Step &) const = default;
    };
    std::deque<Step> steps;            // from the first step that not all warps have taken
    uint64_t first = 0, taken[4] = {}; // numbers of steps
  };
  // The thread that last wrote a byte with an ordinary instruction (index plus one), and the number of its fences by
  // then.
  struct Writer {
    uint32_t thread, fences;
  };
  // Pending reads of 16 bytes by wgmma or bulk copies: their number, and the last of them.
  struct Readers {
    uint32_t count;
    const Site *site;
  };
  void beginWarpgroups();
  void takeStep(const Site &site, Thread *const lanes[32]);
  void multiplyWarpgroup(const Site &site, Thread *const lanes[32]);
  void checkNotRead(Thread *thread, const Site *site, uint32_t offset, uint32_t size);
  void checkFenced(Thread *thread, const Site *site, uint32_t offset, uint32_t size);
  void retireReads(Warp &warp, size_t groupsLeft);
  // Called when the last lane of a warp has ended.
  void endWarp(Thread *thread);

  uint64_t mbarrierHere(Thread *thread, const Site *site, uint64_t address, uint64_t argument);
  void initMbarrier(Thread *thread, const Site *site, uint64_t address, uint64_t count);
  Mbarrier &findMbarrier(Thread *thread, const Site *site, uint64_t address);
  void invalidateMbarrier(Thread *thread, const Site *site, Mbarrier &mbarrier);
  uint64_t arriveAt(Thread *thread, const Site *site, Mbarrier &mbarrier, uint64_t count);
  void changeBytes(Thread *thread, const Site *site, Mbarrier &mbarrier, int64_t change);
  bool testMbarrier(Thread *thread, const Site *site, Mbarrier &mbarrier, uint64_t argument);
  const TensorMap &tensorMapAt(Thread *thread, const Site *site, uint64_t address);
  void bulkRuns(Thread *thread, const Site *site, uint64_t sharedAt, uint64_t globalAt, uint32_t bytes,
                const std::function<void(uint32_t, uint64_t, uint32_t)> &run);
  void startLoadHere(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint64_t mbarrierAt);
  void checkGlobal(Thread *thread, const Site *site, uint64_t address, uint32_t bytes, Access access);
  void checkShared(Thread *thread, const Site *site, uint32_t offset, uint32_t bytes, Access access);
  void finishLoads(Mbarrier &mbarrier);
  void endLoads(Thread *thread);
  void readStore(Thread *thread, Thread::Store &store);
  void writeStore(Thread *thread, Thread::Store &store);
  void endStores(Thread *thread);
  // Counts pending reads of the async proxy.
  void noteReader(const Site *site, uint32_t offset, uint32_t size, int change);
  // Ends the phase if nothing is missing.
  void tryComplete(Mbarrier &mbarrier);
  std::string nameOf(const Mbarrier &mbarrier) const;
  // Returns what the mbarrier's current phase lacks.
  std::string lackOf(const Mbarrier &mbarrier) const;
  // Returns the lanes of every warp that wait for the same mbarrier as this thread, for messages.
  std::string lanesLike(const Thread &first) const;

  // Returns the block whose shared memory has an address of the cluster, and makes it an address of that block.
  Block &ownerOf(Thread *thread, const Site *site, uint64_t &address);
  Block &blockOfRank(Thread *thread, const Site *site, uint32_t which);
  bool tryCollective(Warp &warp, uint32_t mask, const Site *site, Thread *last);

  Cluster &cluster;
  const Launch *launch = nullptr;
  uint32_t rank = 0; // in the cluster
  uint32_t threadCount = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[kBarriers];
  uint32_t started = 0, ended = 0;
  uint8_t *shared = nullptr;
  uint8_t *sharedShadow = nullptr;
  uint8_t *local = nullptr;
  std::map<uint32_t, Mbarrier> mbarriers; // by their offset
  uint32_t freeRegisters = 0;             // that setmaxnreg.dec has released
  std::vector<Thread *> registerWaiters;
  std::vector<Warpgroup> warpgroups;
  std::vector<Writer> writers;  // for each byte of shared memory
  std::vector<Readers> readers; // for each 16 bytes
};

std::string hexadecimal(uint64_t value);

// Computes a collective for the lanes that take part; the others are null. In Warp.cpp.
void computeCollective(Block &block, const Site &site, Thread *const lanes[32], uint32_t mask);

} // namespace heddle::emulator
