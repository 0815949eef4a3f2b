#include "runtime/hal/cpu/ThreadPool.h"

#include "runtime/core/ProcessorCount.h"
#include "runtime/hal/cpu/FloatMode.h"
#include "runtime/hal/cpu/Waiting.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <pthread.h>

namespace heddle::hal::cpu {
namespace {

std::atomic<ThreadPool *> shared = nullptr;
std::mutex sharedMutex; // held while the pool is made

// Keeps other threads from making a pool during a fork. The child forgets the pool, because it does not have its
// threads.
void registerForkHandlers() {
  static const int registered = pthread_atfork([] { sharedMutex.lock(); }, [] { sharedMutex.unlock(); },
                                               [] {
                                                 shared.store(nullptr, std::memory_order_relaxed);
                                                 sharedMutex.unlock();
                                               });
  (void)registered;
}

constexpr auto kAwake = std::chrono::microseconds(50);

} // namespace

ThreadPool &ThreadPool::get() {
  if (ThreadPool *pool = shared.load(std::memory_order_acquire))
    return *pool;
  registerForkHandlers();
  std::lock_guard lock(sharedMutex);
  if (!shared.load(std::memory_order_relaxed))
    shared.store(&create(heddle::threadCount()), std::memory_order_release);
  return *shared.load(std::memory_order_relaxed);
}

ThreadPool &ThreadPool::create(unsigned threads) {
  auto *pool = new ThreadPool(threads); // never deleted: workers may still use it when the process ends
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // the workers inherit the mask
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  unsigned started = 1;
  for (; started < threads; ++started) {
    Worker &worker = pool->workers[started];
    worker = {pool, started};
    pthread_t handle;
    if (pthread_create(&handle, &attributes, main, &worker) != 0)
      break; // no more threads available: the existing ones do the work
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pool->threadCount = started;
  return *pool;
}

ThreadPool::ThreadPool(unsigned threads)
    : crowded(threads > usableProcessors()), workers(std::make_unique<Worker[]>(threads)) {}

void *ThreadPool::main(void *worker) {
  auto [pool, number] = *static_cast<Worker *>(worker);
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "heddle kernels");
#endif
  FloatMode::write(FloatMode::kKernels);
  pool->serve(number);
  return nullptr;
}

void ThreadPool::serve(unsigned thread) {
  for (uint32_t seen = 0;;) {
    uint32_t latest = generation.load(std::memory_order_acquire);
    if (latest == seen) {
      auto since = std::chrono::steady_clock::now();
      bool awake = !crowded;
      while (awake && (latest = generation.load(std::memory_order_acquire)) == seen) {
        for (int i = 0; i < 8; ++i)
          relax();
        awake = std::chrono::steady_clock::now() - since < kAwake;
      }
      if (latest == seen)
        generation.wait(seen, std::memory_order_acquire);
      continue;
    }
    seen = latest;
    // The owner clears `current` and then waits until no worker is attached. So either the owner sees that this thread
    // is attached, or this thread sees a null `current`.
    attached.fetch_add(1, std::memory_order_seq_cst);
    if (LaunchRun *run = current.load(std::memory_order_seq_cst); run && thread < run->threads)
      run->work(thread, crowded);
    attached.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void ThreadPool::run(LaunchRun &run, std::span<TaskTime> times) {
  auto work = [&] { times.empty() ? run.work(0, crowded) : run.workTimed(times, crowded); };
  bool isShared = std::ranges::any_of(run.tasks, &LaunchTask::isShared);
  if (threadCount == 1 || run.threads == 1 || !isShared || !owner.try_lock()) {
    run.threads = 1;
    return work();
  }
  std::lock_guard lock(owner, std::adopt_lock);
  run.threads = std::min(run.threads, threadCount);
  current.store(&run, std::memory_order_seq_cst);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  work();
  run.waitForAll(crowded);
  current.store(nullptr, std::memory_order_seq_cst);
  waitUntil([&] { return attached.load(std::memory_order_seq_cst) == 0; }, crowded);
}

} // namespace heddle::hal::cpu
