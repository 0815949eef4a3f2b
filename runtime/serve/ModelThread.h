// The thread that runs a model. Other threads hand it functions, which run between the model's steps.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::serve {

class ModelThread {
public:
  // `step` runs a step. It returns true if another step must follow even if no function is handed over.
  explicit ModelThread(std::function<bool()> step);
  // Waits for the running step; functions that have not run are dropped.
  ~ModelThread() { stop(); }
  ModelThread(const ModelThread &) = delete;
  ModelThread &operator=(const ModelThread &) = delete;

  void post(std::function<void()> function);
  void stop();

private:
  void work();

  std::function<bool()> step;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> functions;
  bool stopped = false;
  std::thread thread;
};

} // namespace heddle::serve
