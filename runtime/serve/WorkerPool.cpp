#include "runtime/serve/WorkerPool.h"

#include "runtime/core/Span.h"

namespace heddle::serve {

WorkerPool::WorkerPool(size_t count) {
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([this] { work(); });
}

void WorkerPool::add(std::function<void()> task) {
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
  }
  wake.notify_one();
}

void WorkerPool::stop() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex);
    stopped = true;
    dropped.swap(tasks);
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    if (thread.joinable())
      thread.join();
}

void WorkerPool::work() {
  nameThread("request reader");
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return stopped || !tasks.empty(); });
    if (stopped)
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = {};
    lock.lock();
  }
}

} // namespace heddle::serve
