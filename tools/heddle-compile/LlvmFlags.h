// Flags that the compiler's programs declare in a line.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <vector>

namespace mlir::heddle {

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
