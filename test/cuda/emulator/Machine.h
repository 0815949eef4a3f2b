// Runs the blocks of a grid: each thread of PTX on a stack of its own as soon as it waits for another.
#pragma once

#include "test/cuda/emulator/Fiber.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace heddle::emulator {

class Block;
struct Warp;

// What the lanes of a warp do together.
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
};

enum class MmaType : uint8_t { F16, BF16, TF32 };

// An instruction as messages name it, and what its rendezvous computes. Lives as long as its module.
struct Site {
  std::string kernel;
  unsigned line = 0;
  std::string text;
  Collective op = Collective::Sync;
  bool aligned = false;  // every lane must be at this very instruction
  bool isSigned = false; // of min and max
  bool transposed = false;
  bool generic = false;  // a matrix address that is not of the shared space
  bool halfSums = false; // f16 accumulators
  uint8_t count = 1;     // 8x8 matrices
  uint8_t depth = 0;     // k of mma
  MmaType type = MmaType::F16;
  // Of wgmma.
  uint16_t columns = 0; // n
  uint32_t groupsLeft = 0;
  bool registersOfA = false; // else a descriptor
  bool transposedA = false, transposedB = false;
  bool negated = false; // the products
};

enum class Access : uint32_t { Read, Write, Atomic };

enum class Wait : uint8_t { None, Warp, Barrier, ActiveMask };

// In wgmma's slots lie A's registers or descriptor, B's descriptor, scale-d, and the sums.
constexpr unsigned kSlotOfA = 0, kSlotOfB = 4, kSlotOfScale = 6, kSlotOfSums = 8, kSlots = kSlotOfSums + 128;

// One thread of PTX. Generated code reads the first fields by their offsets.
struct Thread {
  uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  uint32_t lane, warpIndex, warpCount;
  uint32_t sharedBytes, dynamicBytes;
  uint8_t *shared;       // Block::kSharedLimit bytes and their shadow
  uint8_t *sharedShadow; // dead from sharedBytes on
  // What the shadow of global memory must have, beside what it always must, where the launch declares its accesses.
  // What a launch has written it may read, whatever it declares.
  uint8_t declaredRead, declaredWrite;
  const uint8_t *params;
  uint64_t localBase; // the host's addresses of what .local declares: [localBase, localTop)
  uint64_t localTop;
  uint64_t localEnd;
  uint32_t slots[kSlots]; // operands of a collective, then its results
  uint32_t mask;          // and the lanes that take part

  Block *block;
  Warp *warp;
  uint32_t index; // in the block
  bool finished;
  Wait wait;
  const Site *site; // where it waits
  Fiber *fiber;
  uint32_t barrierResult;

  struct Copy {
    uint32_t to;
    uint64_t from;
    uint32_t bytes, sourceBytes;
    const Site *site;
  };
  std::vector<Copy> copies;  // cp.async in order, not yet done
  std::deque<size_t> groups; // how many of the oldest copies each committed group has

  // How many fence.proxy.async it has passed, and how many of them before the last barrier that it came to.
  uint32_t proxyFences, publishedFences;
};

struct Warp {
  uint32_t alive = 0; // lanes that have not ended
  Thread *lanes[32] = {};

  // A wgmma that may still read shared memory: the addresses of its 16-byte pieces.
  struct Reads {
    const Site *site;
    std::vector<uint32_t> addresses;
  };
  std::vector<Reads> reads;  // in order, not yet waited for
  std::deque<size_t> groups; // how many of the oldest each committed group has
  bool fenced = false;       // has passed a wgmma.fence
};

struct Launch {
  const char *name;
  void (*kernel)(Thread *);
  const uint8_t *params;
  uint64_t paramBytes;
  uint32_t grid[3], block[3];
  uint32_t sharedBytes, dynamicBytes;
  bool races;       // look for unordered accesses to shared memory
  bool wgmma;       // the module has it: whoever writes shared memory is noted
  bool initialised; // a read of what nothing has written is a fault
  bool declared;    // so is an access that the program did not announce
};

// Why a launch ended early: the driver's error code and the line that names the instruction.
struct Fault {
  int code = 0;
  std::string message;
};

// Runs every block of a grid on the host's threads and returns when all are done.
Fault runGrid(const Launch &launch);

