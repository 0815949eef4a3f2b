// What ranks do together with numbers: processes that train one model, each on a device of its own and with its own
// part of every batch.
//
// All ranks call the same functions in the same order, with as many bytes; each call returns when this rank has its
// result. A call that never returns, because another rank is gone, is ended by whoever watches the ranks (Meeting.h).
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
  // All ranks, each with its device, before any of the calls below. Where the devices exchange what is in their
  // memories by themselves, the group that they are in, else null. Device and group outlive the calls below.
  virtual Result<std::unique_ptr<hal::DeviceGroup>> begin(hal::Device &) { return std::unique_ptr<hal::DeviceGroup>(); }
  // Replaces `values`, which are in host memory, by their sums over all ranks: the same bits on each. `what` is for
  // messages of those who watch: "sum 3 of 9 of 'parallel_train_step'".
  virtual Status sum(std::span<float> values, std::string_view what) = 0;
  // Puts what rank r has as `own` at place r of `all`, which has room for as many bytes of each rank, in host memory.
  virtual Status gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) = 0;
  // Replaces `bytes`, which are in host memory, by those of rank 0.
  virtual Status broadcast(std::span<std::byte> bytes, std::string_view what) = 0;
};

} // namespace heddle
