// adapter_config.json, which PEFT keeps beside the tensors of an adapter.
#pragma once

#include "runtime/core/Json.h"
#include "runtime/core/Status.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

inline constexpr const char *kAdapterConfigFile = "adapter_config.json";

// The rank and the scale of adapters, which patterns change for some modules, and the modules that were trained whole.
struct AdapterConfig {
  int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  bool hasMagnitudes = false;             // DoRA: a norm for each column of the sum of weight and adapter
  bool byRoot = false;                    // the scale is alpha / sqrt(rank), else alpha / rank
  nlohmann::json ranks, alphas;           // objects of numbers by names, or ends of names, of modules
  std::vector<std::string> modulesToSave; // ends of names of modules
  bool tiesSaved = false; // a saved embedding is the head's matrix too, if these are one matrix in the base

  // Fails where the file is none of PEFT's, or says that the adapter is more than two matrices beside a weight and
  // tensors in the place of the base's.
  static Result<AdapterConfig> read(const std::filesystem::path &path);

  // Of a module, by its published name without ".weight".
  int64_t rankOf(std::string_view module) const;
  double scaleOf(std::string_view module) const;
  bool saves(std::string_view module) const;
};

} // namespace heddle
