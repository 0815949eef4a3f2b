// Rules of which tokens may follow a translation so far, as transformers has them.
#pragma once

#include "runtime/model/DecodingSteps.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

struct TokenRules {
  int64_t noRepeat = 0;      // no sequence of this many tokens occurs twice, the begin mark included; 0: any may
  int64_t minimumLength = 0; // tokens before the end mark

  bool any() const { return noRepeat > 0 || minimumLength > 0; }
  // The tokens that may not follow `tokens`, which come behind the mark `begin`.
  std::vector<int32_t> banned(int32_t begin, std::span<const int32_t> tokens, int32_t end) const;
};

// Chooses the `count` best continuations of a group by the logits of the step's hypotheses, best first. `banned` lists the
// tokens that may not follow each hypothesis of the group; empty: all may.
std::vector<Candidate> chooseCandidates(const DecodingStep &step, const DecodingStep::Group &group,
                                        std::span<const float> logits, size_t count,
                                        std::span<const std::vector<int32_t>> banned = {});

} // namespace heddle
