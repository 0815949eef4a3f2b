// Runs several workers that answer lines (LineTranslator.h, LineGenerator.h, ...), each on its own device.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/core/Status.h"
#include "runtime/model/LineWork.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace heddle {

// Each worker has a thread. A line goes to the worker with the fewest lines in work. It keeps its number, which seeds
// its random numbers, so that its answer does not depend on the worker. Answers are returned in the lines' order.
template <typename Worker> class LinePool {
public:
  using Answer = typename decltype(std::declval<Worker &>().take())::value_type;
  // Passes a line to a worker; called in the worker's thread.
  using Line = std::function<Status(Worker &)>;

  // Throws std::system_error if a thread cannot be created.
  explicit LinePool(std::vector<std::unique_ptr<Worker>> workers) : threads(workers.size()) {
    try {
      for (size_t i = 0; i < threads.size(); ++i) {
        threads[i].worker = std::move(workers[i]);
        threads[i].thread = std::thread([this, i] { work(threads[i], i); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  // Waits for running steps; lines without an answer are dropped.
  ~LinePool() { stop(); }
  LinePool(const LinePool &) = delete;
  LinePool &operator=(const LinePool &) = delete;

  // Adds the next line. Workers get it at the next step(), so that lines added together are batched together.
  void add(Line line) {
    DeviceThread &device = *std::ranges::min_element(threads, {}, &DeviceThread::lines);
    device.distributed.push_back({answers.add(), std::move(line)});
    ++device.lines;
  }
  // Waits until a worker has done a step, if any worker has lines. Returns the error of the first worker that fails,
  // but only at the next call, so that the answers that are ready can be taken first.
  Status step() {
    std::unique_lock lock(mutex);
    for (DeviceThread &device : threads)
      std::ranges::move(std::exchange(device.distributed, {}), std::back_inserter(device.queue));
    wake.notify_all();
    changed.wait(lock, [&] { return failure || steps != seenSteps || !busy(); });
    bool isTold = failureSeen; // seen by the previous step(), whose answers have been taken
    failureSeen = failure.has_value();
    seenSteps = steps;
    for (DeviceThread &device : threads) {
      device.lines -= device.done.size();
      for (auto &[number, answer] : std::exchange(device.done, {}))
        answers.finish(number, std::move(answer));
    }
    return isTold ? Status(*failure) : Status(Success());
  }
  std::vector<Answer> take() { return answers.take(); }
  uint64_t held() const { return answers.held(); }
  bool busy() const {
    return std::ranges::any_of(threads, [](const DeviceThread &device) { return device.lines != 0; });
  }

private:
  struct Job {
    uint64_t number;
    Line line;
  };
  struct DeviceThread {
    // Used by the pool's thread: the lines that step() will hand over, and the number of lines without a seen answer.
    std::vector<Job> distributed;
    size_t lines = 0;
    // Shared by both threads, under the mutex.
    std::vector<Job> queue;
    std::vector<std::pair<uint64_t, Answer>> done;
    // Used by the device's thread.
    std::unique_ptr<Worker> worker;
    std::deque<uint64_t> numbers; // of the worker's lines, in order
    std::thread thread;
  };
  using Done = std::vector<std::pair<uint64_t, Answer>>;

  void stop() {
    {
      std::lock_guard lock(mutex);
      stopped = true;
    }
    wake.notify_all();
    for (DeviceThread &device : threads)
      if (device.thread.joinable())
        device.thread.join();
  }

  void work(DeviceThread &device, size_t index) {
    nameThread(str("device worker ", index));
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stopped || !device.queue.empty() || device.worker->busy(); });
      if (stopped)
        return;
      std::vector<Job> jobs = std::exchange(device.queue, {});
      lock.unlock();
      Result<Done> done = stepOf(device, jobs);
      lock.lock();
      if (done.ok())
        std::ranges::move(*done, std::back_inserter(device.done));
      else if (!failure)
        failure = done.error();
      ++steps;
      changed.notify_one();
      if (!done.ok())
        return;
    }
  }

  static Result<Done> stepOf(DeviceThread &device, const std::vector<Job> &jobs) {
    for (const Job &job : jobs) {
      device.worker->skipTo(job.number);
      device.numbers.push_back(job.number);
      HEDDLE_CHECK(job.line(*device.worker));
    }
    HEDDLE_CHECK(device.worker->step());
    Done done;
    for (Answer &answer : device.worker->take()) {
      done.emplace_back(device.numbers.front(), std::move(answer));
      device.numbers.pop_front();
    }
    return done;
  }

  InOrder<Answer> answers;
  uint64_t seenSteps = 0;
  bool failureSeen = false;
  std::mutex mutex;
  std::condition_variable wake, changed; // `wake` wakes the workers' threads, `changed` the pool's
  uint64_t steps = 0;                    // done by all workers
  std::optional<Error> failure;
  bool stopped = false;
  std::vector<DeviceThread> threads; // must be the last member: the threads use the others
};

} // namespace heddle
