// Builds the inputs of models' entries. Values are not copied: they must outlive the call.
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/session/Session.h"

#include <cstdint>
#include <deque>
#include <map>
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

  // Adds the inputs of an entry that the batch has values for, by their roles. Adds nothing if the entry is null. An
  // entry's target is the batch's, or its sources if it has no target. Fails if a smaller image has more pixels than
  // the entry has positions. The entry's limit on lengths gives its pixels.
  Status addBatch(const EntryInfo *entry, const Batch &batch);

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
  Result<const PackedSequences *> sequencesOf(const EntryInfo &entry, std::string_view of, const Batch &batch);

  std::deque<std::vector<int64_t>> shapes;
  std::map<std::string_view, PackedSequences> smallerImages;
  std::vector<Input> inputs;
};

} // namespace heddle
