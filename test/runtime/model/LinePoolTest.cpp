// Workers without devices: the test decides which of them answers a line, and when.
#include "runtime/model/LinePool.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace heddle::run {
namespace {

// Answers a line after as many steps as the line says, independently of other lines; "0" needs no step.
class FakeWorker {
public:
  // A step waits while `gate` is false; the step with the number `failingStep` fails.
  explicit FakeWorker(std::string name, std::atomic<bool> *gate = nullptr, int failingStep = -1)
      : name(std::move(name)), gate(gate), failingStep(failingStep) {}

  Status add(const std::string &line) {
    uint64_t number = lines.add();
    if (line == "broken")
      return makeError(ErrorKind::InvalidArgument, "line ", number, " is broken.");
    int steps = std::stoi(line);
    if (steps == 0)
      lines.finish(number, answer(number));
    else
      waiting.emplace(number, steps);
    return Success();
  }
  void skipTo(uint64_t number) { lines.skipTo(number); }
  Status step() {
    if (gate && !waiting.empty())
      gate->wait(false);
    if (!waiting.empty() && ++stepsDone == failingStep)
      return makeError(ErrorKind::DeviceLost, "the device of ", name, " has gone.");
    for (auto line = waiting.begin(); line != waiting.end();) {
      if (--line->second > 0) {
        ++line;
        continue;
      }
      lines.finish(line->first, answer(line->first));
      line = waiting.erase(line);
    }
    return Success();
  }
  std::vector<std::string> take() { return lines.take(); }
  uint64_t held() const { return lines.held(); }
  bool busy() const { return !waiting.empty(); }

private:
  std::string answer(uint64_t number) const { return str(number, " by ", name); }

  std::string name;
  std::atomic<bool> *gate;
  int failingStep, stepsDone = 0;
  std::map<uint64_t, int> waiting;
  InOrder<std::string> lines;
};

using Pool = LinePool<FakeWorker>;

void add(Pool &pool, std::string line) {
  pool.add([line = std::move(line)](FakeWorker &worker) { return worker.add(line); });
}

template <typename... Workers> Pool poolOf(Workers... workers) {
  std::vector<std::unique_ptr<FakeWorker>> all;
  (all.push_back(std::move(workers)), ...);
  return Pool(std::move(all));
}

std::unique_ptr<FakeWorker> worker(std::string name, std::atomic<bool> *gate = nullptr, int failingStep = -1) {
  return std::make_unique<FakeWorker>(std::move(name), gate, failingStep);
}

void open(std::atomic<bool> &gate) {
  gate = true;
  gate.notify_all();
}

TEST(LinePool, AnswersComeInTheLinesOrder) {
  Pool pool = poolOf(worker("a"), worker("b"), worker("c"));
  std::vector<std::string> answers;
  constexpr int kLines = 500;
  int added = 0;
  while (added < kLines || pool.held() != 0) {
    for (; added < kLines && pool.held() < 30; ++added)
      add(pool, std::to_string(added * 7919 % 11)); // number of steps; later lines are often done first
    ASSERT_TRUE(pool.step().ok());
    for (std::string &answer : pool.take())
      answers.push_back(std::move(answer));
  }
  EXPECT_FALSE(pool.busy());
  ASSERT_EQ(answers.size(), size_t(kLines));
  std::set<char> workers;
  for (size_t i = 0; i < answers.size(); ++i) {
    // The line's number, not the worker's own count.
    EXPECT_EQ(answers[i].substr(0, answers[i].find(' ')), std::to_string(i + 1));
    workers.insert(answers[i].back());
  }
  EXPECT_EQ(workers, (std::set{'a', 'b', 'c'}));
}

TEST(LinePool, AWorkerThatIsSlowGetsFewerLines) {
  std::atomic<bool> gate = false;
  Pool pool = poolOf(worker("slow", &gate), worker("fast"));
  add(pool, "1");
  std::vector<std::string> expected = {"1 by slow"};
  for (int line = 2; line <= 9; ++line) {
    add(pool, "1");
    expected.push_back(str(line, " by fast"));
    ASSERT_TRUE(pool.step().ok()); // returns when the fast worker has done its step
    EXPECT_TRUE(pool.take().empty()) << "answers before that of line 1";
    EXPECT_EQ(pool.held(), uint64_t(line));
  }
  EXPECT_TRUE(pool.busy());
  open(gate);
  while (pool.busy())
    ASSERT_TRUE(pool.step().ok());
  EXPECT_EQ(pool.take(), expected);
  EXPECT_EQ(pool.held(), 0u);
}

TEST(LinePool, LinesThatNeedNoStepAreAnswered) {
  Pool pool = poolOf(worker("a"), worker("b"));
  for (int i = 0; i < 3; ++i)
    add(pool, "0");
  while (pool.busy())
    ASSERT_TRUE(pool.step().ok());
  EXPECT_EQ(pool.take(), (std::vector<std::string>{"1 by a", "2 by b", "3 by a"}));
}

TEST(LinePool, NothingToDoIsNotWaitedFor) {
  Pool pool = poolOf(worker("a"), worker("b"));
  EXPECT_TRUE(pool.step().ok());
  EXPECT_FALSE(pool.busy());
}

// Returns the first error of `pool`, while its other worker stays at work.
std::string failureOf(Pool &pool) {
  for (int steps = 0; steps < 100; ++steps)
    if (Status status = pool.step(); !status.ok())
      return status.message();
  return "none";
}

TEST(LinePool, TheErrorOfAWorkerEndsTheWork) {
  std::atomic<bool> gate = false;
  Pool pool = poolOf(worker("a", &gate), worker("b", nullptr, 3));
  add(pool, "9");
  add(pool, "9");
  EXPECT_EQ(failureOf(pool), "the device of b has gone.");
  EXPECT_EQ(failureOf(pool), "the device of b has gone.") << "the error is forgotten";
  EXPECT_TRUE(pool.take().empty());
  open(gate); // drops the lines in work
}

TEST(LinePool, ALineThatAWorkerRefusesIsNamedByItsNumber) {
  Pool pool = poolOf(worker("a"), worker("b"), worker("c"));
  for (int i = 0; i < 4; ++i)
    add(pool, "3");
  add(pool, "broken");
  EXPECT_EQ(failureOf(pool), "line 5 is broken.");
}

// The stacks of this many threads do not fit into memory.
TEST(LinePool, NoThreadToBeHadIsAnException) {
#ifdef HEDDLE_SANITIZERS
  GTEST_SKIP() << "sanitizers end the process if a thread's memory is missing";
#endif
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  std::vector<std::unique_ptr<FakeWorker>> workers;
  for (int i = 0; i < 200; ++i)
    workers.push_back(worker("one"));
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit now = before;
  now.rlim_cur = pages * size_t(::sysconf(_SC_PAGESIZE)) + (64 << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &now), 0);
  EXPECT_THROW(Pool(std::move(workers)), std::system_error);
  ::setrlimit(RLIMIT_AS, &before);
}

} // namespace
} // namespace heddle::run
