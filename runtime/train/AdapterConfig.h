// adapter_config.json, which PEFT writes with the tensors of an adapter.
#pragma once

#include "runtime/core/Json.h"
#include "runtime/core/Status.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

inline constexpr const char *kAdapterConfigFile = "adapter_config.json";

// The adapters' rank and scale, which patterns override for some modules, and the modules that were trained fully.
struct AdapterConfig {
  int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  bool hasMagnitudes = false;             // DoRA: a norm for each column of the sum of weight and adapter
  bool byRoot = false;                    // true: the scale is alpha / sqrt(rank); false: alpha / rank
  nlohmann::json ranks, alphas;           // objects: module name, or end of one -> number
  std::vector<std::string> modulesToSave; // names, or ends of names, of modules
  bool tiesSaved = false; // a saved embedding also replaces the head's matrix, if the base shares one matrix

  // Fails if the file is not from PEFT, or describes an adapter that Heddle does not support (one with biases, for
  // example).
  static Result<AdapterConfig> read(const std::filesystem::path &path);

  // `module` is a published name without ".weight".
  int64_t rankOf(std::string_view module) const;
  double scaleOf(std::string_view module) const;
  bool saves(std::string_view module) const;
};

} // namespace heddle
