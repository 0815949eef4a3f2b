// Builds the inputs of the Transformer's entries. The values are viewed, not copied: they must outlive the call.
#pragma once

#include "runtime/session/Session.h"
#include "tools/heddle-run/text/Batches.h"

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::run {

class CallInputs {
public:
  CallInputs() = default;
  CallInputs(const CallInputs &) = delete;
  CallInputs &operator=(const CallInputs &) = delete;

  CallInputs &add(std::string_view name, std::span<const int32_t> values) { return addVector(name, values); }
  CallInputs &add(std::string_view name, std::span<const float> values) { return addVector(name, values); }

  // source, source_positions, source_starts, source_lengths; source_types where they are there
  CallInputs &addSource(const SourceBatch &source);
  // target_in, target_positions, target_starts, target_lengths
  CallInputs &addTarget(const Batch &batch);
  // The source where there is one, and the target with target_out or labels: what entries that compute a loss read.
  CallInputs &addBatch(const Batch &batch);

  operator std::span<const Input>() const { return inputs; }

private:
  template <typename T> CallInputs &addVector(std::string_view name, std::span<const T> values) {
    // A deque, so that the extents that the views point at stay where they are.
    const int64_t &extent = extents.emplace_back(int64_t(values.size()));
    inputs.push_back({name, TensorView::of(values, std::span(&extent, 1))});
    return *this;
  }

  std::deque<int64_t> extents;
  std::vector<Input> inputs;
};

} // namespace heddle::run
