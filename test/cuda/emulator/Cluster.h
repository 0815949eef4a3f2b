// A cluster of blocks that run at the same time on one host thread; most have one block. It schedules their threads.
#pragma once

#include "test/cuda/emulator/Machine.h"

namespace heddle::emulator {

class Cluster {
public:
  // A shared address of the cluster has a block's rank plus one in its upper bits, or zero for the thread's own block.
  static constexpr unsigned kRankShift = 24;
  static constexpr uint32_t kMostBlocks = 8;

  void begin(const Launch &launch);
  // Runs the blocks of the cluster at this position of the grid of clusters. Returns false if one faulted; the message
  // is then in `fault`.
  bool run(uint64_t index);
  Fault fault;

  // For its blocks.
  uint32_t size() const { return static_cast<uint32_t>(blocks.size()); }
  Block &block(uint32_t rank) { return *blocks[rank]; }
  Thread &threadOf(uint32_t number);
  bool allStarted() const;
  void park(Thread *thread);
  // Continues with other threads, and begins later threads before it comes back.
  void yield(Thread *thread);
  // The current thread has ended, and the frames on its stack are abandoned.
  [[noreturn]] void abandon();
  // Ends the launch: the fault is known.
  [[noreturn]] void leave();
  void arrive(Thread *thread, const Site *site);
  void wait(Thread *thread, const Site *site);
  void endThread(Thread *thread);

  std::deque<Thread *> ready;
  Races races;

private:
  static void fiberMain(void *self);
  void fiberLoop();
  Fiber *freeFiber();
  // Continues with any thread that can run.
  void switchFrom(Fiber &from);
  bool wakeAny();
  [[noreturn]] void deadlock();
  void tryComplete();
  Block *nextToStart() const;
  bool allEnded() const { return ended == threadCount; }

  const Launch *launch = nullptr;
  std::vector<std::unique_ptr<Block>> blocks, spare;
  uint32_t threadCount = 0, ended = 0; // threads of all blocks
  bool startFirst = false;             // a thread that has not started goes before one that polls
  Fiber host;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber *> idle;
  Fiber *current = nullptr;

  // barrier.cluster
  uint64_t phase = 0;
  uint32_t arrived = 0; // threads that have not ended
  std::vector<Thread *> waiting;
  std::vector<uint32_t> joined, completed; // clocks
};

} // namespace heddle::emulator
