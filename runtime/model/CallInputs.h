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

  CallInputs &add(std::string_view name, std::span<const int32_t> values) { return addMatrix(name, values, 0); }
  CallInputs &add(std::string_view name, std::span<const float> values) { return addMatrix(name, values, 0); }

  // What the model reads of a batch: the texts or images under the names of their side (source, left, right, target),
  // which also begin the names of their positions, starts and lengths.
  CallInputs &addText(const Batch &batch);
  // All inputs of entries that compute a loss: addText(), and the tokens to predict or the labels.
  CallInputs &addBatch(const Batch &batch);

  operator std::span<const Input>() const { return inputs; }

private:
  // `columns` is 0 for a vector.
  template <typename T> CallInputs &addMatrix(std::string_view name, std::span<const T> values, int64_t columns) {
    auto elements = int64_t(values.size());
    // A deque, so that pointers to the extents stay valid.
    const auto &shape =
        shapes.emplace_back(columns == 0 ? std::vector{elements} : std::vector{elements / columns, columns});
    inputs.push_back({name, TensorView::of(values, std::span(shape))});
    return *this;
  }
  // Adds values of a side, unless the batch has none.
  template <typename T>
  void addTo(std::string_view side, const char *port, const std::vector<T> &values, int64_t columns = 0) {
    if (!values.empty())
      addMatrix(names.emplace_back(str(side, port)), std::span(values), columns);
  }
  void addSequences(std::string_view side, const PackedSequences &sequences);
  void addSide(std::string_view side, const SourceBatch &texts);

  std::deque<std::vector<int64_t>> shapes;
  std::deque<PackedSequences> strided; // images reduced to every s-th row and column
  std::deque<std::string> names;
  std::vector<Input> inputs;
};

} // namespace heddle
