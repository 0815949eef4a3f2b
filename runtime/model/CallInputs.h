// Builds the inputs of models' entries. Values are not copied: they must outlive the call.
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/session/Session.h"

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

  // source or source_pixels, source_positions, source_starts, source_lengths; and, if the batch has them, source_types,
  // neighbour lists, sentences and strided images
  CallInputs &addSource(const SourceBatch &source);
  // left, left_positions, left_starts, left_lengths, and the same four for the right side
  CallInputs &addPairs(const SourceBatch &left, const SourceBatch &right);
  // target_in, target_positions, target_starts, target_lengths
  CallInputs &addTarget(const Batch &batch);
  // All inputs of entries that compute a loss: the source if there is one, and the target with target_out, or labels.
  CallInputs &addBatch(const Batch &batch);

  operator std::span<const Input>() const { return inputs; }

private:
  template <typename T> CallInputs &addVector(std::string_view name, std::span<const T> values) {
    return addMatrix(name, values, /*columns=*/0);
  }
  // `columns` is 0 for a vector.
  template <typename T> CallInputs &addMatrix(std::string_view name, std::span<const T> values, int64_t columns) {
    auto elements = int64_t(values.size());
    // A deque, so that pointers to the extents stay valid.
    const auto &shape =
        shapes.emplace_back(columns == 0 ? std::vector{elements} : std::vector{elements / columns, columns});
    inputs.push_back({name, TensorView::of(values, std::span(shape))});
    return *this;
  }

  // Adds the pixels, and for each stride s the positions, starts and lengths of images reduced to every s-th row and
  // column.
  CallInputs &addImages(const SourceBatch &source, const ImageShape &image);

  std::deque<std::vector<int64_t>> shapes;
  std::deque<PackedSequences> strided;
  std::deque<std::string> names;
  std::vector<Input> inputs;
};

} // namespace heddle
