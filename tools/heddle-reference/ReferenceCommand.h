// The command line of heddle-reference.
#pragma once

#include "tools/heddle-compile/ReadModel.h"
#include "tools/heddle-run/call/NamedFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::heddle {

/// The target in `pipeline` is for `diff`.
struct ReferenceCommand : ModelOptions {
  std::string entry;
  Phase phase = Phase::Differentiate; // interpret the model as it is after this phase
  std::vector<::heddle::run::NamedFile> inputs, outputs, expectations;
  double tolerance = 0;
  std::string variables, savedVariables; // empty: none
  std::optional<uint64_t> seed;
  uint64_t repeat = 1;
  bool diff = false; // also compile the model, run it on a device, and compare
  std::string device;
  double floor = 0; // smaller numbers are compared as if they were this large
};

/// Parses the command line. Returns nullopt, after a message on standard error, if it is wrong.
std::optional<ReferenceCommand> parseReferenceCommand(int argc, char **argv);

} // namespace mlir::heddle
