// Compiling kernels on all of the host's processors, for the backends.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/hal/Device.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace heddle::hal {

// Calls `loadOne` for the index of every kernel, from several threads. The results are in order; of several errors it
// is the first kernel's that is reported.
template <typename LoadOne>
Result<std::vector<std::unique_ptr<Executable>>> loadInParallel(std::span<const KernelSource> kernels,
                                                                LoadOne loadOne) {
  std::vector<std::unique_ptr<Executable>> loaded(kernels.size());
  std::vector<std::optional<Error>> errors(kernels.size());
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
  size_t threads = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), kernels.size());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; ++i)
    helpers.emplace_back([&work, i] {
      nameThread(str("kernel compiler ", i));
      work();
    });
  work();
  for (std::thread &helper : helpers)
    helper.join();
  for (std::optional<Error> &error : errors)
    if (error)
      return std::move(*error);
  return loaded;
}

} // namespace heddle::hal
