#include "tools/heddle-compile/LlvmFlags.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <list>

namespace cl = llvm::cl;
using namespace mlir;

static std::string wrapped(StringRef text, size_t width) {
  std::string lines;
  size_t used = 0; // of the last line
  for (StringRef word : llvm::split(text, ' ')) {
    bool fits = used == 0 || used + 1 + word.size() <= width;
    lines += used == 0 ? "" : fits ? " " : "\n";
    lines += word;
    used = (fits && used != 0 ? used + 1 : 0) + word.size();
  }
  return lines;
}

void mlir::heddle::wrapDescriptions(const cl::OptionCategory &category) {
  constexpr size_t columns = 120, between = 3; // between: " - " behind the widest flag
  SmallVector<cl::Option *> flags;
  for (auto &[name, flag] : cl::getRegisteredOptions())
    if (llvm::is_contained(flag->Categories, &category) && flag->hasArgStr() &&
        flag->getOptionHiddenFlag() == cl::NotHidden)
      flags.push_back(flag);
  size_t widest = 0;
  for (cl::Option *flag : flags)
    widest = std::max(widest, flag->getOptionWidth());
  static std::list<std::string> kept; // flags keep references to their descriptions
  for (cl::Option *flag : flags)
    flag->setDescription(kept.emplace_back(wrapped(flag->HelpStr, columns - widest - between)));
}
