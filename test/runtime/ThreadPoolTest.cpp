// The threads that run kernels, without a device: each workgroup runs exactly once, whichever thread calls.
#include "runtime/hal/cpu/ThreadPool.h"
#include "runtime/core/ProcessorCount.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cpu/FloatMode.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace heddle::hal::cpu {
namespace {

// Binding 0: one counter for each workgroup.
void countOnce(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *) {
  auto *counters = reinterpret_cast<uint32_t *>(bindings[0]);
  for (uint32_t i = first; i < first + count; ++i)
    ++counters[i];
}

// Binding 0: the counters before the launch. Binding 1: this launch's counters, which are one higher.
void addOne(const uint64_t *bindings, const uint32_t *grid, uint32_t first, uint32_t count, void *) {
  const auto *before = reinterpret_cast<const uint32_t *>(bindings[0]);
  auto *after = reinterpret_cast<uint32_t *>(bindings[1]);
  for (uint32_t i = first; i < first + count; ++i)
    after[i] = before[grid[0] - 1 - i] + 1; // reads the result of another workgroup
}

void doNothing(const uint64_t *, const uint32_t *, uint32_t, uint32_t, void *) {}

// Binding 0: one word per thread. Each thread has its own scratch.
void useScratch(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *scratch) {
  auto *own = static_cast<uint32_t *>(scratch);
  auto *results = reinterpret_cast<uint32_t *>(bindings[0]);
  for (uint32_t i = first; i < first + count; ++i) {
    for (uint32_t j = 0; j < 16; ++j)
      own[j] = i + j;
    results[i] = own[3];
  }
}

// Launches that each depend on the one before.
struct Chain {
  explicit Chain(uint32_t workgroups, size_t launches) : values(launches + 1, std::vector<uint32_t>(workgroups)) {
    tasks = std::make_unique<LaunchTask[]>(launches);
    for (size_t i = 0; i < launches; ++i) {
      order.push_back(static_cast<uint32_t>(i));
      bindings.push_back(
          {reinterpret_cast<uint64_t>(values[i].data()), reinterpret_cast<uint64_t>(values[i + 1].data())});
    }
    for (size_t i = 0; i < launches; ++i) {
      tasks[i].entry = addOne;
      tasks[i].bindings = bindings[i].data();
      if (i)
        tasks[i].after = std::span(order).subspan(i - 1, 1);
      tasks[i].reset(workgroups, 1, 1);
    }
  }

  // Runs the chain, and returns true if the last launch has the right values. `prepare` is called for each launch.
  bool run(ThreadPool &pool, const std::function<void(size_t)> &prepare = {}) {
    for (size_t i = 0; i < bindings.size(); ++i) {
      tasks[i].reset(tasks[i].grid[0], 1, 1);
      tasks[i].isShort = false, tasks[i].chunk = 1; // so that the threads share it even if it is small
      if (prepare)
        prepare(i);
    }
    LaunchRun run{std::span(tasks.get(), bindings.size()), pool.threads()};
    pool.run(run);
    for (uint32_t value : values.back())
      if (value != values.front()[0] + bindings.size())
        return false;
    return true;
  }

