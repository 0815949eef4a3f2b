#include "runtime/serve/ModelThread.h"

#include "runtime/core/Span.h"

#include <utility>

namespace heddle::serve {

ModelThread::ModelThread(std::function<bool()> step) : step(std::move(step)), thread([this] { work(); }) {}

void ModelThread::post(std::function<void()> function) {
  {
    std::lock_guard lock(mutex);
    functions.push_back(std::move(function));
  }
  wake.notify_one();
}

void ModelThread::stop() {
  {
    std::lock_guard lock(mutex);
    stopped = true;
  }
  wake.notify_one();
  if (thread.joinable())
    thread.join();
}

void ModelThread::work() {
  nameThread("model");
  bool isBusy = false;
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return stopped || isBusy || !functions.empty(); });
    if (stopped)
      return;
    std::deque<std::function<void()>> given = std::exchange(functions, {});
    lock.unlock();
    for (std::function<void()> &function : given)
      std::exchange(function, {})();
    isBusy = step();
    lock.lock();
  }
}

} // namespace heddle::serve