// Remembers who touched each byte of a block's shared memory, in vector clocks over the block's threads.
class Races {
public:
  void begin(uint32_t threads, uint32_t bytes);
  // Returns the index of a thread whose access is not ordered with this one, or -1.
  int64_t touch(uint32_t thread, uint32_t at, uint32_t bytes, Access access);
  // A barrier: what the arrivals did is ordered before what those who leave will do.
  void arrive(uint32_t thread, std::vector<uint32_t> &joined);
  void leave(uint32_t thread, const std::vector<uint32_t> &joined);

private:
  struct Event {
    uint32_t thread, clock;
    bool atomic;
  };
  struct Byte {
    std::vector<Event> reads, writes; // the latest that no later one is ordered after
  };
  bool ordered(const Event &event, uint32_t thread) const;
  uint32_t threads = 0;
  std::vector<std::vector<uint32_t>> clocks;
  std::vector<Byte> bytes;
};

// One block at a time, on one host thread.
class Block {
public:
  static constexpr uint32_t kSharedLimit = 256 << 10;
  static constexpr uint32_t kBarriers = 16;

  Block();
  ~Block();

  void begin(const Launch &launch);
  // False when the block faulted; the message is in `fault`.
  bool run(uint32_t x, uint32_t y, uint32_t z);
  Fault fault;

  // What generated code calls, on the stack of `thread`.
  [[noreturn]] void fail(Thread *thread, const Site *site, int code, const std::string &what);
  // What the shadow of global memory must have for an access.
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
  void raceCheck(Thread *thread, const Site *site, uint32_t offset, uint32_t size, Access access);
  void startCopy(Thread *thread, const Site *site, uint64_t to, uint64_t from, uint32_t bytes, uint32_t sourceBytes);
  // Until no more than `groupsLeft` of the committed groups are under way.
  void finishCopies(Thread *thread, size_t groupsLeft);
  // In Warpgroup.cpp: what wgmma computes and checks.
  void warpgroup(const Site &site, Thread *const lanes[32]);
  void noteWrite(Thread *thread, const Site *site, uint32_t offset, uint32_t size);
  // Lets the others of the block go on first.
  void yield(Thread *thread);

  // The generic addresses of shared memory, the same in every block.
  static uint64_t sharedWindow();

private:
  struct Barrier {
    uint32_t expected = 0, arrived = 0, popcount = 0;
    const Site *site = nullptr;
    std::vector<Thread *> waiting;
    std::vector<uint32_t> joined; // clocks
    const Site *warpSites[32] = {};
  };

  // What the four warps of a warpgroup must all do, in one order.
  struct Warpgroup {
    struct Step {
      const Site *site;
      uint64_t a, b; // descriptors
      uint32_t scale;
      bool operator==(const Step &) const = default;
    };
    std::deque<Step> steps;            // from the first that not all have taken
    uint64_t first = 0, taken[4] = {}; // numbers of steps
  };
  // Who wrote a byte last with an ordinary instruction, by its index plus one, and after how many of its fences.
  struct Writer {
    uint32_t thread, fences;
  };
  // Who reads 16 bytes by wgmma: how many that are not yet waited for, and the last of them.
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
  // The last lane of a warp has ended.
  void endWarp(Thread *thread);

  static void fiberMain(void *self);
  void fiberLoop();
  Fiber *freeFiber();
  void park(Thread *thread);
  void switchFrom(Fiber &from);
  bool releaseActiveMasks();
  [[noreturn]] void deadlock(Fiber &from);
  [[noreturn]] void leave(Fiber &from);
  void endThread(Thread *thread);
  bool tryCollective(Warp &warp, uint32_t mask, const Site *site, Thread *last);

  const Launch *launch = nullptr;
  uint32_t threadCount = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[kBarriers];
  std::deque<Thread *> ready;
  uint32_t started = 0, ended = 0;
  bool startFirst = false; // a thread that has not begun goes before one that polls
  Fiber host;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber *> idle;
  Fiber *current = nullptr;
  uint8_t *shared = nullptr;
  uint8_t *sharedShadow = nullptr;
  uint8_t *local = nullptr;
  Races races;
  std::vector<Warpgroup> warpgroups;
  std::vector<Writer> writers;  // of each byte of shared memory
  std::vector<Readers> readers; // of each 16
};

// Computes a collective for the lanes that take part (null elsewhere); in Warp.cpp.
void computeCollective(Block &block, const Site &site, Thread *const lanes[32], uint32_t mask);

} // namespace heddle::emulator