  std::vector<std::vector<uint32_t>> values;
  std::vector<uint32_t> order;
  std::vector<std::array<uint64_t, 2>> bindings;
  std::unique_ptr<LaunchTask[]> tasks;
};

class ThreadPoolTest : public testing::TestWithParam<unsigned> {
protected:
  // Pools live until the process ends, so that they are never destroyed.
  static ThreadPool &pool() {
    static auto &pools = *new std::map<unsigned, ThreadPool *>;
    ThreadPool *&pool = pools[GetParam()];
    if (!pool)
      pool = &ThreadPool::create(GetParam());
    return *pool;
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8, 40), testing::PrintToStringParamName());

TEST_P(ThreadPoolTest, eachWorkgroupRunsOnce) {
  for (uint32_t workgroups : {0u, 1u, 2u, 3u, 7u, 64u, 1000u, 100'000u}) {
    std::vector<uint32_t> counters(workgroups);
    uint64_t binding = reinterpret_cast<uint64_t>(counters.data());
    LaunchTask task;
    task.entry = countOnce;
    task.bindings = &binding;
    task.reset(workgroups, 1, 1);
    LaunchRun run{std::span(&task, 1), pool().threads()};
    pool().run(run);
    EXPECT_EQ(counters, std::vector<uint32_t>(workgroups, 1));
  }
}

TEST_P(ThreadPoolTest, launchesFollowEachOther) {
  for (uint32_t workgroups : {1u, 5u, 300u}) {
    Chain chain(workgroups, 50);
    for (int round = 0; round < 50; ++round)
      ASSERT_TRUE(chain.run(pool())) << workgroups << " workgroups, round " << round;
  }
}

// Binding 0: for each workgroup, the thread that ran it, as a hash. Those of the second half take long.
void noteThread(const uint64_t *bindings, const uint32_t *grid, uint32_t first, uint32_t count, void *) {
  for (uint32_t i = first; i < first + count; ++i) {
    if (i >= grid[0] / 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reinterpret_cast<size_t *>(bindings[0])[i] = std::hash<std::thread::id>()(std::this_thread::get_id());
  }
}

TEST(LaunchSharesTest, aThreadWhoseShareIsEmptyTakesFromOthers) {
  constexpr uint32_t count = 200;
  std::vector<size_t> threads(count);
  uint64_t binding = reinterpret_cast<uint64_t>(threads.data());
  LaunchTask task;
  task.entry = noteThread;
  task.bindings = &binding;
  task.reset(count, 1, 1);
  static ThreadPool &pool = ThreadPool::create(2);
  LaunchRun run{std::span(&task, 1), pool.threads()};
  pool.run(run);
  const size_t own = std::hash<std::thread::id>()(std::this_thread::get_id());
  EXPECT_EQ(std::ranges::count(threads, 0u), 0);
  EXPECT_EQ(threads.front(), own) << "the caller's share comes first";
  EXPECT_NE(std::ranges::count(threads.begin() + count / 2, threads.end(), own), 0);
}

// A token of a small model is hundreds of launches. The best of many runs counts, because other work delays a thread.
TEST(LaunchCostTest, anEmptyLaunchTakesLessThanTwoMicroseconds) {
#ifdef HEDDLE_SANITIZERS
  GTEST_SKIP() << "sanitizers slow launches down";
#endif
  if (usableProcessors() < 2)
    GTEST_SKIP() << "two threads need two processors";
  constexpr size_t launches = 1000;
  static ThreadPool &pool = ThreadPool::create(2);
  for (bool isShort : {false, true}) // shared by both threads, or left to one of them
    for (uint32_t workgroups : {0u, 1u, 2u}) {
      std::vector<uint32_t> order(launches);
      auto tasks = std::make_unique<LaunchTask[]>(launches);
      double best = 1e9;
      for (int round = 0; round < 100; ++round) {
        for (size_t i = 0; i < launches; ++i) {
          order[i] = static_cast<uint32_t>(i);
          tasks[i].entry = doNothing;
          if (i)
            tasks[i].after = std::span(order).subspan(i - 1, 1);
          tasks[i].reset(workgroups, 1, 1);
          tasks[i].isShort = isShort;
        }
        LaunchRun run{std::span(tasks.get(), launches), pool.threads()};
        auto begin = std::chrono::steady_clock::now();
        pool.run(run);
        std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
        best = std::min(best, spent.count() / launches);
      }
      std::printf("%s, %u workgroups: %.3f us a launch\n", isShort ? "one thread" : "two threads", workgroups, best);
      EXPECT_LT(best, 2) << workgroups << " workgroups";
    }
}

// Binding 0: a word for each of two workgroups; the second takes long.
void setLate(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *) {
  for (uint32_t i = first; i < first + count; ++i) {
    if (i == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    reinterpret_cast<uint32_t *>(bindings[0])[i] = 1;
  }
}

// Binding 0: two words, binding 1: their sum.
void addBoth(const uint64_t *bindings, const uint32_t *, uint32_t, uint32_t, void *) {
  const auto *words = reinterpret_cast<const uint32_t *>(bindings[0]);
  *reinterpret_cast<uint32_t *>(bindings[1]) = words[0] + words[1];
}

// A launch after one without workgroups waits for that launch's dependencies.
TEST(CpuProgramTest, launchesWithoutWorkgroupsHoldOthersBack) {
  DeviceInfo info;
  info.memoryBytes = 1 << 20;
  CpuDevice device(info);
  auto memory = device.allocate("words", 3 * sizeof(uint32_t));
  ASSERT_TRUE(memory.ok()) << memory.message();
  const CpuKernel late(nullptr, setLate, 0), add(nullptr, addBoth, 0);
  const std::array<Argument, 2> arguments{Argument{memory->get(), 0, 8}, Argument{memory->get(), 8, 4}};
  const std::array<uint32_t, 3> order{0, 1, 2};
  auto after = [&](size_t i) { return std::span<const uint32_t>(order).subspan(i, 1); };
  const std::array<Launch, 4> launches{
      Launch{&late, arguments, 0, false, std::span<const uint32_t>()}, Launch{&add, arguments, 1, true, after(0)},
      Launch{&add, arguments, 1, true, after(1)}, Launch{&add, arguments, 2, true, after(2)}};
  auto program = device.record(launches, 3, /*timed=*/false);
  ASSERT_TRUE(program.ok()) << program.message();
  constexpr WorkgroupCount none{0, 1, 1}, one{1, 1, 1}, two{2, 1, 1};
  std::array<uint32_t, 3> words{};
  for (int round = 0; round < 6; ++round) {
    words = {};
    ASSERT_TRUE(device.write(**memory, 0, std::as_bytes(std::span(words))).ok());
    // Every other round runs other launches than the round before.
    ASSERT_TRUE((*program)->submit({}, std::array{two, round % 4 < 2 ? none : one, one}).ok());
    ASSERT_TRUE(device.read(**memory, 0, std::as_writable_bytes(std::span(words))).ok());
    ASSERT_EQ(words[2], 2u) << "round " << round;
  }
}

// A thread that waits for a short launch runs it itself, if its owner does not come.
TEST_P(ThreadPoolTest, shortLaunchesFollowEachOther) {
  for (uint32_t workgroups : {1u, 5u, 300u}) {
    Chain chain(workgroups, 60);
    for (int round = 0; round < 50; ++round)
      ASSERT_TRUE(chain.run(pool(),
                            [&](size_t i) {
                              chain.tasks[i].isShort = i % 4 != 0;
                              chain.tasks[i].owner = static_cast<uint32_t>(i % 3);
                            }))
          << workgroups << " workgroups, round " << round;
  }
}

TEST(LaunchTaskTest, shortLaunchesThatDoNotWaitGoToOtherThreads) {
  std::array<LaunchTask, 4> tasks;
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].spent = 1, tasks[i].measured = 100; // of 100 workgroups in a tick
    tasks[i].followsPrevious = i == 3;
    tasks[i].reset(100, 1, 1, i ? &tasks[i - 1] : nullptr);
    EXPECT_TRUE(tasks[i].isShort);
    EXPECT_FALSE(tasks[i].isShared());
    EXPECT_EQ(tasks[i].owner, i < 3 ? i : 0);
  }
}

TEST_P(ThreadPoolTest, severalThreadsMayCall) {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 6; ++i)
      callers.emplace_back([&] {
        Chain chain(100, 20);
        for (int round = 0; round < 50; ++round)
          wrong += !chain.run(pool());
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(ThreadPoolTest, scratchIsOfTheThread) {
  std::vector<uint32_t> results(5000);
  constexpr uint64_t stride = kLaunchBytes + 64;
  std::vector<std::byte> scratch(stride * pool().threads());
  uint64_t binding = reinterpret_cast<uint64_t>(results.data());
  LaunchTask task;
  task.entry = useScratch;
  task.bindings = &binding;
  task.reset(5000, 1, 1);
  LaunchRun run{std::span(&task, 1), pool().threads(), scratch.data(), stride};
  pool().run(run);
  for (uint32_t i = 0; i < results.size(); ++i)
    ASSERT_EQ(results[i], i + 3);
}

// Counts a thread's calls before its scratch memory. Binding 0: for each workgroup, the calls before its own.
void countCalls(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *scratch) {
  auto *calls = reinterpret_cast<uint64_t *>(static_cast<std::byte *>(scratch) - kLaunchBytes);
  auto *results = reinterpret_cast<uint64_t *>(bindings[0]);
  ++*calls;
  std::fill_n(results + first, count, *calls);
}

TEST_P(ThreadPoolTest, launchesKeepTheirBytes) {
  constexpr uint32_t count = 5000;
  std::vector<uint64_t> results[2] = {std::vector<uint64_t>(count), std::vector<uint64_t>(count)};
  uint64_t bindings[2] = {reinterpret_cast<uint64_t>(results[0].data()), reinterpret_cast<uint64_t>(results[1].data())};
  std::vector<std::byte> scratch(kLaunchBytes * pool().threads());
  LaunchTask tasks[2];
  for (int i = 0; i < 2; ++i) {
    tasks[i].entry = countCalls;
    tasks[i].bindings = &bindings[i];
    tasks[i].reset(count, 1, 1);
  }
  LaunchRun run{std::span(tasks), pool().threads(), scratch.data(), kLaunchBytes};
  pool().run(run);
  for (const std::vector<uint64_t> &ofLaunch : results) {
    EXPECT_EQ(std::ranges::min(ofLaunch), 0u) << "all ones at first";
    EXPECT_LT(std::ranges::max(ofLaunch), count);
  }
}

TEST_P(ThreadPoolTest, timesFollowEachOther) {
  Chain chain(100, 10);
  std::vector<TaskTime> times(10);
  LaunchRun run{std::span(chain.tasks.get(), 10), pool().threads()};
  pool().run(run, times);
  EXPECT_EQ(chain.values.back()[0], 10u);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_LE(times[i].begin, times[i].end);
    EXPECT_LE(i ? times[i - 1].end : 0, times[i].begin);
  }
}

// Binding 0: the state in each workgroup. Binding 1: whether signals were blocked there.
void noteState(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *) {
  for (uint32_t i = first; i < first + count; ++i) {
    reinterpret_cast<uint64_t *>(bindings[0])[i] = FloatMode::read() & FloatMode::kKernels;
    std::this_thread::yield();
  }
}

TEST_P(ThreadPoolTest, workersHaveTheStateOfKernels) {
  std::vector<uint64_t> states(2000);
  std::array<uint64_t, 1> bindings = {reinterpret_cast<uint64_t>(states.data())};
  LaunchTask task;
  task.entry = noteState;
  task.bindings = bindings.data();
  task.reset(2000, 1, 1);
  LaunchRun run{std::span(&task, 1), pool().threads()};
  uint64_t before = FloatMode::read();
  {
    FloatMode mode;
    pool().run(run);
  }
  EXPECT_EQ(FloatMode::read(), before);
  EXPECT_EQ(states, std::vector<uint64_t>(2000, FloatMode::kKernels));
}

// A signal to the process is handled by a thread that does not block it, so never by a worker.
std::atomic<bool> onMain = false;
pthread_t mainThread;

TEST(ThreadPoolSignalTest, workersBlockSignals) {
  ThreadPool &pool = ThreadPool::create(4);
  mainThread = pthread_self();
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { onMain = pthread_equal(pthread_self(), mainThread) != 0; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Chain chain(100, 10);
  for (int round = 0; round < 20; ++round) {
    onMain = false;
    ASSERT_TRUE(chain.run(pool));
    ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
    for (int wait = 0; wait < 1000 && !onMain; ++wait)
      usleep(1000);
    EXPECT_TRUE(onMain);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(ThreadPoolForkTest, aChildHasAPoolOfItsOwn) {
  setenv("HEDDLE_THREADS", "3", 1);
  ThreadPool &parent = ThreadPool::get();
  EXPECT_EQ(&parent, &ThreadPool::get());
  Chain chain(100, 10);
  ASSERT_TRUE(chain.run(parent));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20); // a child without workers would wait for them for ever
    ThreadPool &own = ThreadPool::get();
    bool right = &own != &parent && own.threads() == 3;
    for (int round = 0; round < 20; ++round)
      right &= chain.run(own);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(chain.run(parent));
}

} // namespace
} // namespace heddle::hal::cpu
