// Distributes the clusters of a grid over the host's threads.
#include "runtime/core/Threads.h"
#include "test/cuda/emulator/Cluster.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace heddle::emulator {
namespace {

class Pool {
public:
  static Pool &get() {
    static Pool *pool = new Pool; // its threads may outlive static destructors
    return *pool;
  }

  Fault run(const Launch &newLaunch) {
    std::lock_guard one(launching);
    uint64_t clusters = 1;
    for (unsigned i = 0; i < 3; ++i)
      clusters *= newLaunch.grid[i] / newLaunch.cluster[i];
    {
      std::lock_guard lock(mutex);
      launch = &newLaunch;
      total = clusters;
      next = 0;
      fault = {};
      stop = false;
      helpers = clusters > 1 ? count - 1 : 0;
      working = helpers;
      ++generation;
    }
    if (helpers)
      wake.notify_all();
    work(own);
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return working == 0; });
    return fault;
  }

private:
  Pool() {
    const char *wanted = std::getenv("HEDDLE_EMULATOR_THREADS");
    long chosen = wanted ? std::strtol(wanted, nullptr, 10) : static_cast<long>(hostThreads());
    count = static_cast<unsigned>(std::clamp(chosen, 1L, 64L));
    for (unsigned i = 1; i < count; ++i)
      std::thread([this, i] { helper(i); }).detach();
  }

  void helper(unsigned index) {
    Cluster cluster;
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation != seen && index <= helpers; });
        seen = generation;
      }
      work(cluster);
      std::lock_guard lock(mutex);
      if (--working == 0)
        done.notify_all();
    }
  }

  void work(Cluster &cluster) {
    bool begun = false;
    for (uint64_t i; !stop && (i = next++) < total;) {
      if (!begun)
        cluster.begin(*launch);
      begun = true;
      if (cluster.run(i))
        continue;
      std::lock_guard lock(mutex);
      if (!stop)
        fault = cluster.fault;
      stop = true;
    }
  }

  std::mutex launching; // held while a whole grid runs
  std::mutex mutex;
  std::condition_variable wake, done;
  unsigned count = 1, helpers = 0, working = 0;
  uint64_t generation = 0;
  const Launch *launch = nullptr;
  uint64_t total = 0;
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> stop = false;
  Fault fault;
  Cluster own;
};

} // namespace

Fault runGrid(const Launch &launch) { return Pool::get().run(launch); }

} // namespace heddle::emulator
