// Flags that the compiler's programs declare in a line.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::heddle {

/// Returns an error message about the first unknown flag that begins with an h, such as --heads=4 or a misspelled
/// --heddle-PASS; empty if there is none. LLVM takes such a flag for -h with other letters behind it: it prints the help
/// and exits with 0. Call this between registering the program's flags and parsing them.
inline std::string findUnknownFlag(int argc, char **argv) {
  const auto &known = llvm::cl::getRegisteredOptions();
  for (StringRef argument : llvm::ArrayRef(argv, static_cast<size_t>(argc)).drop_front()) {
    StringRef flag = argument.split('=').first, name = flag.ltrim('-'), nearest;
    if (flag == name || !name.starts_with("h") || name == "h" || known.contains(name))
      continue;
    unsigned distance = static_cast<unsigned>(name.size() / 3) + 1; // of flags that are too far to be meant
    for (StringRef other : known.keys())
      if (unsigned edits = name.edit_distance(other); edits < distance)
        nearest = other, distance = edits;
    return ("there is no flag '" + flag + "'; " +
            (nearest.empty() ? "--help lists the flags" : "did you mean --" + nearest.str() + "?"))
        .str();
  }
  return "";
}

/// Breaks the descriptions of a category's flags into lines that --help prints within 120 columns. LLVM breaks none.
void wrapDescriptions(const llvm::cl::OptionCategory &category);

struct TextFlag : llvm::cl::opt<std::string> {
  TextFlag(llvm::cl::OptionCategory &category, StringRef name, StringRef value, StringRef description,
           const std::string &otherwise = "")
      : opt(name, llvm::cl::desc(description), llvm::cl::value_desc(value), llvm::cl::init(otherwise),
            llvm::cl::cat(category)) {}
};

/// A flag that may be repeated.
struct ListFlag : llvm::cl::list<std::string> {
  template <typename... More>
  ListFlag(llvm::cl::OptionCategory &category, StringRef name, StringRef value, StringRef description,
           const More &...more)
      : list(name, llvm::cl::desc(description), llvm::cl::value_desc(value), llvm::cl::cat(category), more...) {}
};

/// A flag for each fusion pass, true by default.
class FusionFlags {
public:
  explicit FusionFlags(llvm::cl::OptionCategory &category) {
    for (const FusionFlag &flag : getFusionFlags())
      flags.push_back(std::make_unique<llvm::cl::opt<bool>>(StringRef(flag.name),
                                                            llvm::cl::desc(StringRef(flag.description)),
                                                            llvm::cl::init(true), llvm::cl::cat(category)));
  }
  void apply(FusionOptions &options) const {
    for (auto [flag, value] : llvm::zip(getFusionFlags(), flags))
      if (!*value)
        options.switchOff(flag.name);
  }

private:
  std::vector<std::unique_ptr<llvm::cl::opt<bool>>> flags; // in the order of getFusionFlags()
};

} // namespace mlir::heddle
