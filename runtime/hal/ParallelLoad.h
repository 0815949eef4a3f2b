// Compiles kernels in several host threads, for the backends.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/core/Threads.h"
#include "runtime/hal/Device.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace heddle::hal {

// Calls `loadOne` with the index of every kernel, from several threads. The results are in the kernels' order. If
// several kernels fail, the first kernel's error is returned.
template <typename LoadOne>
Result<std::vector<std::unique_ptr<Executable>>> loadInParallel(std::span<const KernelSource> kernels,
                                                                LoadOne loadOne) {
  std::vector<std::unique_ptr<Executable>> loaded(kernels.size());
  std::vector<std::optional<Error>> errors(kernels.size());
  std::exception_ptr thrown; // by a helper (std::bad_alloc); the calling thread rethrows it
  std::mutex mutex;          // guards `thrown`
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      Span span("compile kernel");
      span.with("kernel", kernels[i].name);
      Result<std::unique_ptr<Executable>> result = loadOne(i);
      if (result)
        loaded[i] = std::move(result).value();
      else
        errors[i] = std::move(result).error();
    }
  };
  size_t threads = std::min<size_t>(hostThreads(), kernels.size());
  {
    std::vector<std::jthread> helpers; // joined even if an exception is thrown
    try {
      for (size_t i = 1; i < threads; ++i)
        helpers.emplace_back([&, i] {
          try {
            nameThread(str("kernel compiler ", i));
            work();
          } catch (...) {
            std::lock_guard lock(mutex);
            thrown = std::current_exception();
          }
        });
    } catch (const std::system_error &) { // no more threads available: the existing ones do the work
    }
    work();
  }
  if (thrown)
    std::rethrow_exception(thrown);
  for (std::optional<Error> &error : errors)
    if (error)
      return std::move(*error);
  return loaded;
}

} // namespace heddle::hal
