// How a published model is to be sampled, as its generation_config.json says.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/model/Sampling.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

inline constexpr const char *kGenerationConfig = "generation_config.json";

struct SamplingDefaults {
  SamplingOptions sampling;
  double repetitionPenalty = 1;
  std::vector<std::string> ignored; // keys of the file that change what is drawn, and that Heddle does not apply

  // "temperature 0.6, top-p 0.9": the rules that change anything; "all tokens" if there is none.
  std::string describe() const;
};

// Nothing where `do_sample` is not true. Keys that are null have their defaults. Fails where a value is none that a
// flag of `generate` may have; `path` is for messages.
Result<std::optional<SamplingDefaults>> readSamplingDefaults(std::string_view json, const std::string &path);

} // namespace heddle
