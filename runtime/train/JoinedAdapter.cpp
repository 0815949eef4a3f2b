#include "runtime/train/JoinedAdapter.h"

#include "runtime/core/JoinedExperts.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace heddle {

std::optional<JoinedPart> joinedPart(const WeightOrigin &origin, const std::string &name) {
  if (origin.stacked == 0)
    return JoinedPart{name, origin.part, origin.parts, origin.isInterleaved};
  std::optional<JoinedExperts> joined = joinExperts(name);
  return joined ? std::optional(JoinedPart{joined->name, joined->part, joined->parts}) : std::nullopt;
}

std::vector<int64_t> JoinedHalves::ranksOf(const JoinedPart &part) const {
  int64_t width = up.shape()[1], outputs = up.shape()[0] / part.parts;
  std::span<const float> values = up.values<float>();
  auto isUsed = [&](int64_t rank) {
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t matrix = 0; matrix < matrices; ++matrix)
        if (values[size_t(part.row(output, outputs) * width + rank * matrices + matrix)] != 0)
          return true;
    return false;
  };
  std::vector<int64_t> ranks(size_t(width / matrices)), used;
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::copy_if(ranks, std::back_inserter(used), isUsed);
  return used.empty() ? ranks : used; // a B that is not trained yet needs its A
}

Result<HostTensor> JoinedHalves::takeDown(const std::vector<int64_t> &ranks) const {
  int64_t inputs = down.shape()[1], rank = down.shape()[0] / matrices;
  HEDDLE_ASSIGN(HostTensor own,
                HostTensor::uninitialized(ElementType::F32, {matrices * int64_t(ranks.size()), inputs}));
  auto to = own.values<float>().begin();
  for (int64_t matrix = 0; matrix < matrices; ++matrix)
    for (int64_t r : ranks)
      to = std::ranges::copy(matrixOf(down, matrix * rank + r, 1), to).out;
  return own;
}

Result<HostTensor> JoinedHalves::takeUp(const std::vector<int64_t> &ranks, const JoinedPart &part) const {
  int64_t width = up.shape()[1], outputs = up.shape()[0] / part.parts;
  HEDDLE_ASSIGN(HostTensor own,
                HostTensor::uninitialized(ElementType::F32, {matrices * outputs, int64_t(ranks.size())}));
  std::span<const float> from = up.values<float>();
  float *to = own.values<float>().data();
  for (int64_t matrix = 0; matrix < matrices; ++matrix)
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t r : ranks)
        *to++ = from[size_t(part.row(output, outputs) * width + r * matrices + matrix)];
  return own;
}

void JoinedAdapters::putDown(const HostTensor &down, size_t index, HostTensor &all) const {
  for (int64_t matrix = 0; matrix < shape.matrices; ++matrix)
    transposeInto(matrixOf(down, matrix, shape.inputs), shape.rank,
                  matrixOf(all, matrix, rank()).subspan(index * size_t(shape.rank * shape.inputs)), shape.inputs);
}

void JoinedAdapters::putUp(const HostTensor &up, size_t index, HostTensor &all) const {
  const float *from = up.values<float>().data();
  std::span<float> to = all.values<float>();
  for (int64_t matrix = 0; matrix < shape.matrices; ++matrix)
    for (int64_t r = int64_t(index) * shape.rank; r < int64_t(index + 1) * shape.rank; ++r)
      for (int64_t output = 0; output < shape.outputs; ++output)
        to[size_t((adapted[index].row(output, shape.outputs) * rank() + r) * shape.matrices + matrix)] = *from++;
}

} // namespace heddle
