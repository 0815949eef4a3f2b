// Builds the inputs of models' entries. The values are viewed, not copied: they must outlive the call.
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Batches.h"

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class CallInputs {
public:
  CallInputs() = default;
  CallInputs(const CallInputs &) = delete;
  CallInputs &operator=(const CallInputs &) = delete;

  CallInputs &add(std::string_view name, std::span<const int32_t> values) { return addVector(name, values); }
  CallInputs &add(std::string_view name, std::span<const float> values) { return addVector(name, values); }

  // source or source_pixels, source_positions, source_starts, source_lengths; source_types, the lists of neighbours,
  // the sentences and strided images where they are there
  CallInputs &addSource(const SourceBatch &source);
  // left, left_positions, left_starts, left_lengths, and the same of the right
  CallInputs &addPairs(const SourceBatch &left, const SourceBatch &right);
  // target_in, target_positions, target_starts, target_lengths
  CallInputs &addTarget(const Batch &batch);
  // The source where there is one, and the target with target_out or labels: what entries that compute a loss read.
  CallInputs &addBatch(const Batch &batch);

  operator std::span<const Input>() const { return inputs; }

private:
  template <typename T> CallInputs &addVector(std::string_view name, std::span<const T> values) {
    return addMatrix(name, values, /*columns=*/0);
  }
  // A vector where there are no columns.
  template <typename T> CallInputs &addMatrix(std::string_view name, std::span<const T> values, int64_t columns) {
    auto elements = int64_t(values.size());
    // A deque, so that the extents that the views point at stay where they are.
    const auto &shape =
        shapes.emplace_back(columns == 0 ? std::vector{elements} : std::vector{elements / columns, columns});
    inputs.push_back({name, TensorView::of(values, std::span(shape))});
    return *this;
  }

  // Adds the pixels, and for each stride the positions, starts and lengths of the images of every stride-th row and
  // column.
  CallInputs &addImages(const SourceBatch &source, const ImageShape &image);

  std::deque<std::vector<int64_t>> shapes;
  std::deque<PackedSequences> strided;
  std::deque<std::string> names;
  std::vector<Input> inputs;
};

} // namespace heddle
