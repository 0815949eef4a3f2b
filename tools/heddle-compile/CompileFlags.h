// The command line of heddle-compile.
#pragma once

#include "tools/heddle-compile/ReadModel.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::heddle {

/// Regular expressions for the passes whose remarks are printed; an empty one matches none.
struct RemarkFilters {
  std::string all, passed, missed;
  bool areEmpty() const { return all.empty() && passed.empty() && missed.empty(); }
};

struct CommandLine : ModelOptions {
  std::string output; // "-": standard output; empty: write no artifact, only print messages
  std::vector<const TargetProfile *> targets;
  std::optional<Phase> compileFrom; // the model is a module as it is after this phase
  Phase compileTo = Phase::Emit;
  std::string profile; // file for the timings of phases and passes; empty: none
  std::string report;  // file for the cost report of each entry; empty: none
  RemarkFilters remarks;
  std::optional<int64_t> fit; // --fit: bytes of device memory
  std::string ptxas;          // empty: CUDA kernels are left as PTX
  std::string vocabulary;     // a SentencePiece model to put into the artifact; empty: none
  std::string tuningFile;     // empty: tiles come from the cost model
  /// Returns true if `report` is an HTML page for people instead of JSON for programs.
  bool wantsPage() const { return StringRef(report).ends_with(".html"); }
  std::vector<std::string> given; // the command line's flags, for that page
  bool helpDescription = false;   // print the page of a description's keys, and nothing else
};

/// Parses the command line. Returns nullopt, after a message on standard error, if it is wrong.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace mlir::heddle
