#include "runtime/train/RankShare.h"

#include "runtime/core/Span.h"
#include "runtime/text/Hash.h"

#include <algorithm>

namespace heddle {

Status checkAlike(Ranks &ranks, const std::vector<std::pair<std::string, std::string>> &properties) {
  // Compares 32 bits of each hash, so that sums over all ranks are exact doubles. If ranks differ, at least one of them
  // sees a sum that is not its own value times the number of ranks.
  std::vector<double> own;
  for (const auto &[name, text] : properties)
    own.push_back(double(std::stoul(ContentHash().add(text).hexadecimal().substr(0, 8), nullptr, 16)));
  HEDDLE_ASSIGN(std::vector<double> all, ranks.others().sum(own, "the comparison of what the ranks have"));
  for (size_t i = 0; i < own.size(); ++i)
    if (all[i] != own[i] * ranks.ranks())
      return makeError(ErrorKind::InvalidArgument, "the ranks do not have the same ", properties[i].first,
                       "; start all of them alike.");
  return Success();
}

Status shareState(Ranks &ranks, Engine &engine) {
  Span span("share state");
  for (const VariableInfo &variable : engine.variables()) {
    bool isShared = !variable.isStorage && !variable.isSharded &&
                    std::ranges::find(kTrainingState, variable.kind) != kTrainingState.end();
    if (!isShared)
      continue;
    HEDDLE_ASSIGN(HostTensor value, engine.readVariable(variable.name));
    HEDDLE_CHECK(ranks.broadcast(value.bytes(), str("the hand-over of '", variable.name, "'")));
    if (ranks.isFirst())
      continue;
    if (variable.role == VariableRole::Seed && value.type() == ElementType::I32)
      for (int32_t &word : value.values<int32_t>())
        // Multiples of the golden ratio (mod 2^32) are far apart.
        word ^= static_cast<int32_t>(ranks.rank() * 0x9E3779B9u);
    HEDDLE_CHECK(engine.writeVariable(variable.name, value));
  }
  return Success();
}

} // namespace heddle
