// Threads for work that is too slow for the server's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::serve {

class WorkerPool {
public:
  explicit WorkerPool(size_t count);
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  void add(std::function<void()> task);
  // Waits for running tasks and drops the others.
  void stop();

private:
  void work();

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> tasks;
  bool stopped = false;
  std::vector<std::thread> threads;
};

} // namespace heddle::serve
