// The sampling options of a published model, from its generation_config.json.
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
  std::vector<std::string> ignored; // keys of the file that affect sampling but that Heddle does not apply

  // "temperature 0.6, top-p 0.9": the rules that change anything; "all tokens" if no rule does.
  std::string describe() const;
};

// nullopt if `do_sample` is not true. Keys that are null have their defaults. Fails if a value is not valid for the
// corresponding flag of `generate`; `path` is for messages.
Result<std::optional<SamplingDefaults>> readSamplingDefaults(std::string_view json, const std::string &path);

} // namespace heddle
