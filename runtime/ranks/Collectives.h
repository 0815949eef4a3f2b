// Collective operations of ranks: processes that train a model together, each on a device of its own and with its own
// part of every batch.
//
// All ranks call the same functions in the same order, with equally many bytes. Each call returns when this rank has
// its result. If a call hangs because another rank is gone, the meeting ends the process (Meeting.h).
#pragma once

#include "runtime/core/Status.h"
#include "runtime/hal/Device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace heddle {

class Collectives {
public:
  virtual ~Collectives() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t ranks() const = 0;
  // Every rank calls this with its device before the functions below. Returns the group of the devices if they exchange
  // tensors by themselves, else null. Device and group must outlive the calls below.
  virtual Result<std::unique_ptr<hal::DeviceGroup>> begin(hal::Device &) { return std::unique_ptr<hal::DeviceGroup>(); }
  // Replaces `values`, in host memory, by their sums over all ranks, with the same bits on each. `what` names the sum
  // in messages: "sum 3 of 9 of 'parallel_train_step'".
  virtual Status sum(std::span<float> values, std::string_view what) = 0;
  // Concatenates the ranks' `own` bytes in `all`, in the order of the ranks. Both are in host memory; `all` has
  // own.size() bytes for each rank.
  virtual Status gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) = 0;
  // Replaces `bytes`, in host memory, by those of rank 0.
  virtual Status broadcast(std::span<std::byte> bytes, std::string_view what) = 0;
};

} // namespace heddle
